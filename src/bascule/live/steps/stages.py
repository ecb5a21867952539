"""Recurring outcomes, counted stage by stage. Pure functions.

A stage is one period long, and the first one begins with the first unit. A unit gives a number for
every period since its own arrival; at the end of a stage all its completed periods count. So the
number of outcomes that a unit has given by then is already known when it arrives, as the proofs
require. docs/research/live.md
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
from bascule.core.errors import InputError, invalid
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import Metric
from bascule.core.progress import close_stage
from bascule.live.steps.folding import announced
from bascule.live.storage.state import Enrolment, ExperimentState, StageUnits

Sums = dict[tuple[int, int, int], tuple[int, float]]
"""Number of units with events and sum of their outcomes, by arm and `stage_of` their arrival."""

StageRow = tuple[int, int, float, float, float]
"""An event: number, arm and arrival of its unit, and its time and value; sorted by unit."""

LONGEST_ARM = 200
"""Maximum length of an arm's name, which appears in messages, headers and tables."""


def check_live(design: Design) -> None:
    """Raise `InputError` if a design cannot be run as a live test, and say what to change."""
    if design.outcome.recurring and design.measure is None:
        raise InputError(
            "measure",
            f'{design.outcome!r} needs a measure in a live test: give Measure(period="1d")',
        )
    if design.measure is None and design.reports is None:
        raise InputError(
            "measure",
            "a live test needs a measure, because otherwise a unit that never reports "
            "would hold up all others: "
            f"give the conversion window, as {_example(design)}, or reports, as "
            'reports="always", --reports always or in JSON "reports": "always", if every unit '
            "reports an outcome, also where it is 0",
        )
    for arm in design.arms:
        if len(arm) > LONGEST_ARM or not arm.isprintable():
            raise InputError(
                "arms",
                f"the name of an arm in a live test must be one line of at most {LONGEST_ARM} "
                f"printable characters (got {arm!r:.60}, {len(arm):,} characters)",
            )
    _check_missing(design)
    design.procedure.check_live()


def _check_missing(design: Design) -> None:
    """Raise if the value of a unit without events is not defined, or its definition is invalid."""
    for name, part_design in (("", design), *((m.name, d) for m, d in _metrics(design))):
        measure, of = part_design.measure, f" of metric {name}" if name else ""
        if measure is None:
            continue
        if measure.may_lack and measure.missing is None:
            raise InputError(
                "missing",
                f'a unit may have no value{of} ("{measure.aggregate}"): say what it then counts '
                'as, missing="zero", a number, or for metrics beside the primary one '
                f'missing="exclude", as in Measure("7d", "{measure.aggregate}", missing="zero")',
            )
        if measure.period is not None and measure.least_coverage > 0.0:
            raise InputError(
                "coverage",
                f'with "{measure.aggregate}", a period without events counts as a value that '
                'nobody measured, and the number of such periods is not known: use "sum", or give '
                "coverage=0 to accept any number of them",
            )
        if measure.missing == "exclude" and not name:
            raise invalid(
                'missing="exclude" is for metrics beside the primary one: every unit counts in the '
                "primary metric, so give the number that stands for a unit without a value",
            )
        if measure.missing == "exclude" and design.procedure.assigns != "blocks":
            raise invalid(
                f'missing="exclude" needs tilted blocks (got {design.rule.label}): use Tilt(tilt)'
            )


def _metrics(design: Design) -> Iterable[tuple[Metric, Design]]:
    return zip(design.metrics, design.metric_designs, strict=True)


def _example(design: Design) -> str:
    """Return an example of a measure in Python, on the command line and in JSON."""
    aggregate = "any" if design.outcome.binary else "sum"
    data = f'"measure": {{"window": "7d", "aggregate": "{aggregate}"}}'
    return f'Measure("7d", "{aggregate}"), --window 7d or in JSON {data}'


def period_of(measure: Measure) -> float:
    """Return the length of a period in seconds."""
    assert measure.period is not None
    return float(measure.period)


