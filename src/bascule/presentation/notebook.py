"""Results as notebooks show them: their report and its figures, in one piece of HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.core.calendar import DAY
from bascule.core.ending import winner_promise
from bascule.presentation.figures import inline
from bascule.presentation.numbers import Amounts, count, duration
from bascule.presentation.report import Fact, Report, html

if TYPE_CHECKING:
    from bascule.core.design import Design
    from bascule.core.metrics.measure import Measure
    from bascule.core.metrics.metric import Metric


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
        Fact("rule", design.rule.words, f"({design.rule.label})"),
        Fact("error", winner_promise(design, design.procedure.empty())),
        Fact("outcome of a unit", _counting(design.measure)),
    ]
    facts += [Fact(metric.name, _about(metric)) for metric in design.metrics]
    if design.min_effect is not None:
        facts.append(Fact("smallest relevant difference", f"{design.min_effect:g}"))
    if design.max_units is not None:
        facts.append(Fact("ends undecided", f"after {count(design.max_units)} units"))
    if design.deadline is not None:
        facts.append(Fact("deadline", f"{design.deadline:%Y-%m-%d %H:%M %Z}"))
    return Report("Design", facts=tuple(facts), notes=(design.rule.explain(len(design.arms)),))


def _about(metric: Metric) -> str:
    """Return what a metric beside the primary one is."""
    amounts, about = Amounts(metric.outcome.binary), [metric.role, metric.outcome.words]
    if metric.goal == "decrease":
        about.append("lower is better")
    if metric.margin is not None:
        about.append(f"margin {amounts.size(metric.margin)}")
    if metric.measure is not None:
        about.append(_counting(metric.measure))
    return "; ".join(about)


def _counting(measure: Measure | None) -> str:
    """Return what the outcome of a unit is."""
    if measure is None:
        return "the first value recorded; a unit without one holds up those after it"
    names = {"sum": "the sum of its events", "any": "1 if there was an event, else 0"}
    names |= {"mean": "the mean of its events", "last": "its last event"}
    days = duration(float(measure.window or measure.period or 0.0) / DAY)
    place = "in every period of" if measure.window is None else "within a conversion window of"
    grace = f", and {duration(float(measure.grace) / DAY)} of grace" if measure.grace else ""
    return f"{names[measure.aggregate]}, {place} {days}{grace}"
