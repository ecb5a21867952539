"""Plain facts about a log: its arms, what they cost, what was excluded, and what to note."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from bascule.analysis.evidence.choose import Evidence
from bascule.analysis.evidence.course import Course
from bascule.analysis.evidence.recurring import Recurring
from bascule.analysis.reduce.sums import Sums
from bascule.analysis.request import Reduced, Request
from bascule.analysis.result import ArmAnswer
from bascule.analysis.source.rows import DAY
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.spread import skewness, units_needed
from bascule.core.outcomes import Gaussian, Outcome, Recurrent
from bascule.core.procedures.estimators import mean_of_means, precision_mean, total_mean
from bascule.core.rules import UCB, Static, Tilt
from bascule.core.statistics import Statistics
from bascule.live.storage.state import ExperimentState


def nothing(reduced: Reduced) -> str:
    """Why there is no unit at all."""
    if reduced.rows == 0:
        return "events: the log is empty"
    aside = reduced.aside | reduced.table.aside
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in aside.items())
    return f"events: no row of the log can be used ({reasons})"


def check_arms(arms: Sequence[str], sums: Sums) -> None:
    """Refuse a log in which fewer than two arms have units."""
    there = [arm for arm, units in zip(arms, sums.units.sum(axis=0), strict=True) if units]
    if len(there) < 2:
        raise InputError(
            "arm",
            f"arm: of {', '.join(arms)} only {', '.join(there) or 'none'} has units that can be "
            "used: a test compares at least two",
        )


def known_days(asked: Request, reduced: Reduced, sums: Sums) -> tuple[int, list[date]]:
    """How many days of arrival have their outcomes, and when each of these had them."""
    if asked.measure is None or reduced.ends is None:
        return len(sums.days), list(sums.days)
    wait = asked.measure.matures(0.0)
    later = math.ceil(wait / DAY)
    dates = []
    for day in sums.days:
        over = datetime.combine(day + timedelta(days=1), datetime.min.time())
        if over + timedelta(seconds=wait) <= reduced.ends:
            dates.append(day + timedelta(days=later))
    return len(dates), dates


def first_days(sums: Sums, days: int) -> Sums:
    """The first days alone."""
    if days == len(sums.days):
        return sums
    return replace(
        sums,
        days=sums.days[:days],
        units=sums.units[:days],
        totals=sums.totals[:days],
        squares=sums.squares[:days],
        lows=sums.lows[:days],
        highs=sums.highs[:days],
        scores=None if sums.scores is None else sums.scores.first(days),
        cubes=None if sums.cubes is None else sums.cubes[:days],
    )


def added(parts: Iterable[Sums]) -> Sums:
    """The sums of all segments together; scores and growth are theirs alone."""
    some = list(parts)
    first, last = min(s.days[0] for s in some), max(s.days[-1] for s in some)
    count, arms = (last - first).days + 1, some[0].units.shape[1]
    total: dict[str, Any] = {
        "units": np.zeros((count, arms)),
        "totals": np.zeros((count, arms)),
        "squares": np.zeros((count, arms)),
        "lows": np.full((count, arms), np.inf),
        "highs": np.full((count, arms), -np.inf),
    }
    for sums in some:
        at = (sums.days[0] - first).days
        rows = slice(at, at + len(sums.days))
        for name in ("units", "totals", "squares"):
            total[name][rows] += getattr(sums, name)
        total["lows"][rows] = np.minimum(total["lows"][rows], sums.lows)
        total["highs"][rows] = np.maximum(total["highs"][rows], sums.highs)
    days = tuple(first + timedelta(days=i) for i in range(count))
    return Sums(days, **total)


def arm_answers(arms: Sequence[str], sums: Sums, inside: Sums) -> tuple[ArmAnswer, ...]:
    """The arms: all units, those that count, and the mean and the deviation of their outcomes."""
    found = []
    for i, name in enumerate(arms):
        arm = inside.arm(i)
        about = arm.squares - arm.units * arm.mean**2
        spread = math.sqrt(max(0.0, about) / (arm.units - 1)) if arm.units > 1 else None
        mean = arm.mean if arm.units else None
        found.append(ArmAnswer(name, int(sums.units[:, i].sum()), arm.units, mean, spread))
    return tuple(found)


def folded_answers(design: Design, standing: ExperimentState) -> tuple[ArmAnswer, ...]:
    """The arms of a test that was folded again."""
    found = []
    seen = standing.statistics
    assert isinstance(seen, Statistics)
    for i, name in enumerate(design.arms):
        arm = seen.arms[i] + standing.open[i]
        about = arm.squares - arm.units * arm.mean**2
        spread = math.sqrt(max(0.0, about) / (arm.units - 1)) if arm.units > 1 else None
        mean = arm.mean if arm.units else None
        found.append(ArmAnswer(name, standing.assigned[i], arm.units, mean, spread))
    return tuple(found)


def unit_answers(design: Design, seen: Recurring) -> tuple[ArmAnswer, ...]:
    """The arms of a test whose outcomes keep coming, with three averages of each."""
    outcome = design.outcome
    assert isinstance(outcome, Recurrent)
    now = seen.statistics[-1].arms
    return tuple(
        ArmAnswer(
            name,
            arm.units,
            arm.units,
            mean_of_means(arm) if arm.units else None,
            None,
            total_mean(arm) if arm.units else None,
            precision_mean(arm, outcome) if arm.units else None,
        )
        for name, arm in zip(design.arms, now, strict=True)
    )


def widest(outcome: Outcome | None) -> float:
    """The largest difference that two means of such outcomes can have.

    >>> from bascule.core.outcomes import Bounded
    >>> widest(Bounded(0, 5)), widest(None)
    (5.0, inf)
    """
    return math.inf if outcome is None else outcome.high - outcome.low


def counts(sums: Sums) -> list[int]:
    """Units of each arm."""
    return [int(n) for n in sums.units.sum(axis=0)]


def sum_of(parts: Iterable[float | None]) -> float | None:
    """The sum of what is known; None if nothing is."""
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def cost_of(arms: Sequence[ArmAnswer]) -> float | None:
    """What all units lost against giving each the arm that looks best now."""
    means = [arm.mean for arm in arms]
    if any(mean is None for mean in means):
        return None
    best = max(mean for mean in means if mean is not None)
    return sum(arm.units * (best - (arm.mean or 0.0)) for arm in arms)


def saved_by(arms: Sequence[ArmAnswer], sums: Sums, course: Course) -> float | None:
    """What the units that came after the decision lost against the winner."""
    reached = course.decision
    if reached is None or reached.arm is None or course.decided is None:
        return None
    best = arms[reached.arm].mean or 0.0
    later = np.array([day.isoformat() > course.decided for day in sums.days])
    came = sums.units[later].sum(axis=0)
    return float(sum(n * (best - (arm.mean or 0.0)) for n, arm in zip(came, arms, strict=True)))


def days_left(course: Course, inside: Sums) -> float | None:
    """How long a decision is expected to take from here, at the pace so far."""
    if course.decision is not None or course.times is None:
        return None
    return (course.times - 1.0) * len(inside.days)


def design_of(
    asked: Request, arms: tuple[str, ...], evidence: Evidence, inside: Sums, error: float
) -> Design:
    """The design that the log was read as."""
    if asked.design is not None:
        return asked.design
    model = evidence.outcome
    if model is None:
        units = max(float(inside.units.sum()), 2.0)
        about = float(inside.squares.sum()) - float(inside.totals.sum()) ** 2 / units
        model = Gaussian(math.sqrt(max(about / (units - 1.0), 0.0)) or 1.0)
    least = asked.min_effect
    return Design(arms, model, Tilt(1), error=error, min_effect=least, measure=asked.measure)


def excluded_of(reduced: Reduced) -> dict[str, int]:
    """How much of the log does not count, by reason."""
    table = reduced.table
    counts = reduced.aside | table.aside
    if table.early:
        counts["event before its unit came"] = table.early
    if table.excluded:
        counts["unit without any value"] = table.excluded
    if table.clipped:
        counts["outcome beyond the limits, counted as the nearest"] = table.clipped
    return counts


def _waiting(reduced: Reduced, sums: Sums, known: int, evidence: Evidence) -> list[str]:
    """Which arms have too few units for a spread that is estimated from skewed outcomes."""
    if evidence.guarantee != "asymptotic" or sums.cubes is None or reduced.recurring is not None:
        return []
    parts = (sums.units, sums.totals, sums.squares, sums.cubes)
    now = [part[:known].sum(axis=0) for part in parts]
    common = skewness(*(float(part.sum()) for part in now))
    found = []
    for name, *arm in zip(reduced.arms, *now, strict=True):
        needed = units_needed(skewness(*map(float, arm)), common)
        if 0.0 < arm[0] < needed < math.inf:
            found.append(
                f"{name} has {arm[0]:,.0f} units, and its outcomes are so skewed that an estimated "
                f"spread needs about {needed:,.0f}: no interval and no decision before that"
            )
    return found


def notes_on(
    asked: Request, reduced: Reduced, sums: Sums, known: int, evidence: Evidence
) -> list[str]:
    """What a reader should know about how the log was read."""
    notes = [evidence.note] if evidence.note else []
    waiting = int(sums.units[known:].sum())
    if waiting:
        notes.append(f"{waiting:,} units came too late for their outcomes to be final")
    empty = [a for a, n in zip(reduced.arms, sums.units.sum(axis=0), strict=True) if n == 0]
    if empty:
        notes.append(f"nobody was in {', '.join(empty)}")
    without = sum(count for _, count in reduced.valueless.values())
    if without and asked.exclude:
        notes.append(
            "units without any value are excluded, so arms are compared by the others alone: that "
            "is fair only if the arm does not change who has a value"
        )
    elif without:
        notes.append(
            f"{without:,} units have rows without any value, and count as {asked.missing:g}: give "
            'missing="exclude" to leave them out'
        )
    if sums.bare:
        return notes
    notes += _waiting(reduced, sums, known, evidence)
    spread = sums.squares.sum(axis=0) - sums.totals.sum(axis=0) ** 2 / np.maximum(
        sums.units.sum(axis=0), 1.0
    )
    if np.all(spread <= 1e-12 * np.maximum(sums.squares.sum(axis=0), 1e-300)):
        notes.append("all outcomes of an arm are the same: is this the right column?")
    rule = None if asked.design is None else asked.design.rule
    if rule is not None and not isinstance(rule, (UCB, Tilt, Static)) and not asked.recurring:
        notes.append(f"the log is compared day by day, not in the rounds of {rule.label}")
    return notes