def stage_of(origin: float, period: float, time: float) -> tuple[int, int]:
    """Return the stage that contains a time, and 0 if the stage begins exactly then, else 1.

    >>> stage_of(100.0, 10.0, 100.0), stage_of(100.0, 10.0, 114.0)
    ((1, 0), (2, 1))
    """
    passed = (time - origin) / period
    number = math.floor(passed)
    return number + 1, int(passed > number)


def counting_stage(origin: float, period: float, arrived: float, at: float) -> int:
    """Return the stage at whose end an event counts, since its unit's period is over by then.

    >>> counting_stage(0.0, 10.0, arrived=4.0, at=13.0), counting_stage(0.0, 10.0, 0.0, 3.0)
    (2, 1)
    """
    stage, late = stage_of(origin, period, arrived)
    # The number, from 1, of the unit's period in which the event happened.
    number = math.floor((at - arrived) / period) + 1
    return stage - 1 + late + number


def due(measure: Measure, origin: float, stage: int) -> float:
    """Return the time at which the outcomes of a stage are complete."""
    return origin + stage * period_of(measure) + float(measure.grace)


def joined(design: Design, enrolment: Enrolment, arms: Iterable[int], now: float) -> Enrolment:
    """Return the enrolment with units that arrive now."""
    assert design.measure is not None
    origin = now if enrolment.origin is None else enrolment.origin
    stage, late = stage_of(origin, period_of(design.measure), now)
    crowds = {crowd[:3]: crowd for crowd in enrolment.crowd}
    for arm in arms:
        key = (arm, stage, late)
        before = crowds.get(key, StageUnits(*key, 0, 0.0))
        crowds[key] = before._replace(units=before.units + 1)
    return enrolment._replace(origin=origin, crowd=tuple(crowds.values()))


def sums_of(measure: Measure, origin: float, stage: int, rows: Iterable[StageRow]) -> Sums:
    """Return the sums of the events that count at the end of a stage."""
    period = period_of(measure)
    sums: defaultdict[tuple[int, int, int], tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for _, group in groupby(rows, key=itemgetter(0)):
        events = list(group)
        _, arm, arrived, _, _ = events[0]
        values = [
            value
            for _, _, _, at, value in events
            if counting_stage(origin, period, arrived, at) == stage
        ]
        if values:
            key = (arm, *stage_of(origin, period, arrived))
            units, total = sums[key]
            sums[key] = (units + 1, total + measure.outcome_of(values))
    return sums


def closed(design: Design, state: ExperimentState, sums: Sums, now: float) -> ExperimentState:
    """Return the state at the end of the next stage, given the sums of its events."""
    statistics, measure = state.statistics, design.measure
    assert isinstance(statistics, CohortStatistics)
    assert measure is not None
    stage = statistics.stage + 1
    crowd, arms = [], [defaultdict[int, list[StageUnits]](list) for _ in design.arms]
    for joiners in state.enrolment.crowd:
        outcomes = stage - joiners.stage + 1 - joiners.late
        if outcomes < 1:
            crowd.append(joiners)
            continue
        active, total = sums.get(joiners[:3], (0, 0.0))
        total_with = total + measure.missing_value * (joiners.units - active)
        crowd.append(joiners._replace(total=joiners.total + total_with))
        arms[joiners.arm][outcomes].append(crowd[-1])
    cohorts = tuple(
        ArmCohorts(tuple(_cohort(outcomes, arm[outcomes]) for outcomes in sorted(arm)))
        for arm in arms
    )
    statistics = close_stage(design, replace(statistics, arms=cohorts, stage=stage))
    after = state._replace(
        statistics=statistics,
        enrolment=state.enrolment._replace(crowd=tuple(crowd)),
        folding=state.folding._replace(folded=statistics.units),
    )
    return announced(design, after, now)


def _cohort(outcomes: int, parts: list[StageUnits]) -> Cohort:
    return Cohort(outcomes, sum(p.units for p in parts), math.fsum(p.total for p in parts))
