"""From the table of sums to the answer: which evidence, what it says, and what is to be noted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bascule.analysis import checks, facts
from bascule.analysis.evidence import kinds
from bascule.analysis.evidence.choose import chosen_evidence, course_by, evidence_for_units
from bascule.analysis.evidence.course import Course, Terms
from bascule.analysis.evidence.kinds import Evidence
from bascule.analysis.evidence.recurring import course_of_population, course_of_units
from bascule.analysis.evidence.replay import Replayed
from bascule.analysis.reduce.sums import Sums, added
from bascule.analysis.request import Reduced, Request
from bascule.analysis.result import Analysis, ArmAnswer, Check
from bascule.core.design import Design
from bascule.core.errors import InputError

Weights = Sequence[float] | Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class Part:
    """One segment, or the whole log, answered: by which evidence, and what the arms have shown.

    `counted` has the units whose outcomes count, those of the first `known` days.
    """

    evidence: Evidence
    design: Design
    course: Course
    arms: tuple[ArmAnswer, ...]
    counted: Sums
    known: int
    days_left: float | None


def assembled(request: Request, reduced: Reduced, weights: Weights) -> Analysis:
    """The answer, for the whole log or for each of its segments."""
    if not reduced.table.segments:
        raise InputError("events", facts.nothing(reduced))
    names = sorted(reduced.table.segments)
    split = checks.checked_weights(reduced.arms, weights)
    if names == [""]:
        return _answer(request, reduced, "", split, request.error)
    parts = []
    for name in names:
        part = _answer(request, reduced, name, split, request.error / len(names))
        parts.append(replace(part, segment=name or "(none)", excluded={}))
    sums = added(reduced.table.segments.values())
    return replace(
        parts[0],
        error=request.error,
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
            checks.sample_ratio(reduced.arms, sums.counts(), split),
            checks.two_arms(reduced.table, int(sums.units.sum())),
            *checks.missing_outcomes(reduced.arms, reduced.valueless, len(sums.days)),
            *checks.outcome_values(request.strict_outcome, reduced.unfit),
            checks.gaps(sums),
        ),
        excluded=facts.excluded_of(reduced),
        notes=(f"the error is split evenly between {len(names)} segments",),
        segment=None,
        segments=tuple(parts),
    )


def _answer(
    request: Request, reduced: Reduced, name: str, split: list[float] | None, error: float
) -> Analysis:
    arms, sums = reduced.arms, reduced.table.segments[name]
    facts.check_arms(arms, sums)
    if reduced.replayed is not None:
        part = _repeated(request, reduced.replayed)
    elif reduced.recurring is not None:
        part = _recurring(request, reduced, name, error)
    else:
        part = _once(request, reduced, sums, error)
    course, evidence = part.course, part.evidence
    unknown = [(0.0, math.inf)] * math.comb(len(arms), 2)
    now = course.days[-1].effects if course.days else None
    effects = now or Terms(arms, error, evidence.guarantee).effects(unknown)
    # Outcomes that grow can be compared between days at the same age only.
    same_age = reduced.final or sums.growth is not None
    made: list[Check] = [] if reduced.replayed is not None else [_ratio(arms, sums, split)]
    made.append(checks.two_arms(reduced.table, int(sums.units.sum())))
    if not name:
        made += checks.missing_outcomes(arms, reduced.valueless, len(sums.days))
        made += checks.outcome_values(request.strict_outcome, reduced.unfit)
    if same_age and not sums.bare:
        made += checks.drift(sums, arms, part.known)
    if request.measure is not None:
        made.append(checks.late_events(reduced.table, float(sums.totals.sum())))
    made.append(checks.gaps(sums))
    if reduced.recurring is None:
        made.append(checks.extremes(part.counted, arms, effects))
    return Analysis(
        design=part.design,
        evidence=evidence,
        error=error,
        rows=reduced.rows,
        units=int(sums.units.sum()),
        first_day=sums.days[0].isoformat(),
        last_day=sums.days[-1].isoformat(),
        arms=part.arms,
        effects=effects,
        decision=course.decision,
        decided=course.decided,
        days=course.days,
        cost=facts.cost_of(part.arms, request.goal),
        saved=facts.saved_by(part.arms, sums, course, request.goal),
        days_left=part.days_left,
        checks=tuple(made),
        excluded=facts.excluded_of(reduced),
        notes=tuple(facts.notes_on(request, reduced, sums, part.known, evidence)),
    )


def _ratio(arms: tuple[str, ...], sums: Sums, split: list[float] | None) -> Check:
    """Units per arm against the logged probabilities, or against the weights that were stated."""
    if sums.scores is not None and split is None:
        return checks.logged_ratio(arms, sums.scores)
    return checks.sample_ratio(arms, sums.counts(), split)


def _once(request: Request, reduced: Reduced, sums: Sums, error: float) -> Part:
    """Outcomes that come once a unit, or grow."""
    evidence = chosen_evidence(request, reduced, sums)
    dates = facts.known_dates(request, reduced, sums)
    counted = sums.first(len(dates))
    course = course_by(evidence, request, reduced, counted, dates, error)
    design = facts.design_of(request, reduced.arms, evidence, counted, error)
    arms = facts.arm_answers(reduced.arms, sums.counts(), counted.statistics().arms)
    left = facts.days_left(course, counted)
    return Part(evidence, design, course, arms, counted, len(dates), left)


def _repeated(request: Request, replayed: Replayed) -> Part:
    """A test that bascule ran: what it decided itself."""
    design, sums = request.design, replayed.sums
    assert design is not None
    return Part(
        kinds.repeated_test(design),
        design,
        replayed.course,
        facts.folded_answers(design, replayed.standing),
        sums,
        len(sums.days),
        replayed.days_left,
    )


def _recurring(request: Request, reduced: Reduced, name: str, error: float) -> Part:
    """Outcomes that keep coming."""
    assert reduced.recurring is not None
    recurring, sums = reduced.recurring[name], reduced.table.segments[name]
    evidence, design = evidence_for_units(request, reduced.arms, recurring, error)
    terms = Terms(reduced.arms, error, evidence.guarantee, request.min_effect)
    if request.static:
        course = course_of_population(design, terms, sums)
    else:
        course = course_of_units(design, terms, recurring)
    arms, left = facts.unit_answers(design, recurring), facts.days_left(course, sums)
    return Part(evidence, design, course, arms, sums, len(sums.days), left)
