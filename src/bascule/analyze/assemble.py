"""From the table of sums to the answer: which evidence, what it says, and what is to be noted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from bascule.analyze import checks
from bascule.analyze.answer import Analysis, ArmAnswer, Check
from bascule.analyze.course import Course, Day, Judge, Terms, course_of
from bascule.analyze.pairs import (
    Pair,
    bounded_days,
    estimated_days,
    estimated_scores,
    normal_days,
    scored_days,
)
from bascule.analyze.request import Reduced, Request
from bascule.analyze.rows import DAY
from bascule.analyze.sums import Scores, Sums
from bascule.core.calibration import Guarantee
from bascule.core.decision import Decision
from bascule.core.design import Design
from bascule.core.effects import effects
from bascule.core.errors import InputError
from bascule.core.outcomes import Bernoulli, Bounded, Gaussian, Outcome
from bascule.core.progress import decision
from bascule.core.rules import UCB, Tilt

Weights = Sequence[float] | Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Which evidence suits a log: its name, its kind of proof, and the outcome model."""

    name: str
    guarantee: Guarantee
    outcome: Outcome | None
    note: str = ""


def assembled(asked: Request, reduced: Reduced, weights: Weights) -> Analysis:
    """The answer, for the whole log or for each of its segments."""
    if not reduced.table.segments:
        raise InputError("events", _nothing(reduced))
    names = sorted(reduced.table.segments)
    split = checks.checked_weights(reduced.arms, weights)
    if names == [""]:
        return _answer(asked, reduced, reduced.table.segments[""], split, asked.error)
    parts = []
    for name in names:
        one = replace(
            _answer(asked, reduced, reduced.table.segments[name], split, asked.error / len(names)),
            segment=name or "(none)",
        )
        parts.append(one)
    whole = _answer(asked, reduced, _added(reduced.table.segments.values()), split, asked.error)
    return replace(
        whole,
        segments=tuple(parts),
        decision=None,
        decided=None,
        saved=None,
        days_left=None,
        days=(),
        effects=(),
        notes=(*whole.notes, f"the error is split evenly between {len(names)} segments"),
    )


def _nothing(reduced: Reduced) -> str:
    if reduced.rows == 0:
        return "events: the log is empty"
    reasons = ", ".join(
        f"{n:,} {reason}" for reason, n in (reduced.aside | reduced.table.aside).items()
    )
    return f"events: no row of the log can be used ({reasons})"


def _answer(
    asked: Request, reduced: Reduced, sums: Sums, split: list[float] | None, error: float
) -> Analysis:
    arms = reduced.arms
    _check_arms(arms, sums)
    evidence = chosen_evidence(asked, reduced, sums)
    known, dates = _known(asked, reduced, sums)
    inside = _cut(sums, known)
    terms = Terms(arms, error, evidence.guarantee, asked.min_effect)
    if evidence.name == "intervals of the rule":
        assert asked.design is not None
        course = _by_rule(asked.design, terms, inside, dates)
    else:
        course = course_of(terms, inside, pairs_of(evidence, inside), dates)
    now = (
        course.days[-1].effects if course.days else terms.effects([(0.0, math.inf)] * _pairs(arms))
    )
    shown = course.days if asked.by_day else course.days[-1:]
    decided = course.decided if asked.by_day else (course.decided and shown[-1].date)
    found = replace(course, days=shown, decided=decided)
    if not asked.by_day and not reduced.final:
        found = _only_now(terms, found)
    total = float(sums.totals.sum())
    watched: list[Check] = [
        checks.sample_ratio(arms, [int(n) for n in sums.units.sum(axis=0)], split),
        checks.two_arms(reduced.table, int(sums.units.sum())),
        *checks.drift(sums, arms, known),
        *([checks.late_events(reduced.table, total)] if asked.measure is not None else []),
        checks.gaps(sums),
        checks.extremes(sums, arms, now),
    ]
    return Analysis(
        design=_design(asked, arms, evidence, inside, error),
        evidence=evidence.name,
        guarantee=evidence.guarantee,
        error=error,
        rows=reduced.rows,
        units=int(sums.units.sum()),
        first_day=sums.days[0].isoformat(),
        last_day=sums.days[-1].isoformat(),
        arms=_arms(arms, sums, inside),
        effects=now,
        decision=found.decision,
        decided=found.decided,
        days=found.days,
        cost=_cost(sums, inside),
        saved=_saved(sums, inside, found),
        days_left=_days_left(found, inside),
        checks=tuple(watched),
        set_aside=_aside(reduced),
        notes=tuple(_notes(asked, reduced, sums, known, evidence)),
    )


