"""What other metrics say about the arms: whether one may be shipped, and whether one is harmful.

Every metric lives on the blocks, or the units, of the primary one, with evidence and an error of
its own. An arm is shipped if the primary metric decides for it and, on every guardrail, the
interval of its difference from the control lies above minus the margin, and enough of its units
have a value of every metric that affects what is shipped (`core.metrics.coverage`).
docs/research/guardrails.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.families.rows import Difference
from bascule.core.metrics import coverage, guard_rule
from bascule.core.metrics.effects import Effect
from bascule.core.metrics.metric import Metric
from bascule.core.procedures.base import AnyStatistics
from bascule.core.procedures.intervals.state import intersected
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import NO_DIFFERENCE, NOBODY

Standing = Literal["open", "within margin", "harmed", "beyond margin"]
"""What a guardrail says of an arm so far."""

STANDINGS: tuple[Standing, ...] = ("open", "within margin", "harmed", "beyond margin")
"""What `guard_rule.standing_of` returns, in words."""

Blocks = Sequence[Sequence[ArmStatistics] | None]
"""For each metric what the arms have given in a block; None for one that counts ahead of it."""


@dataclass(frozen=True, slots=True)
class MetricView:
    """What a metric has shown: its effects against the control, and what it says of each arm.

    `standings` has one entry for each arm; the control's is "within margin".
    """

    metric: Metric
    statistics: Statistics
    effects: tuple[Effect, ...]
    standings: tuple[Standing, ...]


def empty_metrics(design: Design) -> tuple[Statistics, ...]:
    """Return the statistics of all other metrics before the first unit."""
    return tuple(Statistics.empty(len(design.arms)) for _ in design.metrics)


def fold_metrics(
    design: Design,
    before: Statistics,
    after: Statistics,
    blocks: Blocks,
    lacking: Sequence[Sequence[int]] = (),
) -> Statistics:
    """Return the statistics with what a block has shown of every other metric.

    `after` are the statistics with the block's outcomes of the primary metric. `lacking` has, for
    each metric, the units of each arm without a value.
    """
    known = before.metrics or empty_metrics(design)
    _check_count(design, blocks)
    none = ((0,) * len(design.arms),) * len(blocks)
    units = [now.units - then.units for now, then in zip(after.arms, before.arms, strict=True)]
    folded = []
    parts = zip(design.metric_designs, known, blocks, lacking or none, strict=True)
    for one, statistics, block, without in parts:
        rows = statistics if block is None else _with_block(one, statistics, block)
        folded.append(with_lacking(one, rows, units, without))
    return _judged(design, before, after, folded, [block is not None for block in blocks])


def _with_block(
    design: Design, statistics: Statistics, block: Sequence[ArmStatistics]
) -> Statistics:
    """Return a metric's statistics with one more block."""
    oriented, added = design.oriented_statistics(statistics), design.oriented_block(block)
    rows = design.procedure.fold_block(oriented, added, look=False)
    return replace(rows, arms=statistics.with_block(block).arms)


def fold_ahead(
    design: Design, statistics: Statistics, blocks: Mapping[int, Sequence[ArmStatistics]]
) -> Statistics:
    """Return the statistics with a block of metrics that count before the primary one does.

    `blocks` has what the arms have given, by the place of the metric in the design. Each metric is
    looked at by its own units.
    """
    metrics = list(statistics.metrics or empty_metrics(design))
    for which, block in blocks.items():
        before = metrics[which]
        after = _with_block(design.metric_designs[which], before, block)
        is_due = guard_rule.look_is_due(before.units, after.units, True)
        if design.metrics[which].is_guardrail and is_due:
            after = _looked(design, which, after)
        metrics[which] = after
    return replace(statistics, metrics=tuple(metrics))


def with_lacking(
    design: Design, statistics: Statistics, units: Sequence[int], lacking: Sequence[int]
) -> Statistics:
    """Return the statistics of a metric with a block's units, and those of them without a value."""
    if not any(lacking) and not statistics.lacking:
        return statistics
    rows = coverage.with_block(statistics.lacking, units, lacking, design.control_index)
    return replace(statistics, lacking=rows)


def record_metrics(
    design: Design,
    before: Statistics,
    after: Statistics,
    arm: int,
    values: Sequence[float],
    lacking: Sequence[Sequence[int]] = (),
) -> Statistics:
    """Return the statistics with a unit's outcomes of every other metric."""
    known = before.metrics or empty_metrics(design)
    _check_count(design, values)
    recorded = []
    none = (0,) * len(design.arms)
    parts = zip(design.metric_designs, known, values, lacking or [none] * len(values), strict=True)
    for one, statistics, value, without in parts:
        one.outcome.check_value(value)
        recorded.append(with_lacking(one, statistics.record(arm, value), without, without))
    return _judged(design, before, after, recorded, [True] * len(recorded))


