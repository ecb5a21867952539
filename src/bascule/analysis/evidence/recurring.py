"""Units whose outcomes keep coming, as a log shows them: cohorts day after day, and spreads.

A unit gives one outcome a period from its arrival on, or every row of it is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations

import numpy as np

from bascule.analysis.evidence.course import Course, Day, Look, Terms, course_of_looks
from bascule.analysis.reduce.sums import Sums, as_date, days_between
from bascule.analysis.source.backend import Row
from bascule.core.cohorts import ArmCohorts, Cohort, CohortStatistics
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.metrics.effects import effects
from bascule.core.outcomes import Recurrent
from bascule.core.procedures.recurrent.estimators import mean_of_means
from bascule.core.procedures.static.procedure import pair_scales
from bascule.core.progress import decision, look, static_procedure
from bascule.core.types import FloatArray

FEWEST_UNITS = 20
"""With fewer units an estimated spread says too little."""

MOST_TIMES = 100.0
"""A test's end is not predicted if it is further away than this multiple of the data."""


@dataclass(frozen=True, slots=True)
class Recurring:
    """The cohorts at the end of each day, the units that arrived on it, and sums for the spreads.

    `moments` has for each arm: units, outcomes, squares of ages, sum of outcomes, sum of their
    squares, and the sum over units of total^2 / outcomes.
    """

    days: tuple[date, ...]
    statistics: tuple[CohortStatistics, ...]
    units: FloatArray
    moments: FloatArray


def by_period(sums: Sums) -> Recurring:
    """One outcome of each unit in every period since its arrival, 0 where it gave nothing."""
    assert sums.growth is not None
    totals, squares, step_squares, _ = sums.growth
    now = np.cumsum(totals, axis=1)
    count, arms = sums.units.shape
    statistics = [
        _cohorts(
            [
                [
                    (day - arrived + 1, sums.units[arrived, arm], now[arrived, day, arm])
                    for arrived in range(day, -1, -1)
                ]
                for arm in range(arms)
            ],
            stage=day + 1,
        )
        for day in range(count)
    ]
    ages = np.arange(count, 0, -1.0)[:, None]
    ends = squares.sum(axis=1)
    moments = np.array(
        [
            sums.units.sum(axis=0),
            (sums.units * ages).sum(axis=0),
            (sums.units * ages**2).sum(axis=0),
            totals.sum(axis=(0, 1)),
            step_squares.sum(axis=(0, 1)),
            (ends / ages).sum(axis=0),
        ]
    )
    return Recurring(sums.days, tuple(statistics), sums.units, moments)


def by_count(rows: Sequence[Row], arms: int) -> Recurring:
    """Every row an outcome: units by how many they have given at the end of each day."""
    days = days_between(min(as_date(r["day"]) for r in rows), max(as_date(r["day"]) for r in rows))
    moves: dict[date, list[Row]] = {}
    for row in rows:
        moves.setdefault(as_date(row["day"]), []).append(row)
    cohorts: list[dict[int, list[float]]] = [{} for _ in range(arms)]
    units, statistics = np.zeros((len(days), arms)), []
    step_squares = np.zeros(arms)
    for place, day in enumerate(days):
        for row in moves.get(day, ()):
            arm, many = cohorts[row["arm"]], int(row["units"])
            step_squares[row["arm"]] += row["step_squares"]
            _move(arm, int(row["outcomes"]), many, row["total"], row["squares"])
            _move(arm, int(row["before"]), -many, -row["earlier"], -row["earlier_squares"])
            units[place, row["arm"]] += many if row["before"] == 0 and row["outcomes"] else 0
        each = [[(n, *sums[:2]) for n, sums in sorted(arm.items())] for arm in cohorts]
        statistics.append(_cohorts(each, stage=place + 1))
    moments = np.array(
        [_moments(arm, squares) for arm, squares in zip(cohorts, step_squares, strict=True)]
    )
    return Recurring(days, tuple(statistics), units, moments.T)


def _cohorts(arms: Iterable[Iterable[tuple[float, ...]]], stage: int) -> CohortStatistics:
    """Return the cohorts of each arm from triples: outcomes of a unit, units, sum of outcomes."""
    return CohortStatistics(
        tuple(
            ArmCohorts(tuple(Cohort(int(k), int(n), float(s)) for k, n, s in arm if k and n > 0))
            for arm in arms
        ),
        stage=stage,
    )


