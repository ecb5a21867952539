"""The concordance: each place of the paper, and where bascule has it.

`bascule paper --list` prints the table, and docs/research/concordance.md is made from it. The
numbers of theorems, lemmas and equations are those of the AISTATS text, in which propositions,
theorems, corollaries and lemmas share one sequence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from bascule.research.paper.claims.claim import Judge
from bascule.research.paper.regenerate import SECTIONS

RECORDED = "verdicts.json"
"""The verdicts of `bascule paper` with `runs` runs, written by `python -m bench.concordance`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A place of the paper and what there is for it.

    - `place`: section, theorem, equation, algorithm, figure or remark
    - `subject`: what it is about, in a few words
    - `functions`: dotted names of what computes it
    - `page`: the page of the documentation with its proof, or with what is said of it
    - `claims`: names of the claims that are judged
    - `command`: what shows it
    """

    place: str
    subject: str
    functions: tuple[str, ...]
    page: str
    claims: tuple[str, ...] = ()
    command: str = "bascule paper --out results"


ENTRIES: tuple[Entry, ...] = (
    Entry(
        "Introduction, framework",
        "regret and decision time",
        ("bascule.simulate",),
        "trade-off.md",
        command="bascule simulate --means 0 1",
    ),
    Entry(
        "Section 1, Proposition 1",
        "ETC: decision time and regret",
        ("bascule.ETC", "bascule.theory.published_bounds"),
        "bounds.md#etc-and-etc",
        ("agrees-with-theorems", "etc-decides-first"),
        "bascule simulate --rule etc --means 0 1",
    ),
    Entry(
        "Section 1, Proposition 2",
        "UCB: regret, no bound on the decision time",
        ("bascule.UCB",),
        "trade-off.md#what-alpha-does",
        ("inflation-decides",),
        "bascule simulate --rule ucb --alpha 1 --max-units 100000 --means 0 1",
    ),
    Entry(
        "Section 1, δ̃ ≤ 23 δ log(1/δ)",
        "the error of the theorems",
        ("bascule.theory.delta_tilde", "bascule.theory.corollary"),
        "calibration.md",
        ("error-of-the-theorems",),
    ),
    Entry(
        "Section 1, Algorithm 1",
        "UCB_α",
        ("bascule.UCB",),
        "iid-rules.md",
        ("alpha-trades-regret-for-time", "between-ucb-and-etc"),
        "bascule simulate --rule ucb --alpha 2 --means 0 1",
    ),
    Entry(
        "Section 1, Theorem 3",
        "UCB_α: regret, c_α and decision time",
        ("bascule.theory.published_bounds", "bascule.theory.c_alpha", "bascule.theory.bounds"),
        "bounds.md#ucb_alpha",
        ("agrees-with-theorems", "c-alpha-range", "regret-grows-with-alpha"),
    ),
    Entry(
        "Section 1, text after Theorem 3",
        "ETC', the limit of UCB_α, and its wider intervals",
        ("bascule.ETCPrime",),
        "iid-rules.md",
        ("width-root-two", "alpha-4-against-etc-prime", "alpha-32-against-etc-prime"),
        "bascule simulate --rule etc-prime --means 0 1",
    ),
    Entry(
        "Section 1, Figure 1",
        "regret and decision time against log(1/δ)",
        ("bascule.research.paper.figures.figure1.figure1",),
        "trade-off.md",
        ("etc-decides-first", "small-alpha-costs-least", "large-alpha-against-etc"),
    ),
    Entry(
        "Section 1, Corollary 4",
        "UCB_α with K arms",
        (
            "bascule.theory.published_bounds",
            "bascule.research.paper.claims.many_arms.corollary_regret",
        ),
        "bounds.md#three-arms-and-more",
        ("many-arms-first-branch", "many-arms-second-branch"),
        "bascule simulate --rule ucb --alpha 32 --means 1 0.8 -1",
    ),
    Entry(
        "Section 1, text after Corollary 4",
        "ETC with K arms",
        ("bascule.ETC",),
        "bounds.md#etc-and-etc",
        ("many-arms-against-etc", "many-arms-first-branch"),
        "bascule simulate --rule etc --means 0 0.5 0.5 1",
    ),
    Entry(
        "Section 1.1, proof sketch",
        "why inflated exploration bounds the decision time",
        ("bascule.theory.mean_path",),
        "trade-off.md#what-alpha-does",
        ("inflation-decides",),
    ),
    Entry(
        "Section 1.1, Figure 2",
        "intervals before and at the decision",
        ("bascule.research.paper.figures.figure2.figure2",),
        "iid-rules.md",
    ),
    Entry(
        "Section 2.1, notations",
        "units, mean of means and total mean",
        (
            "bascule.Recurrent",
            "bascule.core.procedures.recurrent.estimators.mean_of_means",
            "bascule.core.procedures.recurrent.estimators.total_mean",
            "bascule.research.rivals.TotalMean",
        ),
        "units.md#three-means",
        (
            "units-mean-of-means-is-better",
            "units-total-mean-after-a-wait",
            "units-total-mean-is-unbiased",
        ),
    ),
    Entry(
        "Section 2.1, Figure 3",
        "the unit allocation problem",
        ("bascule.research.paper.figures.figure3.figure3",),
        "units.md#setting",
    ),
    Entry(
        "Section 2.2, Theorem 5",
        "ETC-MM",
        ("bascule.ETC", "bascule.core.procedures.recurrent.shapes.even_radius"),
        "units.md#even-splits-proven",
        ("units-agree-with-theorems",),
        "bascule simulate --rule etc --outcome recurrent --means 0 1",
    ),
    Entry(
        "Section 2.3, equation (1) and Algorithm 2",
        "UCB-MM_α and its radius",
        ("bascule.UCB", "bascule.core.procedures.recurrent.shapes.algorithm_2_radius"),
        "units.md#algorithm-2-as-published",
        ("units-void-without-noise",),
        "bascule simulate --rule ucb --outcome recurrent --means 0 1",
    ),
    Entry(
        "Section 2.3, Theorem 6",
        "UCB-MM: regret, and what the noise adds",
        ("bascule.theory.published_bounds",),
        "units.md#what-the-paper-says-of-the-noise",
        (
            "units-noise-is-negligible",
            "units-noise-costs-log-log",
            "units-added-whatever-the-gap",
        ),
    ),
    Entry(
        "Section 2.3, alternative error term",
        "a radius that tends to that of UCB without noise",
        ("bascule.core.procedures.recurrent.shapes.alternative_radius",),
        "units.md#the-rules",
        ("units-alternative-tends-to-ucb", "units-alternative-costs-root-log"),
        "bascule simulate --rule ucb --radius alternative --outcome recurrent --means 0 1",
    ),
    Entry(
        "Section 2.3.1, Theorem 7",
        "UCB-MM_α between UCB-MM and ETC-MM",
        ("bascule.theory.published_bounds",),
        "bounds.md#the-papers-proof-corrected",
        (
            "units-agree-with-theorems",
            "units-between-ucb-and-etc-mm",
            "units-between-ucb-and-etc-prime",
        ),
    ),
    Entry(
        "Section 2.3.1, practical remark",
        "units that are all there from the start",
        ("bascule.Static",),
        "static-populations.md",
        ("static-any-time",),
        "bascule simulate --rule static --population 1000 --outcome recurrent --means 0 1",
    ),
    Entry(
        "Section 2.3.1, remark on bounded variables",
        "empirical Bernstein inequalities",
        ("bascule.core.evidence.bernstein.bernstein_radius",),
        "evidence.md#bounded-outcomes-one-arm",
        command="bascule simulate --outcome bernoulli --radius bernstein --means 0.05 0.15",
    ),
    Entry(
        "Section 3, i.i.d. experiments",
        "what Figure 1 shows",
        ("bascule.research.paper.figures.figure1.figure1",),
        "slips.md#claims-in-the-text",
        (
            "alpha-1.5-against-etc",
            "alpha-2-against-etc",
            "almost-half-of-etc",
            "half-of-etc-prime",
            "factor-four",
        ),
    ),
    Entry(
        "Section 3, Figure 4",
        "the same for units",
        ("bascule.research.paper.figures.figure4.figure4",),
        "units.md",
        ("units-as-iid", "units-factor-four"),
    ),
    Entry(
        "Section 4, conclusion",
        "inflation that is always there in practice",
        ("bascule.UCB",),
        "slips.md#claims-in-the-text",
        ("inflation-decides", "overstated-sigma-decides"),
    ),
    Entry(
        "Section 4, warning",
        "arrivals that are correlated with the data",
        ("bascule.research.paper.arrivals.winners", "bascule.Tilt"),
        "slips.md#claims-in-the-text",
        ("arrivals-that-go-with-outcomes",),
    ),
    Entry(
        "Appendix A, Lemma 8",
        "Hoeffding on intervals",
        ("bascule.theory.peel",),
        "calibration.md",
    ),
    Entry(
        "Appendix A, Lemma 9 and Corollary 10",
        "anytime Hoeffding, δ̃ exactly",
        ("bascule.theory.corollary", "bascule.theory.corollary_delta"),
        "calibration.md",
        ("error-of-the-theorems",),
    ),
    Entry(
        "Appendix A, Proposition 11",
        "concentration of the mean of means: a gap in its proof",
        ("bascule.core.procedures.recurrent.shapes.algorithm_2_radius",),
        "units.md#algorithm-2-as-published",
        ("units-agree-with-theorems",),
    ),
    Entry(
        "Appendix B, Theorem 12 and Lemma 14",
        "UCB_α exactly",
        ("bascule.theory.published_bounds",),
        "bounds.md#the-papers-proof-corrected",
        ("agrees-with-theorems",),
    ),
    Entry(
        "Appendix B, Theorem 13 and Lemma 15",
        "ETC exactly; solved numerically here",
        ("bascule.theory.proven.solve.units_within",),
        "bounds.md#etc-and-etc",
        ("agrees-with-theorems",),
    ),
    Entry(
        "Appendix C, equation (3), Lemma 16 to Theorem 18",
        "UCB-MM_α exactly",
        ("bascule.theory.published_bounds", "bascule.theory.proven.unit_solve.widest_radius"),
        "bounds.md#the-papers-proof-corrected",
        ("units-agree-with-theorems",),
    ),
    Entry(
        "Appendix D, Proposition 19",
        "static population, fixed horizon",
        ("bascule.Static", "bascule.core.procedures.static.population.one_look"),
        "static-populations.md",
        ("static-horizon",),
        "bascule simulate --rule static --population 1000 --horizon 10 --outcome recurrent "
        "--means 0 1",
    ),
    Entry(
        "Appendix D, Theorem 20",
        "static population, every stage",
        ("bascule.Static", "bascule.core.procedures.static.population.any_time"),
        "static-populations.md",
        ("static-any-time", "static-sooner"),
        "bascule simulate --rule static --population 1000 --outcome recurrent --means 0 1",
    ),
)
"""In the order of the paper."""


def judges() -> Iterator[Judge]:
    """Return every claim, in the order of the page."""
    return (judge for section in SECTIONS for judge in section.claims)


@cache
def recorded() -> dict[str, str]:
    """Return the recorded verdicts by the name of the claim."""
    text = files(__package__).joinpath(RECORDED).read_text(encoding="utf-8")
    verdicts: dict[str, str] = json.loads(text)["verdicts"]
    return verdicts


def claims_with_verdicts(entry: Entry) -> str:
    """Return the claims of a place, each with its verdict; a new one has none on record."""
    return ", ".join(f"{name} ({recorded().get(name, 'not recorded')})" for name in entry.claims)


def rows() -> list[tuple[str, str, str, str, str, str]]:
    """Return the table: place, subject, functions, page, claims with verdicts, command."""
    return [
        (
            entry.place,
            entry.subject,
            ", ".join(entry.functions),
            entry.page,
            claims_with_verdicts(entry),
            entry.command,
        )
        for entry in ENTRIES
    ]


def plain_text() -> str:
    """Return the concordance as text, a paragraph for each place."""
    titles = ("", "", "function", "page", "claims", "command")
    parts: list[str] = []
    for place, subject, *cells in rows():
        parts.append(f"{place}: {subject}")
        parts += [
            f"  {title:<9} {cell}" for title, cell in zip(titles[2:], cells, strict=True) if cell
        ]
    return "\n".join(parts)


def markdown_text(runs: int) -> str:
    """Return the concordance as a page of the documentation."""
    lines = [
        "# Concordance with the paper",
        "",
        "```{index} ! concordance, paper",
        "```",
        "",
        "Where each part of the paper is in bascule. `bascule paper --list` prints the same table. "
        f"Verdicts are those of `bascule paper` with {runs:,} runs; "
        "[what they mean](regenerate-the-paper.md). This page is written by `python -m "
        "bench.concordance`. Numbers of theorems, lemmas and equations are those of the AISTATS "
        "text.",
        "",
        "| paper | subject | function | proof, or what is said of it | claims | command |",
        "|---|---|---|---|---|---|",
    ]
    for entry in ENTRIES:
        functions = ", ".join(f"`{name.removeprefix('bascule.')}`" for name in entry.functions)
        claims = claims_with_verdicts(entry)
        cells = (
            entry.place,
            entry.subject,
            functions,
            f"[{entry.page.split('#')[0].removesuffix('.md')}]({entry.page})",
            claims,
            f"`{entry.command}`",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def verdicts_text(verdicts: Sequence[tuple[str, str]], runs: int, seed: int) -> str:
    """Return the file with the verdicts."""
    data = {"runs": runs, "seed": seed, "verdicts": dict(verdicts)}
    return json.dumps(data, indent=2) + "\n"