def _check_count(design: Design, given: Sequence[object]) -> None:
    if len(given) != len(design.metrics):
        names = ", ".join(metric.name for metric in design.metrics)
        raise InputError(
            "metrics",
            f"metrics: give the outcomes of every metric of the design, {names} (got {len(given)})",
        )


def _judged(
    design: Design,
    before: Statistics,
    after: Statistics,
    metrics: Sequence[Statistics],
    counted: Sequence[bool],
) -> Statistics:
    """Return the statistics with intervals and harm of guardrails as of now, if a look is due."""
    if guard_rule.look_is_due(before.units, after.units, guardrails_decide(design, after)):
        metrics = [
            _looked(design, which, statistics)
            if design.metrics[which].is_guardrail and counted[which]
            else statistics
            for which, statistics in enumerate(metrics)
        ]
    return replace(after, metrics=tuple(metrics))


def _looked(design: Design, which: int, statistics: Statistics) -> Statistics:
    """Return a metric's statistics with the running intersections, and harmful arms dropped."""
    now = _against_control(design.metric_designs[which], statistics)
    statistics = replace(statistics, bounds=intersected(statistics.bounds, now))
    line, harm = design.metrics[which].harm_line, design.harm_designs[which]
    if line is None or harm is None:
        return statistics
    bounds = enumerate(_against_control(harm, statistics))
    harmful = {arm for arm, (_, high) in bounds if guard_rule.is_harmful(high, line)}
    return replace(statistics, dropped=statistics.dropped | harmful)


def _against_control(design: Design, statistics: Statistics) -> list[tuple[float, float]]:
    """Return by how much each arm is better than the control: the bounds that hold now."""
    return [(low, high) for _, low, high in _advantages(design, statistics)]


def _advantages(design: Design, statistics: Statistics) -> list[Difference]:
    # Harmful arms are listed with all others: the procedure must not leave them out.
    oriented = design.oriented_statistics(replace(statistics, dropped=frozenset(), bounds=()))
    return design.procedure.advantages(oriented, design.control_index)


def standing(design: Design, which: int, statistics: Statistics, arm: int) -> Standing:
    """Return what a guardrail says of an arm, by the last look; open while its values lack."""
    metric, its = design.metrics[which], (statistics.metrics or empty_metrics(design))[which]
    low, high = its.bounds[arm] if its.bounds else (-math.inf, math.inf)
    margin = -math.inf if metric.margin is None else metric.margin
    code = guard_rule.standing_of(low, high, margin, arm in its.dropped)
    units = [one.units for one in statistics.arms]
    if code == guard_rule.WITHIN and coverage.held(design.metric_designs[which], its, units, arm):
        code = guard_rule.OPEN
    return STANDINGS[code]


def _standings(design: Design, statistics: Statistics) -> list[int]:
    """Return what every guardrail says of every arm, as `guard_rule` takes it.

    The primary metric is one of them where it decides and its values may be missing.
    """
    arms = range(len(design.arms))
    codes = [
        STANDINGS.index(standing(design, which, statistics, arm))
        for which, metric in enumerate(design.metrics)
        if metric.is_guardrail
        for arm in arms
    ]
    if has_primary_say(design):
        units = [one.units for one in statistics.arms]
        reasons = (coverage.held(design, statistics, units, arm) for arm in arms)
        codes += [guard_rule.OPEN if why else guard_rule.WITHIN for why in reasons]
    return codes


def has_primary_say(design: Design) -> bool:
    """Return whether missing values of the primary metric may hold up the test's decision."""
    return design.decides == "primary" and coverage.is_counted(design)


def may_hold(design: Design) -> bool:
    """Return whether anything but the evidence on the primary metric can hold up its winner."""
    return bool(design.guardrails) or has_primary_say(design)


def held_words(design: Design, statistics: Statistics, arm: int) -> tuple[str, ...]:
    """Return why missing values keep an arm from being shipped, for each metric with a say."""
    units, known = [one.units for one in statistics.arms], statistics.metrics
    known = known or empty_metrics(design)
    rows = [("", design, statistics)] if has_primary_say(design) else []
    rows += [
        (f" of {metric.name}", one, its)
        for metric, one, its in zip(design.metrics, design.metric_designs, known, strict=True)
        if metric.is_guardrail
    ]
    return tuple(
        f"missing values{of}: {why}"
        for of, one, its in rows
        for why in coverage.held(one, its, units, arm)
    )


def may_ship(design: Design, statistics: Statistics, arm: int) -> bool:
    """Return whether every guardrail has found an arm within its margin, and no value lacks."""
    return guard_rule.allowed(*_facts(design, statistics), arm, design.control_index)


def _facts(design: Design, statistics: Statistics) -> tuple[list[int], int, int]:
    """Return what every metric with a say says of every arm, and how many there are of both."""
    standings, arms = _standings(design, statistics), len(design.arms)
    return standings, arms, len(standings) // arms