def _move(arm: dict[int, list[float]], outcomes: int, n: int, total: float, square: float) -> None:
    sums = arm.setdefault(outcomes, [0.0, 0.0, 0.0])
    for place, more in enumerate((n, total, square)):
        sums[place] += more


def _moments(arm: dict[int, list[float]], step_squares: float) -> tuple[float, ...]:
    cohorts = [(age, *sums) for age, sums in arm.items() if age and sums[0]]
    return (
        sum(n for _, n, _, _ in cohorts),
        sum(age * n for age, n, _, _ in cohorts),
        sum(age * age * n for age, n, _, _ in cohorts),
        sum(total for _, _, total, _ in cohorts),
        step_squares,
        sum(square / age for age, _, _, square in cohorts),
    )


def spreads(recurring: Recurring) -> Recurrent:
    """How much units differ and how much the outcomes of one unit do, by the method of moments.

    It is that of docs/research/planning.md, with each arm around its own mean.
    """
    there = recurring.moments[1] > 0
    units, outcomes, ages, totals, step_squares, of_units = recurring.moments[:, there]
    free = float((outcomes - units).sum())
    if units.sum() < FEWEST_UNITS or free <= 0:
        raise InputError(
            "outcome",
            f"outcome: {int(units.sum())} units with {int(outcomes.sum())} outcomes are too few to "
            "tell their spreads: give Recurrent(sigma_unit, sigma_noise)",
        )
    noise = max(0.0, float((step_squares - of_units).sum()) / free)
    between = float((of_units - totals**2 / outcomes).sum()) - float((units - 1.0).sum()) * noise
    size = float((outcomes - ages / outcomes).sum())
    unit = math.sqrt(max(0.0, between / size)) if size > 0 else 0.0
    if unit == 0.0 and noise == 0.0:
        raise InputError("value", "value: all outcomes are the same: there is nothing to compare")
    return Recurrent(unit, math.sqrt(noise))


def course_of_units(design: Design, terms: Terms, recurring: Recurring) -> Course:
    """The course by the evidence of a mixture on the clocks of the arms."""

    def looks() -> Iterator[Look]:
        kind = terms.guarantee
        for day, statistics in zip(recurring.days, recurring.statistics, strict=True):
            reached = decision(design, statistics)
            if reached is not None:
                reached = replace(reached, error=terms.error, guarantee=kind)
            units = tuple(arm.units for arm in statistics.arms)
            means = tuple(mean_of_means(arm) if arm.units else None for arm in statistics.arms)
            now = tuple(replace(one, guarantee=kind) for one in effects(design, statistics))
            yield Day(day.isoformat(), units, means, now), reached

    course = course_of_looks(looks())
    return replace(course, times=_times(course))


def _times(course: Course) -> float | None:
    """How many times the data may do: what may be off shrinks about with its root."""
    days = course.days
    if course.decision is not None or not days or len(days[-1].effects) != 1:
        return None
    (effect,) = days[-1].effects
    reach = 0.5 * (effect.high - effect.low)
    if not math.isfinite(reach) or effect.difference == 0.0:
        return None
    times = max(1.0, (reach / effect.difference) ** 2)
    return times if times <= MOST_TIMES else None


def course_of_population(design: Design, terms: Terms, sums: Sums) -> Course:
    """The course of a static population: every unit gives an outcome in every period."""
    procedure = static_procedure(design)
    arms, sizes = len(design.arms), procedure.sizes
    for name, size, units in zip(design.arms, sizes, sums.counts(), strict=True):
        if units > size:
            raise InputError(
                "population",
                f"population: {units} units of {name!r} are in the log, but the design has "
                f"{size}: count them, and give Static one number an arm",
            )
    totals = sums.totals[None] if sums.growth is None else sums.growth.totals
    now = np.cumsum(totals.sum(axis=0), axis=0)
    scales = pair_scales(sizes)
    last = min(len(sums.days), procedure.horizon or len(sums.days))

    def looks() -> Iterator[Look]:
        for stage in range(1, last + 1):
            means = [float(now[stage - 1, k]) / (sizes[k] * stage) for k in range(arms)]
            limit = procedure.threshold(stage)
            effects = terms.effects(
                (means[i] - means[j], limit / float(scales[i * arms + j]))
                for i, j in combinations(range(arms), 2)
            )
            reached = look(design, stage, means).decision
            day = sums.days[stage - 1].isoformat()
            yield Day(day, sizes, tuple(means), effects), reached

    return course_of_looks(looks())
