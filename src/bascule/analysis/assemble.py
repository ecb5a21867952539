"""Build the analysis from the table of sums: evidence, decision, checks and notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bascule.analysis import allocation, checks, split
from bascule.analysis.assigned import Assigned
from bascule.analysis.evidence.course import DailyCourse, DecisionTerms
from bascule.analysis.evidence.several import e_value
from bascule.analysis.log.rows import TIME_UNREADABLE
from bascule.analysis.log.times import FORMAT_HINT
from bascule.analysis.notes import narrowed, no_lift, notes_on, other_difference
from bascule.analysis.parts import part_of
from bascule.analysis.reduce.moments import Centre, adjusted_mean
from bascule.analysis.reduce.sums import Sums, added
from bascule.analysis.request import Reduced, Request
from bascule.analysis.result import SAMPLE_RATIO, Analysis, ArmAnswer, Check
from bascule.core.design import Design
from bascule.core.errors import InputError, invalid
from bascule.core.metrics.effects import Contrast, Effect, contrasts, signed
from bascule.core.metrics.metric import DIRECTION, Goal
from bascule.core.outcomes import Gaussian
from bascule.core.statistics import ArmStatistics
from bascule.core.types import FloatArray

Shares = list[list[float]] | None
"""Stated weights of the arms, for each period in which they were constant; None if unstated."""


def assembled(request: Request, reduced: Reduced, assigned: Assigned) -> Analysis:
    """Return the analysis of the whole log, or of each of its segments."""
    if not reduced.table.segments:
        raise InputError("events", nothing(reduced))
    names = sorted(reduced.table.segments)
    shares = allocation.checked_weights(reduced.arms, assigned)
    if names == [""]:
        return answer(request, reduced, "", shares, request.error)
    parts = []
    error = request.error / len(names)
    note = f"the error is split evenly between the {len(names)} segments in the log"
    for name in names:
        part = answer(request, reduced, name, shares, error)
        parts.append(replace(part, segment=name or "(none)", excluded={}))
    sums = added(reduced.table.segments.values())
    return over_segments(
        parts,
        error=request.error,
        units=int(sums.units.sum()),
        first_day=sums.days[0].isoformat(),
        last_day=sums.days[-1].isoformat(),
        checks=(
            _ratio(
                request,
                reduced.arms,
                sums,
                np.sum(list(reduced.table.periods.values()), axis=0),
                shares,
                changed=split.changed_between(sums.units, len(sums.days)),
            ),
            checks.two_arms(reduced, int(sums.units.sum())),
            *_of_rows(request, reduced, sums),
            checks.gaps(sums, parts[0].reading.times),
        ),
        excluded=reduced.excluded | reduced.table.excluded,
        notes=(note,),
    )


def over_segments(parts: Sequence[Analysis], **totals: Any) -> Analysis:
    """Return the analysis of a log with segments; `totals` has the fields of the whole log."""
    return parts[0].undecided(
        arms=(),
        effects=(),
        contrasts=(),
        cost=_sum_of(part.cost for part in parts),
        saved=_sum_of(part.saved for part in parts),
        segment=None,
        segments=tuple(parts),
        metrics=(),
        **totals,
    )


def _sum_of(parts: Iterable[float | None]) -> float | None:
    """Return the sum of the known numbers; None if none is known."""
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def with_metrics(analyses: Sequence[Analysis]) -> Analysis:
    """Return the analysis of the first metric, with the analyses of the other metrics attached."""
    note = (
        f"{len(analyses)} metrics were analysed, each with the whole error: nothing is corrected "
        "for their number"
    )
    values = {analysis.reading.value for analysis in analyses}
    analyses = [
        replace(analysis, reading=analysis.reading.without(values)) for analysis in analyses
    ]
    first = analyses[0]
    return replace(first, metrics=tuple(analyses[1:]), notes=(*first.notes, note))


def answer(
    request: Request, reduced: Reduced, name: str, weights: Shares, error: float
) -> Analysis:
    """Return the analysis of one segment, or of a log without segments."""
    arms, sums = reduced.arms, reduced.table.segments[name]
    _check_sums(reduced, sums)
    part = part_of(request, reduced, name, error)
    times, moments, block = reduced.reading.times, part.counted.moments, reduced.reading.block
    within = split.within_blocks(reduced.table.arrivals[name], block)
    between = split.changed_between(sums.units, len(sums.days))
    withheld = ""
    if sums.scores is None and not part.evidence.by_rule:
        withheld = split.withheld_reason(request, reduced, within, between)
    if withheld:
        part = part.without_answer()
    # The cost is a sum over units, and means of ratios and of clusters are not means per unit.
    has_cost = reduced.reading.per is None and reduced.reading.cluster is None
    course, evidence = part.course, part.evidence.within(block, times)
    unknown = [(math.nan, -math.inf, math.inf)] * math.comb(len(arms), 2)
    now = course.days[-1].effects if course.days else None
    effects = now or DecisionTerms(arms, error, evidence.guarantee).effects_with(unknown)
    # Growing outcomes can be compared between days only at the same age.
    same_age = reduced.final or sums.growth is not None
    made = [_ratio(request, arms, sums, reduced.table.periods[name], weights, changed=between)]
    if within.made and sums.scores is None:
        made.append(within)
    made.append(checks.two_arms(reduced, int(sums.units.sum())))
    if request.design is None:
        made += allocation.rare_arms(arms, sums.counts())
    if not name:
        made += _of_rows(request, reduced, sums)
    if same_age:
        made += checks.drift(part.blocks, arms, part.known)
    if request.measure is not None:
        made.append(checks.late_events(reduced.table))
    if reduced.reading.covariate is not None and sums.moments is not None:
        made.append(checks.covariate_balance(arms, sums, reduced.reading.covariate))
    made.append(checks.gaps(part.blocks if block == "week" else sums, times))
    if sums.scores is None:
        made += checks.sparse_days(sums, part.blocks, arms, block)
    if reduced.reading.count is not None:
        made += checks.of_single_outcomes(sums)
    else:
        made += checks.two_values(sums, reduced.reading.value)
        made.append(checks.extremes(sums, arms, () if sums.moments is not None else effects))
    compared: tuple[Contrast, ...] = ()
    if not (evidence.once or request.brief or withheld):
        compared = _contrasts_of(
            part.design,
            effects,
            part.arms,
            None if moments is None else moments.sum(axis=0),
            ratio=reduced.reading.per is not None,
            positive=bool(np.nanmin(sums.lows, initial=0.0) >= 0.0),
        )
    return Analysis(
        design=part.design,
        evidence=evidence,
        error=error,
        rows=reduced.rows,
        units=int(sums.units.sum()),
        first_day=None if times == "none" else sums.days[0].isoformat(),
        last_day=None if times == "none" else sums.days[-1].isoformat(),
        arms=part.arms,
        effects=signed(part.design, effects),
        e_values=tuple(e_value(one) for one in course.log_e_values),
        decision=course.decision,
        decided=None if times == "none" else course.decided,
        days=tuple(replace(day, effects=signed(part.design, day.effects)) for day in course.days),
        cost=_cost_of(part.arms, request.goal) if has_cost and not withheld else None,
        saved=None
        if not has_cost or times == "none" or evidence.once
        else _saved_by(part.arms, sums, course, request.goal),
        days_left=None if times == "none" else part.days_left,
        checks=tuple(made),
        excluded=reduced.excluded | reduced.table.excluded,
        reading=reduced.reading,
        contrasts=compared,
        once=part.once,
        withheld=withheld,
        examples=reduced.examples,
        notes=(
            *notes_on(request, reduced, part.blocks, part.known, evidence),
            *(
                [split.between_note(arms, sums.units, stated=weights is not None)]
                if between and sums.scores is None
                else ()
            ),
            *narrowed(part.design, moments, reduced.reading.covariate),
            *no_lift(part.arms, part.design.control_arm, compared),
            *other_difference(part.arms, effects, reduced.reading.covariate),
        ),
    )


def _of_rows(request: Request, reduced: Reduced, sums: Sums) -> list[Check]:
    """Return the checks of the rows of a log, which do not depend on segments."""
    return [
        *checks.matches(reduced),
        *checks.rows_read(reduced),
        *checks.missing_outcomes(reduced.arms, reduced.valueless, len(sums.days)),
        *checks.outcome_values(request.strict_outcome, reduced.unfit),
        *allocation.other_assignment(reduced.reading.wholes, reduced.reading.mixed),
    ]


def _check_sums(reduced: Reduced, sums: Sums) -> None:
    """Raise an error if fewer than two arms have units, or if a denominator is 0."""
    present = [
        arm for arm, units in zip(reduced.arms, sums.units.sum(axis=0), strict=True) if units
    ]
    if len(present) < 2:
        usable = f"only {present[0]}" if present else "no arm"
        raise invalid(
            f"arm: of {', '.join(reduced.arms)}, {usable} has "
            "units that can be used: a test compares at least two",
        )
    if sums.moments is None:
        return
    for arm, moments in zip(reduced.arms, sums.moments.sum(axis=0), strict=True):
        if arm in present and Centre.of(moments).per == 0.0:
            raise invalid(
                f"per: the denominators of arm {arm!r} are all 0, and it has no ratio: "
                "leave its rows out, or give another denominator",
            )


def _ratio(
    request: Request,
    arms: tuple[str, ...],
    sums: Sums,
    units: FloatArray,
    weights: Shares,
    *,
    changed: bool,
) -> Check:
    """Compare the units per arm with the stated weights, or else with the logged probabilities.

    Without either, they are compared with the nearest simple split, but not if the split `changed`
    from day to day.
    """
    if sums.scores is not None and weights is None:
        return allocation.logged_ratio(arms, sums.scores)
    if changed and weights is None:
        message = "the split changed from day to day, and no weights were stated"
        return Check(SAMPLE_RATIO, False, message, made=False)
    return allocation.sample_ratio(arms, units, weights, one_look=request.once)


def _cost_of(arms: Sequence[ArmAnswer], goal: Goal) -> float | None:
    """Return the total loss of all units against the best mean; None if an arm has no mean."""
    means = [arm.mean for arm in arms if arm.mean is not None]
    if len(means) < len(arms):
        return None
    best = max(means, key=lambda mean: DIRECTION[goal] * mean)
    return sum(arm.units * abs(best - mean) for arm, mean in zip(arms, means, strict=True))


def _saved_by(
    arms: Sequence[ArmAnswer], sums: Sums, course: DailyCourse, goal: Goal
) -> float | None:
    """Return the total loss of the units that came after the decision; None without a winner."""
    decision = course.decision
    if decision is None or decision.arm is None or course.decided is None:
        return None
    best = arms[decision.arm].mean or 0.0
    later = np.array([day.isoformat() > course.decided for day in sums.days])
    units = sums.units[later].sum(axis=0)
    up = DIRECTION[goal]
    return float(
        sum(n * up * (best - (arm.mean or 0.0)) for n, arm in zip(units, arms, strict=True))
    )


def _contrasts_of(
    design: Design,
    effects: Sequence[Effect],
    arms: Sequence[ArmAnswer],
    moments: FloatArray | None,
    *,
    ratio: bool,
    positive: bool,
) -> tuple[Contrast, ...]:
    """Return the differences between each treatment and the control, with relative lifts.

    `moments` has the sums of products of each arm: with them the control's mean is adjusted by the
    covariate, as in `adjusted_look`. If outcomes are all `positive` or 0, no lift is below -100 %.
    """
    place = design.arms.index(design.control_arm)
    control = arms[place]
    if ratio and control.deviation:
        # The design has the spread of the numerators, but the means here are ratios.
        design = replace(design, outcome=Gaussian(control.deviation))
    compared: list[Contrast] = []
    for effect in effects:
        if control.name not in (effect.first, effect.second):
            continue
        mean, shown, n = control.mean, None, control.counted
        if mean is not None and moments is not None:
            pair = [design.arms.index(name) for name in (effect.first, effect.second)]
            mean, _ = adjusted_mean(Centre.of(moments[place]), Centre.within(moments[pair]))
        if mean is not None and control.deviation is not None:
            # The unadjusted deviation also covers the uncertainty of the covariate's mean.
            shown = ArmStatistics(n, n * mean, control.deviation**2 * (n - 1) + n * mean**2)
        made = contrasts(design, [effect], shown, mean)
        # The mean of nonnegative outcomes cannot fall by more than 100 %.
        compared += [_at_least(contrast, -1.0) for contrast in made] if positive else made
    return tuple(sorted(compared, key=lambda contrast: design.arms.index(contrast.treatment)))


def _at_least(contrast: Contrast, lowest: float) -> Contrast:
    """Return the contrast with its lift and the bounds of the lift limited to at least `lowest`.

    Without a finite upper bound the lift has no lower bound either, and is None if it is below
    `lowest`: early on, the difference within days may be larger than the control's mean.
    """
    if contrast.lift_high is None or not math.isfinite(contrast.lift_high):
        unknown = contrast.lift is not None and contrast.lift < lowest
        lift = None if unknown else contrast.lift
        return replace(contrast, lift=lift, lift_low=-math.inf, lift_high=math.inf)
    lifts = {
        name: max(value, lowest)
        for name in ("lift", "lift_low", "lift_high")
        if (value := getattr(contrast, name)) is not None
    }
    return replace(contrast, **lifts)


def nothing(reduced: Reduced) -> str:
    """Return the message that explains why no unit can be used."""
    if reduced.rows == 0:
        return "events: the log is empty"
    counts = reduced.excluded | reduced.table.excluded
    examples = reduced.examples.items()
    shown = {reason: f", as {entries[0]!r}" for reason, entries in examples if entries}
    reasons = "; ".join(
        f"{n:,} row{'' if n == 1 else 's'}: {reason}{shown.get(reason, '')}"
        for reason, n in counts.items()
    )
    remedy = FORMAT_HINT if TIME_UNREADABLE in counts else "check which columns were named"
    return f"events: no row of the log can be used ({reasons}): {remedy}"
