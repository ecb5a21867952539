"""Guardrails and secondary metrics: whether an arm may be shipped, and whether it is harmful.

Every metric uses the blocks, or the units, of the primary one, with evidence and an error of its
own. An arm is shipped if the primary metric decides for it and, on every guardrail, the
interval of its difference from the control lies above minus the margin, and enough of its units
have a value of every metric that affects what is shipped (`core.metrics.coverage`).
docs/research/guardrails.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bascule.core.design import Design
from bascule.core.evidence.families.rows import Difference
from bascule.core.metrics import coverage, guard_rule
from bascule.core.metrics.effects import Effect
from bascule.core.metrics.metric import DIRECTION, Metric
from bascule.core.procedures.intervals.state import intersected
from bascule.core.statistics import ArmStatistics, Statistics

Standing = Literal["open", "within margin", "harmed", "beyond margin"]
"""State of an arm on a guardrail: whether it may be shipped, and whether it is harmful."""

STANDINGS: tuple[Standing, ...] = ("open", "within margin", "harmed", "beyond margin")
"""Names of the states of an arm on a guardrail, in the order of the codes in `guard_rule`."""

Blocks = Sequence[Sequence[ArmStatistics] | None]
"""For each metric, the statistics of the arms in a block; None if the metric counted earlier."""


@dataclass(frozen=True, slots=True)
class MetricView:
    """The results of a metric: its effects against the control, and the standing of each arm.

    A standing is "open", "within margin", "harmed" or "beyond margin"; the control's is "within
    margin".
    """

    metric: Metric
    statistics: Statistics
    effects: tuple[Effect, ...]
    standings: tuple[Standing, ...]


def empty_metrics(design: Design) -> tuple[Statistics, ...]:
    """Return the statistics of all metrics but the primary one before the first unit."""
    return tuple(Statistics.empty(len(design.arms)) for _ in design.metrics)


def ahead(design: Design) -> dict[float, tuple[int, ...]]:
    """Return the metrics that count before their units do, because their windows are shorter.

    The keys are the seconds after which metrics count, in increasing order. The values are the
    indices of these metrics in the design.

    >>> import bascule as bs
    >>> week, hour = bs.Measure("7d", "any"), bs.Measure("1h", "any")
    >>> failed = bs.Metric("failed", bs.Bernoulli(), margin=0.1, measure=hour)
    >>> ahead(bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(1), measure=week, metrics=[failed]))
    {3600.0: (0,)}
    """
    window = design.matures(0.0) if design.procedure.counts == "blocks" else None
    if window is None or design.withholds or design.measure_on:
        # With a calendar, units count in order of time, each with all its metrics.
        return {}
    by_wait: dict[float, tuple[int, ...]] = {}
    for number, metric in enumerate(design.metrics):
        if metric.measure is not None and metric.measure.matures(0.0) < window:
            wait = metric.measure.matures(0.0)
            by_wait[wait] = (*by_wait.get(wait, ()), number)
    return dict(sorted(by_wait.items()))


def with_lacking(
    design: Design, statistics: Statistics, units: Sequence[int], lacking: Sequence[int]
) -> Statistics:
    """Add to a metric's statistics how many units of a block have no value of the metric."""
    if not any(lacking) and not statistics.lacking:
        return statistics
    rows = coverage.with_block(statistics.lacking, units, lacking, design.control_index)
    return replace(statistics, lacking=rows)


def _advantages(design: Design, statistics: Statistics) -> list[Difference]:
    # Harmful arms are not marked as dropped here, so that the procedure lists them too.
    oriented = design.oriented_statistics(replace(statistics, dropped=frozenset(), bounds=()))
    return design.procedure.advantages(oriented, design.control_index)


