"""The result of a whole log or one segment: its evidence, and the results of its arms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from bascule.analysis.evidence import kinds
from bascule.analysis.evidence.course import DailyCourse, Day, DecisionTerms, Judge, course_of_looks
from bascule.analysis.evidence.fixed import Mean, OneLook, adjusted_look, one_look
from bascule.analysis.evidence.kinds import Evidence, chosen_evidence, course_by
from bascule.analysis.evidence.pairs import adjusted
from bascule.analysis.evidence.several import from_p_value
from bascule.analysis.reduce.moments import Centre
from bascule.analysis.reduce.sums import Sums
from bascule.analysis.request import Reduced, Request
from bascule.analysis.result import ArmAnswer
from bascule.core.calendar import DAY
from bascule.core.design import Design
from bascule.core.design_parts import ONE_SIDED
from bascule.core.errors import invalid
from bascule.core.evidence.calibration import NO_GUARANTEE
from bascule.core.outcomes import Gaussian
from bascule.core.rules import Tilt
from bascule.core.statistics import ArmStatistics


@dataclass(frozen=True, slots=True)
class Part:
    """The result of a whole log or one segment: evidence, course and arms.

    `blocks` has all units; only the outcomes of the first `known` blocks count.
    """

    evidence: Evidence
    design: Design
    course: DailyCourse
    arms: tuple[ArmAnswer, ...]
    blocks: Sums
    known: int
    days_left: float | None
    once: tuple[OneLook, ...] = ()

    def without_answer(self) -> Part:
        """Return the part without any decision or guarantee, with its arms only."""
        evidence = replace(self.evidence, guarantee=NO_GUARANTEE)
        return replace(self, evidence=evidence, course=DailyCourse(()), days_left=None, once=())

    @property
    def counted(self) -> Sums:
        """The blocks whose outcomes count."""
        return self.blocks.first(self.known)


def part_of(request: Request, reduced: Reduced, name: str, error: float) -> Part:
    """Return the result of a segment, with the strongest evidence that its outcomes allow."""
    sums = reduced.table.segments[name]
    evidence = chosen_evidence(request, reduced, sums)
    blocks = reduced.table.parts.get(name) or sums.merged(reduced.reading.block)
    if request.once:
        blocks = sums
    dates = _known_dates(request, reduced, blocks)
    counted = blocks.first(len(dates))
    arms = _shown_arms(reduced.arms, sums, counted)
    once = _one_look(request, arms, counted, evidence, error)
    if request.once:
        evidence, course = _at_one_look(request, reduced.arms, counted, once, evidence, error)
    else:
        course = course_by(evidence, request, reduced, counted, dates, error)
    design = _design_of(request, reduced.arms, evidence, counted, error)
    if blocks.moments is not None:
        blocks = adjusted(blocks)
    left = _days_left(course, counted, sums.days[0])
    return Part(evidence, design, course, arms, blocks, len(dates), left, once)


def _one_look(
    request: Request, arms: Sequence[ArmAnswer], counted: Sums, evidence: Evidence, error: float
) -> tuple[OneLook, ...]:
    """Return the fixed-sample tests; empty if the split was adaptive or `request` asks for none."""
    design = request.design
    adaptive = design is not None and not design.procedure.even
    unwanted = request.brief and not request.once
    if unwanted or adaptive or counted.scores is not None or not counted.days:
        return ()
    names, error_each = [arm.name for arm in arms], error / (len(arms) - 1)
    if counted.moments is not None:
        return adjusted_look(names, counted, error_each)
    means = [Mean(arm.counted, arm.mean or 0.0, (arm.deviation or 0.0) ** 2) for arm in arms]
    model = evidence.outcome
    binary = (model is not None and model.binary) or counted.zero_or_one
    return one_look(names, means, error_each, binary=binary)


def _at_one_look(
    request: Request,
    arms: tuple[str, ...],
    counted: Sums,
    once: tuple[OneLook, ...],
    evidence: Evidence,
    error: float,
) -> tuple[Evidence, DailyCourse]:
    """Return the evidence and the course for a single look."""
    if len(once) < math.comb(len(arms), 2):
        raise invalid(
            "looks=1 needs at least two counted units in every arm, and arms that were split "
            "without regard to outcomes: leave looks out",
        )
    fixed = kinds.fixed_sample(once[0].test, evidence.outcome)
    terms = DecisionTerms(arms, error, fixed.guarantee, request.min_effect, goal=request.goal)
    effects = terms.effects_with((-effect.difference, -effect.high, -effect.low) for effect in once)
    last = len(counted.days) - 1
    day = Day(counted.days[last].isoformat(), *counted.at_end_of(last), effects)
    course = course_of_looks([(day, Judge(terms).see(effects))])
    return fixed, replace(course, log_e_values=tuple(from_p_value(one.p_value) for one in once))


def _known_dates(request: Request, reduced: Reduced, sums: Sums) -> list[date]:
    """Return, for each day of arrival with known outcomes, the date when they became known."""
    if request.measure is None or reduced.log_end is None:
        return list(sums.days)
    wait = request.measure.matures(0.0)
    later = math.ceil(wait / DAY)
    dates = []
    for day in sums.days:
        over = datetime.combine(day + timedelta(days=1), datetime.min.time())
        if over + timedelta(seconds=wait) <= reduced.log_end:
            dates.append(day + timedelta(days=later))
    return dates


def _design_of(
    request: Request, arms: tuple[str, ...], evidence: Evidence, counted: Sums, error: float
) -> Design:
    """Return the given design, or one with an even split and the stated or observed outcome."""
    if request.design is not None:
        return request.design
    model = request.outcome or evidence.outcome
    if model is None or math.isinf(model.sigma):
        units = max(float(counted.units.sum()), 2.0)
        about = float(counted.squares.sum()) - float(counted.totals.sum()) ** 2 / units
        model = Gaussian(math.sqrt(max(about / (units - 1.0), 0.0)) or 1.0)
    margin = request.min_effect
    return Design(
        *(arms, model, Tilt(1)),
        error=error,
        sides=ONE_SIDED,
        min_effect=margin,
        measure=request.measure,
        goal=request.goal,
        control=request.control,
    )


def _days_left(course: DailyCourse, counted: Sums, first: date) -> float | None:
    """Return the expected number of days until a decision, at the pace so far; None if unknown."""
    if course.decision is not None or course.times is None:
        return None
    days = (counted.days[-1] - first).days + 1 if counted.days else 0
    return (course.times - 1.0) * days


def _arm_answers(
    arms: Sequence[str], units: Sequence[int], statistics: Iterable[ArmStatistics]
) -> tuple[ArmAnswer, ...]:
    """Return each arm with its units, its counted units, and the mean and deviation of outcomes."""
    answers = []
    for name, count, arm in zip(arms, units, statistics, strict=True):
        shown = arm.linearised
        about = shown.squares - shown.units * shown.mean * shown.mean
        spread = math.sqrt(max(0.0, about) / (arm.units - 1)) if arm.units > 1 else None
        answers.append(ArmAnswer(name, count, arm.units, arm.known_mean, spread))
    return tuple(answers)


def _shown_arms(arms: Sequence[str], sums: Sums, counted: Sums) -> tuple[ArmAnswer, ...]:
    """Return the arms with their unadjusted means; the mean of a ratio is the ratio of sums."""
    answers = _arm_answers(arms, sums.counts(), counted.statistics().arms)
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
