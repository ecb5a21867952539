"""Units whose outcomes keep coming, as a log shows them: cohorts day after day, and spreads.

A unit gives one outcome a period from its arrival on, or every row of it is one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations

import numpy as np

from bascule.analysis.evidence.course import Course, Day, Terms
from bascule.analysis.reduce.query import Row
from bascule.analysis.reduce.sums import Sums, as_date, days_between
from bascule.core.cohorts import ArmCohorts, Cohort, CohortStatistics
from bascule.core.design import Design
from bascule.core.effects import Effect, effects
from bascule.core.errors import InputError
from bascule.core.outcomes import Recurrent
from bascule.core.procedures.base import Decision
from bascule.core.procedures.estimators import mean_of_means
from bascule.core.procedures.interval_state import FloatArray
from bascule.core.procedures.static import pair_scales
from bascule.core.progress import decision, look, static_procedure

FEWEST_UNITS = 20
"""With fewer units an estimated spread says too little."""

MOST_TIMES = 100.0
"""An end that is further away than so many times the data is no prediction any more."""


@dataclass(frozen=True, slots=True)
class Recurring:
    """The cohorts at the end of each day, the units that came on it, and sums for the spreads.

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
    totals, squares, own, _ = sums.growth
    now = np.cumsum(totals, axis=1)
    count, arms = sums.units.shape
    found = []
    for day in range(count):
        parts = tuple(
            ArmCohorts(
                tuple(
                    Cohort(day - came + 1, int(sums.units[came, arm]), float(now[came, day, arm]))
                    for came in range(day, -1, -1)
                    if sums.units[came, arm] > 0
                )
            )
            for arm in range(arms)
        )
        found.append(CohortStatistics(parts, stage=day + 1))
    ages = np.arange(count, 0, -1.0)[:, None]
    ends = squares.sum(axis=1)
    moments = np.array(
        [
            sums.units.sum(axis=0),
            (sums.units * ages).sum(axis=0),
            (sums.units * ages**2).sum(axis=0),
            totals.sum(axis=(0, 1)),
            own.sum(axis=(0, 1)),
            (ends / ages).sum(axis=0),
        ]
    )
    return Recurring(sums.days, tuple(found), sums.units, moments)


def by_count(rows: Sequence[Row], arms: int) -> Recurring:
    """Every row an outcome: units by how many they have given at the end of each day."""
    days = days_between(min(as_date(r["day"]) for r in rows), max(as_date(r["day"]) for r in rows))
    moves: dict[date, list[Row]] = {}
    for row in rows:
        moves.setdefault(as_date(row["day"]), []).append(row)
    cohorts: list[dict[int, list[float]]] = [{} for _ in range(arms)]
    units, found = np.zeros((len(days), arms)), []
    own = np.zeros(arms)
    for place, day in enumerate(days):
        for row in moves.get(day, ()):
            arm, many = cohorts[row["arm"]], int(row["units"])
            own[row["arm"]] += row["own"]
            _move(arm, int(row["outcomes"]), many, row["total"], row["squares"])
            _move(arm, int(row["before"]), -many, -row["earlier"], -row["earlier_squares"])
            units[place, row["arm"]] += many if row["before"] == 0 and row["outcomes"] else 0
        found.append(
            CohortStatistics(
                tuple(
                    ArmCohorts(
                        tuple(
                            Cohort(outcomes, int(n), total)
                            for outcomes, (n, total, _) in sorted(arm.items())
                            if outcomes and n
                        )
                    )
                    for arm in cohorts
                ),
                stage=place + 1,
            )
        )
    moments = np.array([_moments(arm, squares) for arm, squares in zip(cohorts, own, strict=True)])
    return Recurring(days, tuple(found), units, moments.T)


def _move(arm: dict[int, list[float]], outcomes: int, n: int, total: float, square: float) -> None:
    sums = arm.setdefault(outcomes, [0.0, 0.0, 0.0])
    for place, more in enumerate((n, total, square)):
        sums[place] += more