def shipped(design: Design, statistics: Statistics, winner: int) -> int:
    """Return the decision, given the winner on the primary metric, if not all arms are harmful."""
    out = [arm in statistics.out for arm in range(len(design.arms))]
    if winner == NO_DIFFERENCE and any(
        held_words(design, statistics, arm) for arm, is_out in enumerate(out) if not is_out
    ):
        return NOBODY
    facts = _facts(design, statistics)
    is_rollout = design.decides == "guardrails"
    return guard_rule.shipped(winner, is_rollout, out, *facts, design.control_index)


def harmed(statistics: Statistics) -> dict[int, tuple[int, ...]]:
    """Return the harmful arms that are still in the test, each with the metrics that say so."""
    by_arm: dict[int, tuple[int, ...]] = {}
    for which, metric in enumerate(statistics.metrics):
        for arm in metric.dropped - statistics.removed:
            by_arm[arm] = (*by_arm.get(arm, ()), which)
    return dict(sorted(by_arm.items()))


def removable(design: Design, statistics: AnyStatistics) -> dict[int, tuple[int, ...]]:
    """Return the harmful arms to remove now, while more than two arms are left."""
    if not isinstance(statistics, Statistics) or len(design.arms) - len(statistics.removed) <= 2:
        return {}
    return harmed(statistics)


def none_can_ship(design: Design, statistics: Statistics) -> bool:
    """Return whether the guardrails rule out every active treatment, so that the test is over.

    An arm beyond its margin that may yet be found harmful, by its difference so far, is waited for:
    once it is removed, others may win.
    """
    if not design.guardrails:
        return False
    out = [arm in statistics.out for arm in range(len(design.arms))]
    if not guard_rule.none_can_ship(out, *_facts(design, statistics), design.control_index):
        return False
    for which, metric in enumerate(design.metrics):
        if metric.harm_line is None:
            continue
        now = _advantages(design.metric_designs[which], statistics.metrics[which])
        for arm, (difference, _, _) in enumerate(now):
            beyond = standing(design, which, statistics, arm) == "beyond margin"
            if beyond and not out[arm] and guard_rule.is_harmful(difference, metric.harm_line):
                return False
    return True


def waiting_arm(design: Design, statistics: Statistics) -> int | None:
    """Return the arm that only guardrails or missing values keep from being shipped, or None."""
    if not may_hold(design):
        return None
    out = [arm in statistics.out for arm in range(len(design.arms))]
    only = guard_rule.only_treatment(out, len(out), design.control_index)
    return None if only == NOBODY or may_ship(design, statistics, only) else only


def guardrails_decide(design: Design, statistics: Statistics) -> bool:
    """Return whether the end of the test is up to its guardrails now."""
    return design.decides == "guardrails" or waiting_arm(design, statistics) is not None


def still_compared(design: Design, statistics: Statistics) -> Statistics:
    """Return the statistics with the control back in while an arm waits for its guardrails.

    The primary metric needs no more units then; the guardrails compare that arm with the control.
    """
    if waiting_arm(design, statistics) is None:
        return statistics
    control = design.control_index
    if control in statistics.removed:
        return statistics
    return replace(statistics, dropped=statistics.dropped - {control})


def all_harmed(design: Design, statistics: Statistics) -> bool:
    """Return whether every treatment that is left is harmful, so that the control stays."""
    if not any(metric.dropped for metric in statistics.metrics):
        return False
    removed = [arm in statistics.removed for arm in range(len(design.arms))]
    return guard_rule.all_harmed(removed, *_facts(design, statistics), design.control_index)


def metric_views(design: Design, statistics: Statistics) -> tuple[MetricView, ...]:
    """Return what every other metric has shown, with intervals as of now.

    >>> import bascule as bs
    >>> latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=5)
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), metrics=[latency])
    >>> metric_views(design, bs.progress.Statistics.empty(2))[0].standings
    ('within margin', 'open')
    """
    known = statistics.metrics or empty_metrics(design)
    said = [
        tuple(standing(design, which, statistics, arm) for arm in range(len(design.arms)))
        for which in range(len(known))
    ]
    return tuple(_view(design, which, its, said[which]) for which, its in enumerate(known))


def _view(
    design: Design, which: int, statistics: Statistics, said: tuple[Standing, ...]
) -> MetricView:
    one, metric = design.metric_designs[which], design.metrics[which]
    control = design.control_index
    now = _advantages(one, statistics)
    bounds = intersected(statistics.bounds, ((low, high) for _, low, high in now))
    up = 1.0 if metric.goal == "increase" else -1.0
    effects = []
    for arm, (low, high) in enumerate(bounds):
        if arm == control:
            continue
        oriented = (low, high) if metric.goal == "increase" else (0.0 - high, 0.0 - low)
        effects.append(
            Effect(
                design.arms[arm],
                design.arms[control],
                0.0 + up * now[arm][0],
                *oriented,
                one.procedure.end_error,
                one.calibration.guarantee,
            )
        )
    standings: list[Standing] = [
        "within margin" if arm == control else one for arm, one in enumerate(said)
    ]
    return MetricView(metric, statistics, tuple(effects), tuple(standings))