def _check_arms(arms: Sequence[str], sums: Sums) -> None:
    there = [arm for arm, units in zip(arms, sums.units.sum(axis=0), strict=True) if units]
    if len(there) < 2:
        raise InputError(
            "arm",
            f"arm: of {', '.join(arms)} only {', '.join(there) or 'none'} has units that can be "
            "used: a test compares at least two",
        )


def chosen_evidence(asked: Request, reduced: Reduced, sums: Sums) -> Evidence:
    """The strongest kind of evidence that the log and the outcome model allow."""
    model = asked.outcome
    if not reduced.final:
        return Evidence(
            "normal mixture, spread estimated, outcomes as they stood each day",
            "asymptotic",
            None,
            "outcomes have no window and may still grow: give window to have a proven answer"
            if asked.by_day
            else "outcomes have no window and may still grow",
        )
    if isinstance(model, Bernoulli) and not sums.zero_or_one:
        raise InputError(
            "outcome",
            'outcome: not every outcome is 0 or 1, as Bernoulli() needs: use aggregate "any", or '
            "Bounded(low, high)",
        )
    guessed = ""
    if model is None and sums.zero_or_one:
        model, guessed = Bernoulli(), "all outcomes are 0 or 1, and taken for Bernoulli ones"
    if sums.scores is not None:
        if isinstance(model, (Bernoulli, Bounded)):
            return Evidence("bets on scores", "proven", model, guessed)
        return Evidence("normal mixture on scores, spread estimated", "asymptotic", None)
    rule = None if asked.design is None else asked.design.rule
    if asked.design is not None and isinstance(rule, UCB):
        return Evidence("intervals of the rule", asked.design.calibration.guarantee, model)
    if isinstance(model, Gaussian):
        return Evidence("normal mixture", "proven", model)
    if model is not None:
        return Evidence("bets on daily sums", "proven", model, guessed)
    return Evidence(
        "normal mixture, spread estimated",
        "asymptotic",
        None,
        "neither limits nor spread of the outcomes were stated: give outcome=Bounded(low, high) "
        "or Gaussian(sigma) to have a proven answer",
    )


def pairs_of(evidence: Evidence, sums: Sums) -> Iterable[tuple[Pair, ...]]:
    """What the pairs of arms have shown, day after day."""
    model = evidence.outcome
    if model is None:
        return estimated_days(sums) if sums.scores is None else estimated_scores(sums)
    if sums.scores is not None:
        return scored_days(sums, model)
    return normal_days(sums, model) if isinstance(model, Gaussian) else bounded_days(sums, model)


def _by_rule(design: Design, terms: Terms, sums: Sums, dates: Sequence[date]) -> Course:
    """The course by a rule that holds however units were shared out: intervals of arms."""
    judge, days, decided = Judge(terms), [], None
    for at, known in enumerate(dates):
        seen = sums.statistics(at + 1)
        found = effects(design, seen)
        reached = judge.decision or decision(design, seen)
        judge.decision = reached
        if reached is not None and decided is None:
            decided = known.isoformat()
        days.append(
            Day(
                known.isoformat(),
                tuple(arm.units for arm in seen.arms),
                tuple(arm.mean if arm.units else None for arm in seen.arms),
                found,
                None if reached is None else reached.name,
            )
        )
    return Course(tuple(days), judge.decision, decided, None)


def _only_now(terms: Terms, course: Course) -> Course:
    """What the last look alone allows to decide, where there was no other."""
    judge = Judge(terms)
    reached: Decision | None = judge.see(course.days[-1].effects)
    day = replace(course.days[-1], decision=None if reached is None else reached.name)
    return replace(
        course, days=(day,), decision=reached, decided=None if reached is None else day.date
    )


