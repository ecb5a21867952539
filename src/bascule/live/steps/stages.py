"""Units whose outcomes keep coming, counted stage by stage. Pure functions.

A stage is one period long, and the first one begins with the first unit. A unit gives a number for
every period since its own arrival; at the end of a stage all its periods that are over count. So
the number of outcomes that a unit has given by then is known when it arrives, whatever happens:
that is what the proofs ask for. docs/explanation/live.md
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from bascule.core.cohorts import ArmCohorts, Cohort, CohortStatistics
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.measure import Measure
from bascule.core.outcomes import Recurrent
from bascule.core.procedures.estimators import equal_weight
from bascule.core.progress import close_stage, recurrent_procedure
from bascule.core.rules import Static
from bascule.live.steps.folding import announced
from bascule.live.storage.state import Crowd, Standing

Sums = dict[tuple[int, int, int], tuple[int, float]]
"""Of the units of an arm that came in a stage, late in it or not: those with events, their sum."""

Row = tuple[int, int, float, float, float]
"""An event: number, arm and arrival of its unit, its time and its value; in order of the units."""


def check_stages(design: Design) -> None:
    """Refuse designs whose outcomes keep coming, but not in a way that a live test can count."""
    if not isinstance(design.outcome, Recurrent):
        return
    if design.measure is None:
        raise InputError(
            "measure",
            f'{design.outcome!r} needs a measure in a live test: give Measure(period="1d")',
        )
    if isinstance(design.rule, Static):
        if isinstance(design.rule.population, int):
            raise InputError(
                "population",
                "population must have one number an arm in a live test: count them with "
                "buckets(units, NAME, [1] * arms), where NAME is that of the experiment",
            )
        return
    shape = recurrent_procedure(design).shape
    if shape.weight is equal_weight or shape.together:
        raise InputError(
            "rule",
            f"{design.rule.label} asks for one new unit an arm and a stage, which a live test "
            'cannot keep to: use UCB(alpha, radius="mixture"), or radius="looks"',
        )


def period_of(measure: Measure) -> float:
    """The length of a period."""
    assert measure.period is not None
    return float(measure.period)


def stage_of(origin: float, period: float, time: float) -> tuple[int, int]:
    """The stage of a moment, and 0 if the stage begins just then, or 1.

    >>> stage_of(100.0, 10.0, 100.0), stage_of(100.0, 10.0, 114.0)
    ((1, 0), (2, 1))
    """
    passed = (time - origin) / period
    whole = math.floor(passed)
    return whole + 1, int(passed > whole)


def outcome_number(arrived: float, period: float, at: float) -> int:
    """Which of a unit's outcomes an event belongs to, counted from 1."""
    return math.floor((at - arrived) / period) + 1


def counting_stage(origin: float, period: float, arrived: float, at: float) -> int:
    """The stage at whose end an event counts: its unit's period is over then.

    >>> counting_stage(0.0, 10.0, arrived=4.0, at=13.0), counting_stage(0.0, 10.0, 0.0, 3.0)
    (2, 1)
    """
    stage, late = stage_of(origin, period, arrived)
    return stage - 1 + late + outcome_number(arrived, period, at)


def due(measure: Measure, origin: float, stage: int) -> float:
    """When the outcomes of a stage are all there."""
    return origin + stage * period_of(measure) + float(measure.grace)


def begun(design: Design, standing: Standing, now: float) -> Standing:
    """A static population is there when its test begins; others begin with their first unit."""
    if not isinstance(design.rule, Static) or standing.origin is not None:
        return standing
    sizes = design.rule.sizes(len(design.arms))
    crowd = tuple(Crowd(arm, 1, 0, units, 0.0) for arm, units in enumerate(sizes))
    return standing._replace(origin=now, crowd=crowd)


def joined(design: Design, standing: Standing, arms: Iterable[int], now: float) -> Standing:
    """The same with units that arrive now."""
    assert design.measure is not None
    origin = now if standing.origin is None else standing.origin
    stage, late = stage_of(origin, period_of(design.measure), now)
    found = {crowd[:3]: crowd for crowd in standing.crowd}
    for arm in arms:
        which = (arm, stage, late)
        before = found.get(which, Crowd(*which, 0, 0.0))
        found[which] = before._replace(units=before.units + 1)
    return standing._replace(origin=origin, crowd=tuple(found.values()))


def sums_of(measure: Measure, origin: float, stage: int, rows: Iterable[Row]) -> Sums:
    """What the events that count at the end of a stage add up to."""
    period = period_of(measure)
    found: defaultdict[tuple[int, int, int], tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for _, its in groupby(rows, key=itemgetter(0)):
        events = list(its)
        _, arm, arrived, _, _ = events[0]
        values = [
            value
            for _, _, _, at, value in events
            if counting_stage(origin, period, arrived, at) == stage
        ]
        if values:
            which = (arm, *stage_of(origin, period, arrived))
            units, total = found[which]
            found[which] = (units + 1, total + measure.outcome_of(values))
    return found


def closed(design: Design, standing: Standing, sums: Sums, now: float) -> Standing:
    """Where the test stands at the end of its next stage, whose events are given."""
    seen, measure = standing.statistics, design.measure
    assert isinstance(seen, CohortStatistics)
    assert measure is not None
    stage = seen.stage + 1
    crowd, arms = [], [defaultdict[int, list[Crowd]](list) for _ in design.arms]
    for some in standing.crowd:
        outcomes = stage - some.stage + 1 - some.late
        if outcomes < 1:
            crowd.append(some)
            continue
        active, total = sums.get(some[:3], (0, 0.0))
        more = total + measure.missing * (some.units - active)
        crowd.append(some._replace(total=some.total + more))
        arms[some.arm][outcomes].append(crowd[-1])
    cohorts = tuple(
        ArmCohorts(tuple(_cohort(outcomes, arm[outcomes]) for outcomes in sorted(arm)))
        for arm in arms
    )
    seen = replace(seen, arms=cohorts, stage=stage)
    if not isinstance(design.rule, Static):
        seen = close_stage(design, seen)
    after = standing._replace(statistics=seen, crowd=tuple(crowd), folded=seen.units)
    return announced(design, after, now)


def _cohort(outcomes: int, parts: list[Crowd]) -> Cohort:
    return Cohort(outcomes, sum(p.units for p in parts), math.fsum(p.total for p in parts))
