"""Guardrails of a log: what each of them says of every treatment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from bascule.core.errors import InputError
from bascule.core.metrics.guardrails import Standing
from bascule.core.metrics.metric import Metric, check_metrics

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis


def checked_metrics(metrics: object, design: object, segment: object) -> tuple[Metric, ...]:
    """Accept metrics whose columns have their names, and that a log can be asked about."""
    given = check_metrics(list(metrics) if isinstance(metrics, tuple) else metrics, None)
    if given and (design is not None or segment is not None):
        field, what = ("design", "a design") if design is not None else ("segment", "segments")
        raise InputError(
            field, f"metrics and {what} cannot be analysed at once: leave one of them out"
        )
    for metric in given:
        if metric.outcome.pairs:
            raise InputError(
                "metrics", f"metric {metric.name} is a ratio: analyse it alone, with value and per"
            )
    return given


def judged(analysis: Analysis, metric: Metric) -> Analysis:
    """Return the analysis of a metric's column with what a guardrail says of each treatment.

    An arm that is worse by the margin or more is found within it with probability at most the
    metric's error, as its interval fails then.
    """
    standings = {}
    if metric.margin is not None:
        for treatment, low, high in _better_by(analysis, metric):
            standings[treatment] = _standing(metric, low, high)
    return replace(analysis, metric=metric, standings=standings)


def _better_by(analysis: Analysis, metric: Metric) -> Iterator[tuple[str, float, float]]:
    """By how much each treatment is better than the control, by the intervals that are there."""
    found = [(one.treatment, one.low, one.high) for one in analysis.contrasts]
    if analysis.evidence.once:
        control = analysis.arms[0].name
        found = [(one.second, one.low, one.high) for one in analysis.once if one.first == control]
    for treatment, low, high in found:
        yield (treatment, low, high) if metric.goal == "increase" else (treatment, -high, -low)


def _standing(metric: Metric, low: float, high: float) -> Standing:
    assert metric.margin is not None
    line = metric.harm_line
    if line is not None and high < -line:
        return "harmed"
    return "within margin" if low > -metric.margin else "open"
