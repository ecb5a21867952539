"""Plain facts about a log: its arms, what they cost, what was excluded, and what to note."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from bascule.analysis.evidence.course import Course
from bascule.analysis.evidence.kinds import Evidence
from bascule.analysis.evidence.recurring import Recurring
from bascule.analysis.log.rows import DAY, TIME_UNREADABLE
from bascule.analysis.log.times import FORMAT_HINT
from bascule.analysis.reduce.moments import Centre, adjusted_mean
from bascule.analysis.reduce.sums import Sums
from bascule.analysis.request import Reduced, Request
from bascule.analysis.result import ArmAnswer
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.spread import skewness, units_needed
from bascule.core.metrics.contrasts import Contrast, contrasts
from bascule.core.metrics.effects import Effect
from bascule.core.metrics.metric import Goal
from bascule.core.outcomes import Bernoulli, Gaussian
from bascule.core.procedures.recurrent.estimators import (
    mean_of_means,
    precision_mean,
    total_mean,
)
from bascule.core.rules import Tilt
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import FloatArray

if TYPE_CHECKING:
    from bascule.live.storage.state import ExperimentState


def nothing(reduced: Reduced) -> str:
    """Why there is no unit at all."""
    if reduced.rows == 0:
        return "events: the log is empty"
    counts = reduced.excluded | reduced.table.excluded
    examples = reduced.examples.items()
    shown = {reason: f", as {entries[0]!r}" for reason, entries in examples if entries}
    reasons = "; ".join(f"{n:,} {reason}{shown.get(reason, '')}" for reason, n in counts.items())
    hint = f": {FORMAT_HINT}" if TIME_UNREADABLE in counts else ""
    return f"events: no row of the log can be used ({reasons}){hint}"


def check_arms(arms: Sequence[str], sums: Sums) -> None:
    """Refuse a log in which fewer than two arms have units."""
    there = [arm for arm, units in zip(arms, sums.units.sum(axis=0), strict=True) if units]
    if len(there) < 2:
        raise InputError(
            "arm",
            f"arm: of {', '.join(arms)} only {', '.join(there) or 'none'} has units that can be "
            "used: a test compares at least two",
        )


def known_dates(request: Request, reduced: Reduced, sums: Sums) -> list[date]:
    """When each of the days of arrival whose outcomes are known had them."""
    if request.measure is None or reduced.ends is None:
        return list(sums.days)
    wait = request.measure.matures(0.0)
    later = math.ceil(wait / DAY)
    dates = []
    for day in sums.days:
        over = datetime.combine(day + timedelta(days=1), datetime.min.time())
        if over + timedelta(seconds=wait) <= reduced.ends:
            dates.append(day + timedelta(days=later))
    return dates


def arm_answers(
    arms: Sequence[str], units: Sequence[int], statistics: Iterable[ArmStatistics]
) -> tuple[ArmAnswer, ...]:
    """The arms: all units, those that count, and the mean and the deviation of their outcomes."""
    answers = []
    for name, count, arm in zip(arms, units, statistics, strict=True):
        about = arm.squares - arm.units * arm.mean**2
        spread = math.sqrt(max(0.0, about) / (arm.units - 1)) if arm.units > 1 else None
        answers.append(ArmAnswer(name, count, arm.units, arm.mean if arm.units else None, spread))
    return tuple(answers)


def check_follow_up(sums: Sums) -> None:
    """Refuse outcomes of which a unit can have one at most: their rate is not constant."""
    if sums.zero_or_one:
        raise InputError(
            "follow_up",
            "follow_up: no unit has more than one event, so an event seems to end its follow-up: "
            "events per time at risk would need a constant risk, and that is not assumed here. "
            "Compare the share with an event within a window that every unit had, or use a "
            "survival analysis (log-rank test)",
        )


def shown_arms(arms: Sequence[str], sums: Sums, counted: Sums) -> tuple[ArmAnswer, ...]:
    """The arms with their means; a ratio is that of the sums, without adjustment."""
    answers = arm_answers(arms, sums.counts(), counted.statistics().arms)
    if counted.moments is None:
        return answers
    shown = []
    for answer, moments in zip(answers, counted.moments.sum(axis=0), strict=True):
        if not answer.counted:
            shown.append(answer)
            continue
        centre = Centre.of(moments)
        deviation = math.sqrt(max(centre.ratio_variance, 0.0))
        shown.append(replace(answer, mean=centre.ratio, deviation=deviation))
    return tuple(shown)


def folded_answers(design: Design, state: ExperimentState) -> tuple[ArmAnswer, ...]:
    """The arms of a test that was folded again, with what its open block has shown."""
    statistics = state.statistics
    assert isinstance(statistics, Statistics)
    parts = (arm + rest for arm, rest in zip(statistics.arms, state.open, strict=True))
    return arm_answers(design.arms, state.assigned, parts)


def unit_answers(design: Design, recurring: Recurring) -> tuple[ArmAnswer, ...]:
    """The arms of a test whose outcomes keep coming, with three averages of each."""
    answers = []
    for name, arm in zip(design.arms, recurring.statistics[-1].arms, strict=True):
        if not arm.units:
            answers.append(ArmAnswer(name, 0, 0, None, None))
            continue
        means = {
            "total_mean": total_mean(arm),
            "precision_mean": precision_mean(arm, *design.outcome.unit_spreads),
        }
        answers.append(ArmAnswer(name, arm.units, arm.units, mean_of_means(arm), None, **means))
    return tuple(answers)


def sum_of(parts: Iterable[float | None]) -> float | None:
    """The sum of what is known; None if nothing is."""
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def cost_of(arms: Sequence[ArmAnswer], goal: Goal) -> float | None:
    """What all units lost against giving each the arm that looks best now."""
    means = [arm.mean for arm in arms if arm.mean is not None]
    if len(means) < len(arms):
        return None
    best = max(means) if goal == "increase" else min(means)
    return sum(arm.units * abs(best - mean) for arm, mean in zip(arms, means, strict=True))


def saved_by(arms: Sequence[ArmAnswer], sums: Sums, course: Course, goal: Goal) -> float | None:
    """What the units that came after the decision lost against the winner."""
    decision = course.decision
    if decision is None or decision.arm is None or course.decided is None:
        return None
    best = arms[decision.arm].mean or 0.0
    later = np.array([day.isoformat() > course.decided for day in sums.days])
    units = sums.units[later].sum(axis=0)
    up = 1.0 if goal == "increase" else -1.0
    return float(
        sum(n * up * (best - (arm.mean or 0.0)) for n, arm in zip(units, arms, strict=True))
    )


def days_left(course: Course, counted: Sums, first: date) -> float | None:
    """How long a decision is expected to take from here, at the pace so far."""
    if course.decision is not None or course.times is None:
        return None
    days = (counted.days[-1] - first).days + 1 if counted.days else 0
    return (course.times - 1.0) * days


def design_of(
    request: Request, arms: tuple[str, ...], evidence: Evidence, counted: Sums, error: float
) -> Design:
    """The design that the log was read as: an even split of outcomes as stated, or as they look."""
    if request.design is not None:
        return request.design
    model = request.outcome or evidence.outcome
    if model is None and counted.zero_or_one and counted.pooled:
        model = Bernoulli()
    if model is None or math.isinf(model.sigma):
        units = max(float(counted.units.sum()), 2.0)
        about = float(counted.squares.sum()) - float(counted.totals.sum()) ** 2 / units
        model = Gaussian(math.sqrt(max(about / (units - 1.0), 0.0)) or 1.0)
    least = request.min_effect
    return Design(
        *(arms, model, Tilt(1)),
        error=error,
        min_effect=least,
        measure=request.measure,
        goal=request.goal,
        control=request.control,
    )


def excluded_of(reduced: Reduced) -> dict[str, int]:
    """How much of the log does not count, by reason."""
    table = reduced.table
    counts = reduced.excluded | table.excluded
    if table.early:
        counts["event before its unit came"] = table.early
    if table.without_value:
        counts["unit without any value"] = table.without_value
    if table.clipped:
        counts["outcome beyond the limits, counted as the nearest"] = table.clipped
    return counts


def contrasts_of(
    design: Design,
    effects: Sequence[Effect],
    arms: Sequence[ArmAnswer],
    moments: FloatArray | None,
    *,
    ratio: bool,
    positive: bool,
) -> tuple[Contrast, ...]:
    """Treatments minus the control, with relative lifts.

    With `moments` of the arms, the control's mean is adjusted to the covariate of both arms of a
    pair, as at one look.
    """
    place = design.arms.index(design.control_arm)
    control = arms[place]
    if ratio and control.deviation:
        # The design has the spread of the numerators, and means are ratios.
        design = replace(design, outcome=Gaussian(control.deviation))
    compared: list[Contrast] = []
    for effect in effects:
        if control.name not in (effect.first, effect.second):
            continue
        mean, shown, n = control.mean, None, control.counted
        if mean is not None and moments is not None:
            pair = [design.arms.index(name) for name in (effect.first, effect.second)]
            mean, _ = adjusted_mean(Centre.of(moments[place]), Centre.of(moments[pair].sum(axis=0)))
        if mean is not None and control.deviation is not None:
            # The deviation without adjustment also covers that the covariate's mean is estimated.
            shown = ArmStatistics(n, n * mean, control.deviation**2 * (n - 1) + n * mean**2)
        made = contrasts(design, [effect], shown, mean)
        # A mean of outcomes that are never below 0 falls by all of itself at most.
        compared += [_at_least(one, -1.0) for one in made] if positive else made
    return tuple(sorted(compared, key=lambda one: design.arms.index(one.treatment)))


def _at_least(contrast: Contrast, least: float) -> Contrast:
    """The contrast with a lift that does not fall below a limit."""
    lifts = {
        name: max(value, least)
        for name in ("lift", "lift_low", "lift_high")
        if (value := getattr(contrast, name)) is not None
    }
    return replace(contrast, **lifts)


def other_difference(
    arms: Sequence[ArmAnswer], effects: Sequence[Effect], covariate: str | None
) -> list[str]:
    """Say where a difference is another than that of the means that are shown, and why."""
    means = {arm.name: arm.mean for arm in arms}
    for effect in effects:
        first, second = means.get(effect.first), means.get(effect.second)
        reach = 0.5 * (effect.high - effect.low)
        if first is None or second is None or not math.isfinite(reach):
            continue
        plain = first - second
        if abs(plain - effect.difference) > 0.1 * reach or plain * effect.difference < 0.0:
            reason = (
                "the arms did not have the same shares all the time, and units are compared with "
                "those that came at the same time"
                if covariate is None
                else f"outcomes are adjusted by {covariate}, and units are compared with those "
                "that came at the same time"
            )
            return [
                f"the difference {effect.second} - {effect.first} is {-effect.difference:.4g}, and "
                f"that of the means {-plain:.4g}: {reason}"
            ]
    return []


def _skewed_arms(reduced: Reduced, sums: Sums, known: int, evidence: Evidence) -> list[str]:
    """Which arms have too few units for a spread that is estimated from skewed outcomes."""
    if evidence.guarantee != "asymptotic" or sums.cubes is None or reduced.recurring is not None:
        return []
    parts = (sums.units, sums.totals, sums.squares, sums.cubes)
    now = [part[:known].sum(axis=0) for part in parts]
    common = skewness(*(float(part.sum()) for part in now))
    waiting = []
    for name, *arm in zip(reduced.arms, *now, strict=True):
        needed = units_needed(skewness(*map(float, arm)), common)
        if 0.0 < arm[0] < needed < math.inf:
            waiting.append(
                f"arm {name} has {arm[0]:,.0f} units, and its outcomes are so skewed that an "
                f"estimated spread needs about {needed:,.0f}: no interval and no decision before"
            )
    return waiting


def notes_on(
    request: Request, reduced: Reduced, sums: Sums, known: int, evidence: Evidence
) -> list[str]:
    """What a reader should know about how the log was read."""
    assert reduced.reading is not None
    notes = [*reduced.reading.notes, *([evidence.note] if evidence.note else [])]
    waiting = int(sums.units[known:].sum())
    if waiting:
        notes.append(f"{waiting:,} units came too late for their outcomes to be final")
    empty = [a for a, n in zip(reduced.arms, sums.units.sum(axis=0), strict=True) if n == 0]
    if empty:
        notes.append(f"nobody was in {', '.join(empty)}")
    without = sum(count for _, count in reduced.valueless.values())
    if without and request.exclude:
        notes.append(
            "units without any value are excluded, so arms are compared by the others alone: that "
            "is fair only if the arm does not change who has a value"
        )
    elif without:
        units = "1 unit has" if without == 1 else f"{without:,} units have"
        notes.append(
            f"{units} rows without any value, and count as {request.missing:g}: that is right for "
            "amounts and counts of what happened; for measurements that were not taken, such as "
            'scores, give missing="exclude"'
        )
    if sums.bare:
        return notes
    notes += _skewed_arms(reduced, sums, known, evidence)
    spread = sums.squares.sum(axis=0) - sums.totals.sum(axis=0) ** 2 / np.maximum(
        sums.units.sum(axis=0), 1.0
    )
    if np.all(spread <= 1e-12 * np.maximum(sums.squares.sum(axis=0), 1e-300)):
        notes.append("all outcomes of an arm are the same: is this the right column?")
    design = request.design
    if design is not None and design.procedure.counts == "units" and design.procedure.even:
        notes.append(f"the log is compared day by day, not in the rounds of {design.rule.label}")
    return notes