def _moments(arm: dict[int, list[float]], own: float) -> tuple[float, ...]:
    some = [(age, *sums) for age, sums in arm.items() if age and sums[0]]
    return (
        sum(n for _, n, _, _ in some),
        sum(age * n for age, n, _, _ in some),
        sum(age * age * n for age, n, _, _ in some),
        sum(total for _, _, total, _ in some),
        own,
        sum(square / age for age, _, _, square in some),
    )


def spreads(seen: Recurring) -> Recurrent:
    """How much units differ and how much the outcomes of one unit do, by the method of moments.

    It is that of docs/how-to/plan-a-test.md, with each arm around its own mean.
    """
    units, outcomes, ages, totals, own, of_units = seen.moments
    there = outcomes > 0
    units, outcomes, ages = units[there], outcomes[there], ages[there]
    totals, own, of_units = totals[there], own[there], of_units[there]
    free = float((outcomes - units).sum())
    if units.sum() < FEWEST_UNITS or free <= 0:
        raise InputError(
            "outcome",
            f"outcome: {int(units.sum())} units with {int(outcomes.sum())} outcomes are too few to "
            "tell their spreads: give Recurrent(sigma_unit, sigma_noise)",
        )
    noise = max(0.0, float((own - of_units).sum()) / free)
    between = float((of_units - totals**2 / outcomes).sum()) - float((units - 1.0).sum()) * noise
    size = float((outcomes - ages / outcomes).sum())
    unit = math.sqrt(max(0.0, between / size)) if size > 0 else 0.0
    if unit == 0.0 and noise == 0.0:
        raise InputError("value", "value: all outcomes are the same: there is nothing to compare")
    return Recurrent(unit, math.sqrt(noise))


def course_of_units(design: Design, terms: Terms, seen: Recurring) -> Course:
    """The course by the evidence of a mixture on the clocks of the arms."""
    days: list[Day] = []
    reached: Decision | None = None
    decided = None
    for day, statistics in zip(seen.days, seen.statistics, strict=True):
        found = tuple(_kind(effect, terms) for effect in effects(design, statistics))
        if reached is None and (now := decision(design, statistics)) is not None:
            reached = Decision(now.arm, now.name, terms.error, terms.guarantee)
            decided = day.isoformat()
        days.append(
            Day(
                day.isoformat(),
                tuple(arm.units for arm in statistics.arms),
                tuple(mean_of_means(arm) if arm.units else None for arm in statistics.arms),
                found,
                None if reached is None else reached.name,
            )
        )
    return Course(tuple(days), reached, decided, _times(days, reached))


def _kind(effect: Effect, terms: Terms) -> Effect:
    return Effect(
        effect.first,
        effect.second,
        effect.difference,
        effect.low,
        effect.high,
        effect.error,
        terms.guarantee,
    )


def _times(days: Sequence[Day], reached: Decision | None) -> float | None:
    """How many times the data may do: what may be off shrinks about with its root."""
    if reached is not None or not days or len(days[-1].effects) != 1:
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
    seen = sums.units.sum(axis=0)
    for name, size, units in zip(design.arms, sizes, seen, strict=True):
        if units > size:
            raise InputError(
                "population",
                f"population: {int(units)} units of {name!r} are in the log, but the design has "
                f"{size}: count them, and give Static one number an arm",
            )
    totals = sums.totals[None] if sums.growth is None else sums.growth[0]
    now = np.cumsum(totals.sum(axis=0), axis=0)
    scales = pair_scales(sizes)
    last = min(len(sums.days), procedure.horizon or len(sums.days))
    days: list[Day] = []
    reached: Decision | None = None
    decided = None
    for at in range(last):
        means = [float(now[at, k]) / (sizes[k] * (at + 1)) for k in range(arms)]
        limit = procedure.threshold(at + 1)
        found = terms.effects(
            (means[i] - means[j], limit / float(scales[i * arms + j]))
            for i, j in combinations(range(arms), 2)
        )
        if reached is None and (one := look(design, at + 1, means).decision) is not None:
            reached, decided = one, sums.days[at].isoformat()
        won = None if reached is None else reached.name
        days.append(Day(sums.days[at].isoformat(), sizes, tuple(means), found, won))
    return Course(tuple(days), reached, decided, None)
