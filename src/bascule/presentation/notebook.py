"""Results as notebooks show them: their report and its figures, in one piece of HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.presentation.figures import inline
from bascule.presentation.guarantees import promise_words
from bascule.presentation.report import Fact, Report, html

if TYPE_CHECKING:
    from bascule.core.design import Design


def shown(*reports: Report) -> str:
    """Return reports as HTML, each with its figures."""
    return "".join(
        html(report) + "".join(f"<div>{inline(figure.plot())}</div>" for figure in report.figures)
        for report in reports
    )


def design_report(design: Design) -> Report:
    """Return a design as a report: what is fixed before the first unit."""
    facts = [
        Fact("arms", ", ".join(design.arms)),
        Fact("outcome", design.outcome.words),
        Fact("rule", f"{design.rule.words} ({design.rule.label})"),
        Fact("guarantee", promise_words(design.calibration, len(design.arms))),
    ]
    for name in ("max_units", "min_effect", "deadline", "measure"):
        value = getattr(design, name)
        if value is not None:
            facts.append(Fact(name, f"{value:,}" if isinstance(value, int) else str(value)))
    return Report("Design", facts=tuple(facts), notes=(design.rule.explain(len(design.arms)),))
