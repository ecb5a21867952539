"""Results as notebooks show them: their report and its figures, in one piece of HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.presentation.figures import inline
from bascule.presentation.guarantees import interval_name, promise_words
from bascule.presentation.numbers import Amounts, count
from bascule.presentation.report import Fact, Report, Table, html

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis
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


def analysis_report(analysis: Analysis) -> Report:
    """Return an analysis as a report: its arms, their differences, and what was found amiss."""
    amounts = Amounts.of(analysis.design.outcome, analysis.design.goal)
    arms = [(arm.name, count(arm.units), amounts.mean(arm.mean)) for arm in analysis.arms]
    rows = [
        (
            one.name,
            amounts.difference(one.difference, one.high - one.low),
            amounts.interval(one.low, one.high),
        )
        for one in (effect.reversed for effect in analysis.effects)
    ]
    level = interval_name(analysis.effects[0].error) if analysis.effects else "interval"
    tables = [
        Table((("arm", "units", "mean"), *arms)),
        Table((("", "estimate", f"{level}, at any time"), *rows), "Differences"),
    ]
    if analysis.metrics:
        from bascule.presentation.analysis.page import score_rows

        names = ("metric", "treatment", "control", "treatment", "lift", "p, one look", "verdict")
        tables.insert(0, Table((names, *score_rows(analysis)), "All metrics"))
    flagged = [f"! {check.name}" for check in analysis.flagged]
    notes = (*analysis.notes, *flagged)
    return Report(analysis.headline, tables=tuple(tables), notes=notes, figures=(analysis,))
