"""From the table of sums to the answer: which evidence, what it says, and what is to be noted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bascule.analysis import allocation, checks, facts
from bascule.analysis.evidence import kinds
from bascule.analysis.evidence.adjusted import adjusted, adjusted_look
from bascule.analysis.evidence.choose import chosen_evidence, course_by, evidence_for_units
from bascule.analysis.evidence.course import Course, Day, Judge, Terms, course_of_looks
from bascule.analysis.evidence.fixed import OneLook, means_of, one_look
from bascule.analysis.evidence.kinds import Evidence
from bascule.analysis.evidence.recurring import course_of_population, course_of_units
from bascule.analysis.evidence.replay import Replayed
from bascule.analysis.reduce.sums import Block, Sums, added, merged
from bascule.analysis.request import Reduced, Request
from bascule.analysis.result import Analysis, ArmAnswer, Check
from bascule.core.design import Design
from bascule.core.errors import InputError

Weights = Sequence[float] | Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class Part:
    """One segment, or the whole log, answered: by which evidence, and what the arms have shown.

    `blocks` has all units; the outcomes of the first `known` blocks count.
    """

    evidence: Evidence
    design: Design
    course: Course
    arms: tuple[ArmAnswer, ...]
    blocks: Sums
    known: int
    days_left: float | None
    once: tuple[OneLook, ...] = ()

    @property
    def counted(self) -> Sums:
        """The blocks whose outcomes count."""
        return self.blocks.first(self.known)


def assembled(request: Request, reduced: Reduced, weights: Weights) -> Analysis:
    """The answer, for the whole log or for each of its segments."""
    if not reduced.table.segments:
        raise InputError("events", facts.nothing(reduced))
    names = sorted(reduced.table.segments)
    split = allocation.checked_weights(reduced.arms, weights)
    if names == [""]:
        return answer(request, reduced, "", split, request.error)
    parts = []
    errors = {name: request.error / len(names) for name in names}
    note = f"the error is split evenly between {len(names)} segments, those in the log"
    designs = {} if request.whole is None else request.whole.by_segment
    if designs:
        errors = {name: one.calibration.error for name, one in designs.items()}
        note = f"the error is split between the {len(designs)} segments of the design"
    for name in names:
        its = replace(request, design=designs[name], error=errors[name]) if designs else request
        part = answer(its, reduced, name, split, errors[name])
        parts.append(replace(part, segment=name or "(none)", excluded={}))
    sums = added(reduced.table.segments.values())
    return over_segments(
        parts,
        error=sum(errors.values()),
        units=int(sums.units.sum()),
        first_day=sums.days[0].isoformat(),
        last_day=sums.days[-1].isoformat(),
        checks=(
            allocation.sample_ratio(reduced.arms, sums.counts(), split, one_look=request.once),
            *checks.rows_read(reduced),
            checks.two_arms(reduced, int(sums.units.sum())),
            *checks.missing_outcomes(reduced.arms, reduced.valueless, len(sums.days)),
            *checks.outcome_values(request.strict_outcome, reduced.unfit),
            checks.gaps(sums, parts[0].reading.times),
        ),
        excluded=facts.excluded_of(reduced),
        notes=(note,),
    )


def over_segments(parts: Sequence[Analysis], **whole: Any) -> Analysis:
    """The whole of some segments, each with its own answer; `whole` is what is said of all."""
    return parts[0].undecided(
        arms=(),
        effects=(),
        contrasts=(),
        cost=facts.sum_of(part.cost for part in parts),
        saved=facts.sum_of(part.saved for part in parts),
        segment=None,
        segments=tuple(parts),
        metrics=(),
        **whole,
    )


def with_metrics(analyses: Sequence[Analysis]) -> Analysis:
    """The analysis of the first metric, with those of the others beside it."""
    note = (
        f"{len(analyses)} metrics were analysed, each with the whole error: nothing is corrected "
        "for their number, and the first one decides"
    )
    values = {one.reading.value for one in analyses}
    analyses = [replace(one, reading=one.reading.without(values)) for one in analyses]
    first = analyses[0]
    return replace(first, metrics=tuple(analyses[1:]), notes=(*first.notes, note))


def answer(
    request: Request, reduced: Reduced, name: str, split: list[float] | None, error: float
) -> Analysis:
    """The answer for one segment, or for a log without any."""
    arms, sums = reduced.arms, reduced.table.segments[name]
    assert reduced.reading is not None
    if reduced.reading.follow_up:
        facts.check_follow_up(sums)
    facts.check_arms(arms, sums)
    if reduced.replayed is not None:
        part = _repeated(request, reduced.replayed)
    elif reduced.recurring is not None:
        part = _recurring(request, reduced, name, error)
    else:
        part = _once(request, reduced, sums, error)
    times, moments = reduced.reading.times, part.counted.moments
    course, evidence = part.course, part.evidence.within(reduced.reading.block, times)
    unknown = [(0.0, math.inf)] * math.comb(len(arms), 2)
    now = course.days[-1].effects if course.days else None
    effects = now or Terms(arms, error, evidence.guarantee).effects(unknown)
    # Outcomes that grow can be compared between days at the same age only.
    same_age = reduced.final or sums.growth is not None
    made: list[Check] = [] if reduced.replayed is not None else [_ratio(request, arms, sums, split)]
    made.append(checks.two_arms(reduced, int(sums.units.sum())))
    if not name:
        made += checks.rows_read(reduced)
        made += checks.missing_outcomes(arms, reduced.valueless, len(sums.days))
        made += checks.outcome_values(request.strict_outcome, reduced.unfit)
    if same_age and not sums.bare and not sums.pooled:
        made += checks.drift(part.blocks, arms, part.known)
    if request.measure is not None:
        made.append(checks.late_events(reduced.table))
    if reduced.reading.covariate is not None and sums.moments is not None:
        made.append(checks.covariate_balance(arms, sums, reduced.reading.covariate))
    if reduced.reading.follow_up and sums.moments is not None:
        made.append(checks.follow_up(arms, sums.moments.sum(axis=0)))
    made.append(checks.gaps(sums if block_of(request, reduced) == "day" else part.blocks, times))
    within = reduced.recurring is None and reduced.replayed is None and not sums.pooled
    if within and sums.scores is None:
        made += checks.sparse_days(sums, part.blocks, arms, block_of(request, reduced))
    if reduced.recurring is None and reduced.reading.count is not None:
        made += checks.of_single_outcomes(sums)
    elif reduced.recurring is None and reduced.replayed is None:
        made.append(checks.extremes(sums, arms, () if sums.moments is not None else effects))
    return Analysis(
        design=part.design,
        evidence=evidence,
        error=error,
        rows=reduced.rows,
        units=int(sums.units.sum()),
        first_day=None if times == "none" else sums.days[0].isoformat(),
        last_day=None if times == "none" else sums.days[-1].isoformat(),
        arms=part.arms,
        effects=effects,
        decision=course.decision,
        decided=None if times == "none" else course.decided,
        days=course.days,
        cost=None if reduced.reading.per else facts.cost_of(part.arms, request.goal),
        saved=None
        if reduced.reading.per or times == "none" or evidence.once
        else facts.saved_by(part.arms, sums, course, request.goal),
        days_left=None if times == "none" else part.days_left,
        checks=tuple(made),
        excluded=facts.excluded_of(reduced),
        reading=reduced.reading,
        contrasts=()
        if evidence.once or request.brief
        else facts.contrasts_of(
            part.design,
            effects,
            part.arms,
            None if moments is None else moments.sum(axis=0),
            ratio=reduced.reading.per is not None,
            positive=bool(np.nanmin(sums.lows, initial=0.0) >= 0.0) and not sums.bare,
        ),
        once=part.once,
        examples=reduced.examples,
        notes=(
            *facts.notes_on(request, reduced, part.blocks, part.known, evidence),
            *facts.other_difference(part.arms, effects, reduced.reading.covariate),
        ),
    )


def _ratio(request: Request, arms: tuple[str, ...], sums: Sums, split: list[float] | None) -> Check:
    """Units per arm against the logged probabilities, or against the weights that were stated."""
    if sums.scores is not None and split is None:
        return allocation.logged_ratio(arms, sums.scores)
    return allocation.sample_ratio(arms, sums.counts(), split, one_look=request.once)


def _once(request: Request, reduced: Reduced, sums: Sums, error: float) -> Part:
    """Outcomes that come once a unit, or grow."""
    evidence = chosen_evidence(request, reduced, sums)
    if request.once:
        return _at_one_look(request, reduced, sums, evidence, error)
    blocks = merged(sums, block_of(request, reduced))
    dates = facts.known_dates(request, reduced, blocks)
    counted = blocks.first(len(dates))
    course = course_by(evidence, request, reduced, counted, dates, error)
    design = facts.design_of(request, reduced.arms, evidence, counted, error)
    if counted.moments is not None:
        counted, blocks = adjusted(counted), adjusted(blocks)
    arms = facts.shown_arms(reduced.arms, sums, counted)
    left = facts.days_left(course, counted, sums.days[0])
    once = _one_look(request, reduced.arms, counted, evidence, error)
    return Part(evidence, design, course, arms, blocks, len(dates), left, once)


def _one_look(
    request: Request, arms: tuple[str, ...], counted: Sums, evidence: Evidence, error: float
) -> tuple[OneLook, ...]:
    """What a test with a fixed sample says; nothing where units were assigned adaptively."""
    design = request.design
    adaptive = design is not None and not design.procedure.even
    if (
        (request.brief and not request.once)
        or adaptive
        or counted.scores is not None
        or counted.bare
        or not len(counted.days)
    ):
        return ()
    if counted.moments is not None:
        return adjusted_look(arms, counted, error / (len(arms) - 1))
    sums = (part.sum(axis=0) for part in (counted.units, counted.totals, counted.squares))
    model = evidence.outcome
    binary = (model is not None and model.binary) or counted.zero_or_one
    return one_look(arms, means_of(*sums), error / (len(arms) - 1), binary=binary)


def _at_one_look(
    request: Request, reduced: Reduced, sums: Sums, evidence: Evidence, error: float
) -> Part:
    """The answer by a test with a fixed sample alone."""
    known = len(facts.known_dates(request, reduced, sums))
    counted = sums.first(known)
    once = _one_look(request, reduced.arms, counted, evidence, error)
    if len(once) < math.comb(len(reduced.arms), 2):
        raise InputError(
            "looks",
            "looks=1 needs at least two counted units in every arm, and arms that were split "
            "without regard to outcomes: leave looks out",
        )
    fixed = kinds.fixed_sample(once[0].test, evidence.outcome)
    terms = Terms(reduced.arms, error, fixed.guarantee, request.min_effect, goal=request.goal)
    ends = ((-one.difference, -one.high, -one.low) for one in once)
    effects = terms.effects_with(ends)
    if counted.moments is not None:
        counted = sums = adjusted(counted)
    day = Day(counted.days[-1].isoformat(), *sums.at_end_of(known - 1), effects)
    course = course_of_looks([(day, Judge(terms).see(effects))])
    arms = facts.shown_arms(reduced.arms, sums, counted)
    design = facts.design_of(request, reduced.arms, fixed, counted, error)
    return Part(fixed, design, course, arms, sums, known, None, once)


def block_of(request: Request, reduced: Reduced) -> Block:
    """What units are compared within: as stated, or days; weeks if times are no finer."""
    if request.block is not None:
        return request.block
    return "week" if reduced.reading is not None and reduced.reading.block == "week" else "day"


def _repeated(request: Request, replayed: Replayed) -> Part:
    """A test that bascule ran: what it decided itself."""
    design, sums = request.design, replayed.sums
    assert design is not None
    return Part(
        kinds.repeated_test(design),
        design,
        replayed.course,
        facts.folded_answers(design, replayed.state),
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
    arms, left = facts.unit_answers(design, recurring), facts.days_left(course, sums, sums.days[0])
    return Part(evidence, design, course, arms, sums, len(sums.days), left)
