/* How search results are ordered: Sphinx's own weights, with the glossary behind the page that explains a term. */
"use strict";

var Scorer = {
  score: ([docname, , , , score]) => (docname === "using/glossary" ? score - 1 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