def _known(asked: Request, reduced: Reduced, sums: Sums) -> tuple[int, list[date]]:
    """How many days of arrival have their outcomes, and when each of these had them."""
    if asked.measure is None or reduced.ends is None:
        return len(sums.days), list(sums.days)
    wait = float(asked.measure.window) + float(asked.measure.grace)
    later = math.ceil(wait / DAY)
    dates = []
    for day in sums.days:
        over = datetime.combine(day + timedelta(days=1), datetime.min.time())
        if over + timedelta(seconds=wait) <= reduced.ends:
            dates.append(day + timedelta(days=later))
    return len(dates), dates


def _cut(sums: Sums, days: int) -> Sums:
    """The first days alone."""
    if days == len(sums.days):
        return sums
    scores = sums.scores
    if scores is not None:
        scores = Scores(**{f: getattr(scores, f)[:days] for f in Scores.__dataclass_fields__})
    return replace(
        sums,
        days=sums.days[:days],
        units=sums.units[:days],
        totals=sums.totals[:days],
        squares=sums.squares[:days],
        lows=sums.lows[:days],
        highs=sums.highs[:days],
        scores=scores,
    )


def _added(parts: Iterable[Sums]) -> Sums:
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


def _pairs(arms: Sequence[str]) -> int:
    return len(arms) * (len(arms) - 1) // 2


def _arms(arms: Sequence[str], sums: Sums, inside: Sums) -> tuple[ArmAnswer, ...]:
    found = []
    for i, name in enumerate(arms):
        arm = inside.arm(i)
        about = arm.squares - arm.units * arm.mean**2
        spread = math.sqrt(max(0.0, about) / (arm.units - 1)) if arm.units > 1 else None
        mean = arm.mean if arm.units else None
        found.append(ArmAnswer(name, int(sums.units[:, i].sum()), arm.units, mean, spread))
    return tuple(found)


def _means(inside: Sums) -> np.ndarray | None:
    units = inside.units.sum(axis=0)
    if len(units) == 0 or units.min() == 0:
        return None
    means: np.ndarray = inside.totals.sum(axis=0) / units
    return means


def _cost(sums: Sums, inside: Sums) -> float | None:
    means = _means(inside)
    if means is None:
        return None
    return float(sums.units.sum(axis=0) @ (means.max() - means))


def _saved(sums: Sums, inside: Sums, course: Course) -> float | None:
    """What the units that came after the decision lost against the winner."""
    means, reached = _means(inside), course.decision
    if means is None or reached is None or reached.arm is None or course.decided is None:
        return None
    later = np.array([day.isoformat() > course.decided for day in sums.days])
    return float(sums.units[later].sum(axis=0) @ (means[reached.arm] - means))


def _days_left(course: Course, inside: Sums) -> float | None:
    if course.decision is not None or course.times is None:
        return None
    return (course.times - 1.0) * len(inside.days)


def _design(
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


def _aside(reduced: Reduced) -> dict[str, int]:
    table = reduced.table
    counts = reduced.aside | table.aside
    if table.early:
        counts["event before its unit came"] = table.early
    if table.clipped:
        counts["outcome beyond the limits, counted as the nearest"] = table.clipped
    return counts


def _notes(
    asked: Request, reduced: Reduced, sums: Sums, known: int, evidence: Evidence
) -> list[str]:
    notes = [evidence.note] if evidence.note else []
    waiting = int(sums.units[known:].sum())
    if waiting:
        notes.append(f"{waiting:,} units came too late for their outcomes to be final")
    missing = [a for a, n in zip(reduced.arms, sums.units.sum(axis=0), strict=True) if n == 0]
    if missing:
        notes.append(f"nobody was in {', '.join(missing)}")
    spread = sums.squares.sum(axis=0) - sums.totals.sum(axis=0) ** 2 / np.maximum(
        sums.units.sum(axis=0), 1.0
    )
    if np.all(spread <= 1e-12 * np.maximum(sums.squares.sum(axis=0), 1e-300)):
        notes.append("all outcomes of an arm are the same: is this the right column?")
    rule = None if asked.design is None else asked.design.rule
    if rule is not None and not isinstance(rule, (UCB, Tilt)):
        notes.append(f"the log is compared day by day, not in the rounds of {rule.label}")
    return notes