def standing(design: Design, number: int, statistics: Statistics, arm: int) -> Standing:
    """Return the result of an arm on a guardrail; "open" while too many values are missing."""
    metric = design.metrics[number]
    metric_statistics = (statistics.metrics or empty_metrics(design))[number]
    low, high = metric_statistics.bounds[arm] if metric_statistics.bounds else (-math.inf, math.inf)
    margin = -math.inf if metric.margin is None else metric.margin
    code = guard_rule.standing_of(low, high, margin, arm in metric_statistics.dropped)
    units = [arm_statistics.units for arm_statistics in statistics.arms]
    if code == guard_rule.WITHIN and coverage.held(
        design.metric_designs[number], metric_statistics, units, arm
    ):
        code = guard_rule.OPEN
    return STANDINGS[code]


def has_primary_say(design: Design) -> bool:
    """Return whether missing values of the primary metric may delay the test's decision."""
    return design.decides == "primary" and coverage.is_counted(design)


def may_hold(design: Design) -> bool:
    """Return whether guardrails or missing values can delay the winner on the primary metric."""
    return bool(design.guardrails) or has_primary_say(design)


def holding(design: Design, statistics: Statistics) -> list[tuple[str, Design, Statistics]]:
    """Return the metrics whose missing values may keep an arm from being shipped.

    Each has its name, empty for the primary metric, with its design and its statistics.
    """
    rows = [("", design, statistics)] if has_primary_say(design) else []
    known = statistics.metrics or empty_metrics(design)
    listed = zip(design.metrics, design.metric_designs, known, strict=True)
    return rows + [
        (metric.name, metric_design, metric_statistics)
        for metric, metric_design, metric_statistics in listed
        if metric.is_guardrail
    ]


def held_words(design: Design, statistics: Statistics, arm: int) -> tuple[str, ...]:
    """Return the reasons why missing values of metrics keep an arm from being shipped."""
    units = [arm_statistics.units for arm_statistics in statistics.arms]
    return tuple(
        f"missing values{f' of {name}' if name else ''}: {why}"
        for name, metric_design, metric_statistics in holding(design, statistics)
        for why in coverage.held(metric_design, metric_statistics, units, arm)
    )


def harmed(statistics: Statistics) -> dict[int, tuple[int, ...]]:
    """Return the harmful arms that are not removed, each with the metrics that found the harm."""
    by_arm: dict[int, tuple[int, ...]] = {}
    for number, metric in enumerate(statistics.metrics):
        for arm in metric.dropped - statistics.removed:
            by_arm[arm] = (*by_arm.get(arm, ()), number)
    return dict(sorted(by_arm.items()))


def metric_views(design: Design, statistics: Statistics) -> tuple[MetricView, ...]:
    """Return the results of all metrics but the primary one, with current intervals.

    >>> import bascule as bs
    >>> latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=5)
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), metrics=[latency])
    >>> metric_views(design, bs.progress.Statistics.empty(2))[0].standings
    ('within margin', 'open')
    """
    return tuple(_view(design, number, statistics) for number in range(len(design.metrics)))


def _view(design: Design, number: int, test: Statistics) -> MetricView:
    metric_design, metric = design.metric_designs[number], design.metrics[number]
    statistics = (test.metrics or empty_metrics(design))[number]
    control = design.control_index
    now = _advantages(metric_design, statistics)
    bounds = intersected(statistics.bounds, ((low, high) for _, low, high in now))
    up = DIRECTION[metric.goal]
    effects = []
    for arm, (low, high) in enumerate(bounds):
        if arm == control:
            continue
        least, most = sorted((0.0 + up * low, 0.0 + up * high))
        # An estimate that earlier looks have ruled out is moved into the interval.
        shown = min(max(now[arm][0], low), high)
        effects.append(
            Effect(
                design.arms[arm],
                design.arms[control],
                0.0 + up * shown,
                least,
                most,
                metric_design.procedure.end_error,
                metric_design.calibration.guarantee,
            )
        )
    standings = tuple(
        STANDINGS[guard_rule.WITHIN] if arm == control else standing(design, number, test, arm)
        for arm in range(len(design.arms))
    )
    return MetricView(metric, statistics, tuple(effects), standings)
