"""Which evidence suits a log, and the course of the test by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from bascule.analysis.evidence import kinds
from bascule.analysis.evidence.adjusted import adjusted, adjusted_days
from bascule.analysis.evidence.course import Course, Day, Look, Terms, course_of, course_of_looks
from bascule.analysis.evidence.kinds import Evidence
from bascule.analysis.evidence.pairs import (
    Pair,
    bounded_days,
    estimated_days,
    estimated_now,
    estimated_scores,
    normal_days,
    scored_days,
)
from bascule.analysis.reduce.sums import Sums
from bascule.analysis.request import Reduced, Request
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.metrics.effects import effects
from bascule.core.outcomes import Bernoulli
from bascule.core.progress import decision


def chosen_evidence(request: Request, reduced: Reduced, sums: Sums) -> Evidence:
    """The strongest kind of evidence that the log and the outcome model allow."""
    model, design = request.outcome, request.design
    if sums.moments is not None:
        return kinds.adjusted_mixture(_adjustments(reduced))
    if not reduced.final:
        note = "outcomes have no window and may still grow"
        if reduced.reading.cumulative:
            note = (
                "rows have what was counted up to their time, so the last row of each arm is used; "
                "until=DAY (--until) has the answer of an earlier day"
            )
        elif request.by_day:
            note += ": give window to have a proven answer"
        else:
            note += ", and are compared as they stand at the end of the log"
        return kinds.estimated_mixture(note, growing=True)
    if model is not None and model.binary and not sums.zero_or_one:
        raise InputError(
            "outcome",
            f"outcome: not every outcome is 0 or 1, as {model!r} needs: give "
            'aggregate="any" (--aggregate any), or Bounded(low, high) (--low, --high)',
        )
    note = ""
    sums_up = request.measure is not None and request.aggregate in ("sum", "mean")
    if model is None and sums.zero_or_one and not sums_up:
        model, note = Bernoulli(), "all outcomes are 0 or 1, and taken for Bernoulli ones"
    if sums.scores is not None:
        if not sums.scores.bounded:
            note = (
                "the log has the probability of each unit's own arm only: give a column for each "
                "arm to have a proven answer"
            )
            return kinds.estimated_mixture(note, scores=True)
        if model is not None and model.limited:
            return kinds.bets_on_scores(model, note)
        return kinds.estimated_mixture("", scores=True)
    if design is not None and intervals_hold_for_any_split(design):
        return kinds.intervals_of_rule(design)
    if model is not None and model.limited:
        return kinds.bets(model, note)
    if model is not None and model.known_spread:
        return kinds.mixture(model)
    return kinds.estimated_mixture(
        "neither limits nor spread of the outcomes were stated: give `outcome=Bounded(low, high)` "
        "or `outcome=Gaussian(sigma)` to have a proven answer"
    )


def _adjustments(reduced: Reduced) -> str:
    reading = reduced.reading
    parts = [
        f"per {reading.per}" if reading.per else "",
        f"adjusted by {reading.covariate}" if reading.covariate else "",
        f"between clusters ({reading.cluster})" if reading.cluster else "",
    ]
    return ", ".join(part for part in parts if part)


def intervals_hold_for_any_split(design: Design) -> bool:
    """Whether the rule compares intervals of arms that do not rest on how units were assigned."""
    procedure = design.procedure
    return procedure.counts == "units" and not procedure.even


def course_by(
    evidence: Evidence,
    request: Request,
    reduced: Reduced,
    sums: Sums,
    dates: Sequence[date],
    error: float,
) -> Course:
    """The course of a test whose outcomes come once a unit, or grow.

    `sums` has the days of arrival whose outcomes are known, and `dates` when each became known.
    """
    model = request.outcome or evidence.outcome
    widest = model.high - model.low if model is not None else float("inf")
    least, ahead = request.min_effect, not request.brief
    terms = Terms(
        reduced.arms, error, evidence.guarantee, least, widest, request.goal, forecast=ahead
    )
    if evidence.by_rule:
        assert request.design is not None
        return course_of_looks(_looks_by_rule(request.design, sums, dates))
    if sums.moments is not None:
        # Outcomes that may still grow are looked at once, as they stand.
        first = 0 if reduced.final else len(sums.days) - 1
        pairs = adjusted_days(sums, first)
        return course_of(terms, adjusted(sums), pairs, dates[first:], first=first)
    if reduced.final or request.by_day:
        return course_of(terms, sums, pairs_of(evidence, sums), dates)
    # Outcomes as they stand at the end of the log, looked at once.
    last = len(sums.days) - 1
    return course_of(terms, sums, [estimated_now(sums)], sums.days[last:], first=last)


def pairs_of(evidence: Evidence, sums: Sums) -> Iterable[tuple[Pair, ...]]:
    """What the pairs of arms have shown, day after day."""
    model = evidence.outcome
    if model is None:
        return estimated_days(sums) if sums.scores is None else estimated_scores(sums)
    if sums.scores is not None:
        return scored_days(sums, model)
    return bounded_days(sums, model) if model.limited else normal_days(sums, model)


def _looks_by_rule(design: Design, sums: Sums, dates: Sequence[date]) -> Iterator[Look]:
    """What a rule says day after day that holds however units were split."""
    for place, known in enumerate(dates):
        statistics = sums.statistics(place + 1)
        units = tuple(arm.units for arm in statistics.arms)
        means = tuple(arm.mean if arm.units else None for arm in statistics.arms)
        day = Day(known.isoformat(), units, means, effects(design, statistics))
        yield day, decision(design, statistics)
