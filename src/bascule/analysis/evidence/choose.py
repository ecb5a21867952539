"""Which evidence suits a log, and the course of the test by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations

from bascule.analysis.evidence.course import Course, Day, Judge, Terms, times_needed
from bascule.analysis.evidence.pairs import (
    Pair,
    bounded_days,
    estimated_days,
    estimated_pair,
    estimated_scores,
    normal_days,
    scored_days,
)
from bascule.analysis.evidence.recurring import Recurring, spreads
from bascule.analysis.reduce.sums import Sums
from bascule.analysis.request import Reduced, Request
from bascule.core.calibration import Guarantee
from bascule.core.design import Design
from bascule.core.effects import effects
from bascule.core.errors import InputError
from bascule.core.outcomes import Bernoulli, Bounded, Gaussian, Outcome
from bascule.core.procedures.base import Decision
from bascule.core.progress import decision
from bascule.core.rules import UCB, Static

BY_RULE = "intervals of the rule"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Which evidence suits a log: its name, its kind of proof, and the outcome model."""

    name: str
    guarantee: Guarantee
    outcome: Outcome | None
    note: str = ""


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
    sums_up = asked.measure is not None and asked.aggregate in ("sum", "mean")
    if model is None and sums.zero_or_one and not sums_up:
        model, guessed = Bernoulli(), "all outcomes are 0 or 1, and taken for Bernoulli ones"
    if sums.scores is not None:
        name = "normal mixture on scores, spread estimated"
        if not sums.scores.bounded:
            return Evidence(
                name,
                "asymptotic",
                None,
                "the log has the probability of each unit's own arm only: give a column for each "
                "arm, or least_probability, to have a proven answer",
            )
        if isinstance(model, (Bernoulli, Bounded)):
            return Evidence("bets on scores", "proven", model, guessed)
        return Evidence(name, "asymptotic", None)
    rule = None if asked.design is None else asked.design.rule
    if asked.design is not None and isinstance(rule, UCB):
        return Evidence(BY_RULE, asked.design.calibration.guarantee, model)
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


def course_by_rule(design: Design, sums: Sums, dates: Sequence[date]) -> Course:
    """The course by a rule that holds however units were shared out: intervals of arms."""
    days: list[Day] = []
    reached: Decision | None = None
    decided = None
    for at, known in enumerate(dates):
        seen = sums.statistics(at + 1)
        found = effects(design, seen)
        reached = reached or decision(design, seen)
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
    return Course(tuple(days), reached, decided, None)


def course_of_one_look(terms: Terms, sums: Sums) -> Course:
    """Outcomes as they stand at the end of the log, looked at once."""
    arms = range(len(terms.arms))
    pairs = [
        estimated_pair(sums.units, sums.totals, sums.squares, sums.cubes, i, j)
        for i, j in combinations(arms, 2)
    ]
    found = terms.effects_of(pairs)
    judge, date = Judge(terms), sums.days[-1].isoformat()
    reached = judge.see(found)
    units, totals = sums.units.sum(axis=0), sums.totals.sum(axis=0)
    day = Day(
        date,
        tuple(int(n) for n in units),
        tuple(float(t / n) if n else None for t, n in zip(totals, units, strict=True)),
        found,
        None if reached is None else reached.name,
    )
    times = None if reached is not None else times_needed(terms, pairs, judge.beaten)
    return Course((day,), reached, None if reached is None else date, times)


def evidence_for_units(
    asked: Request, arms: tuple[str, ...], seen: Recurring, error: float
) -> tuple[Evidence, Design]:
    """The evidence where outcomes keep coming, and the design that it belongs to."""
    if asked.design is not None and isinstance(asked.design.rule, Static):
        kind = asked.design.calibration.guarantee
        return Evidence(f"static population, {asked.design.rule.stop}", kind, None), asked.design
    guarantee: Guarantee = "gaussian"
    note, outcome = "", asked.outcome
    if outcome is None:
        outcome, guarantee = spreads(seen), "asymptotic"
        note = (
            f"spreads estimated: {outcome.sigma_unit:.4g} between units and "
            f"{outcome.sigma_noise:.4g} within"
        )
    rule: UCB = UCB(2, radius="mixture", stop="mixture")
    given = None if asked.design is None else asked.design.rule
    if isinstance(given, UCB) and given.radius == "mixture":
        rule = given
    elif given is not None:
        note = (
            f"compared by the mixture on clocks, which holds however units came, not by "
            f"{given.label}"
        )
    design = Design(arms, outcome, rule, error=error, min_effect=asked.min_effect)
    return Evidence("mixture on clocks of units", guarantee, outcome, note), design
