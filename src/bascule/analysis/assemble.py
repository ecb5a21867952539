"""From the table of sums to the answer: which evidence, what it says, and what is to be noted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bascule.analysis import checks, facts
from bascule.analysis.evidence.choose import (
    BY_RULE,
    Evidence,
    chosen_evidence,
    course_by_rule,
    course_of_one_look,
    evidence_for_units,
    pairs_of,
)
from bascule.analysis.evidence.course import Course, Terms, course_of
from bascule.analysis.evidence.recurring import course_of_population, course_of_units
from bascule.analysis.evidence.replay import Replayed
from bascule.analysis.reduce.sums import Sums
from bascule.analysis.request import Reduced, Request
from bascule.analysis.result import Analysis, ArmAnswer, Check
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.rules import Static

Weights = Sequence[float] | Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class Part:
    """One segment, or the whole log, answered: by which evidence, and what was seen of the arms."""

    evidence: Evidence
    design: Design
    course: Course
    arms: tuple[ArmAnswer, ...]
    inside: Sums
    known: int
    left: float | None


def assembled(asked: Request, reduced: Reduced, weights: Weights) -> Analysis:
    """The answer, for the whole log or for each of its segments."""
    if not reduced.table.segments:
        raise InputError("events", facts.nothing(reduced))
    names = sorted(reduced.table.segments)
    split = checks.checked_weights(reduced.arms, weights)
    if names == [""]:
        return _answer(asked, reduced, "", split, asked.error)
    parts = []
    for name in names:
        one = _answer(asked, reduced, name, split, asked.error / len(names))
        parts.append(replace(one, segment=name or "(none)", excluded={}))
    sums = facts.added(reduced.table.segments.values())
    first = parts[0]
    return replace(
        first,
        error=asked.error,
        units=int(sums.units.sum()),
        first_day=sums.days[0].isoformat(),
        last_day=sums.days[-1].isoformat(),
        arms=(),
        effects=(),
        decision=None,
        decided=None,
        days=(),
        cost=facts.sum_of(part.cost for part in parts),
        saved=facts.sum_of(part.saved for part in parts),
        days_left=None,
        checks=(
            checks.sample_ratio(reduced.arms, facts.counts(sums), split),
            checks.two_arms(reduced.table, int(sums.units.sum())),
            *checks.missing_outcomes(reduced.arms, reduced.valueless),
            checks.gaps(sums),
        ),
        excluded=facts.excluded_of(reduced),
        notes=(f"the error is split evenly between {len(names)} segments",),
        segment=None,
        segments=tuple(parts),
    )


def _answer(
    asked: Request, reduced: Reduced, name: str, split: list[float] | None, error: float
) -> Analysis:
    sums = reduced.table.segments[name]
    facts.check_arms(reduced.arms, sums)
    if reduced.replayed is not None:
        part = _live(asked, reduced.replayed)
    elif reduced.recurring is not None:
        part = _again(asked, reduced, name, error)
    else:
        part = _once(asked, reduced, sums, error)
    course = part.course
    none = Terms(reduced.arms, error, part.evidence.guarantee).effects(
        [(0.0, math.inf)] * (len(reduced.arms) * (len(reduced.arms) - 1) // 2)
    )
    now = course.days[-1].effects if course.days else none
    # Outcomes that grow can be compared between days at the same age only.
    same_age = reduced.final or sums.growth is not None
    watched: list[Check] = [
        *([] if reduced.replayed is not None else [_ratio(reduced.arms, sums, split)]),
        checks.two_arms(reduced.table, int(sums.units.sum())),
        *([] if name else checks.missing_outcomes(reduced.arms, reduced.valueless)),
        *([] if sums.bare or not same_age else checks.drift(sums, reduced.arms, part.known)),
    ]
    if asked.measure is not None:
        watched.append(checks.late_events(reduced.table, float(sums.totals.sum())))
    watched.append(checks.gaps(sums))
    if reduced.recurring is None:
        watched.append(checks.extremes(part.inside, reduced.arms, now))
    return Analysis(
        design=part.design,
        evidence=part.evidence.name,
        guarantee=part.evidence.guarantee,
        error=error,
        rows=reduced.rows,
        units=int(sums.units.sum()),
        first_day=sums.days[0].isoformat(),
        last_day=sums.days[-1].isoformat(),
        arms=part.arms,
        effects=now,
        decision=course.decision,
        decided=course.decided,
        days=course.days,
        cost=facts.cost_of(part.arms),
        saved=facts.saved_by(part.arms, sums, course),
        days_left=part.left,
        checks=tuple(watched),
        excluded=facts.excluded_of(reduced),
        notes=tuple(facts.notes_on(asked, reduced, sums, part.known, part.evidence)),
    )


def _ratio(arms: tuple[str, ...], sums: Sums, split: list[float] | None) -> Check:
    """Units per arm against the logged probabilities, or against the weights that were stated."""
    if sums.scores is not None and split is None:
        return checks.logged_ratio(arms, sums.scores)
    return checks.sample_ratio(arms, facts.counts(sums), split)


def _once(asked: Request, reduced: Reduced, sums: Sums, error: float) -> Part:
    """Outcomes that come once a unit, or grow."""
    evidence = chosen_evidence(asked, reduced, sums)
    known, dates = facts.known_days(asked, reduced, sums)
    inside = facts.first_days(sums, known)
    terms = Terms(
        reduced.arms,
        error,
        evidence.guarantee,
        asked.min_effect,
        facts.widest(asked.outcome or evidence.outcome),
    )
    if evidence.name == BY_RULE:
        assert asked.design is not None
        course = course_by_rule(asked.design, inside, dates)
    elif not (reduced.final or asked.by_day):
        course = course_of_one_look(terms, inside)
    else:
        course = course_of(terms, inside, pairs_of(evidence, inside), dates)
    design = facts.design_of(asked, reduced.arms, evidence, inside, error)
    arms = facts.arm_answers(reduced.arms, sums, inside)
    return Part(evidence, design, course, arms, inside, known, facts.days_left(course, inside))


def _live(asked: Request, again: Replayed) -> Part:
    """A test that bascule ran: what it decided itself."""
    design = asked.design
    assert design is not None
    evidence = Evidence(
        f"the test itself, folded again by {design.rule.label}",
        design.calibration.guarantee,
        design.outcome,
    )
    arms = facts.folded_answers(design, again.standing)
    return Part(
        evidence, design, again.course, arms, again.sums, len(again.sums.days), again.days_left
    )


def _again(asked: Request, reduced: Reduced, name: str, error: float) -> Part:
    """Outcomes that keep coming."""
    assert reduced.recurring is not None
    seen, sums = reduced.recurring[name], reduced.table.segments[name]
    evidence, design = evidence_for_units(asked, reduced.arms, seen, error)
    terms = Terms(reduced.arms, error, evidence.guarantee, asked.min_effect)
    if isinstance(design.rule, Static):
        course = course_of_population(design, terms, sums)
    else:
        course = course_of_units(design, terms, seen)
    arms = facts.unit_answers(design, seen)
    left = facts.days_left(course, sums)
    return Part(evidence, design, course, arms, sums, len(sums.days), left)
