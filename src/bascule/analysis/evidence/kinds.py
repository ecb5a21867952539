"""Kinds of evidence that a log can be analysed with, and the choice among them.

docs/research/analyse.md proves each kind. The explanations are for readers of a report who have
never heard of this package.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from bascule.analysis.evidence import pairs
from bascule.analysis.evidence.course import (
    DailyCourse,
    Day,
    DecisionTerms,
    Look,
    course_of,
    course_of_looks,
)
from bascule.analysis.reduce.blocks import PERIOD
from bascule.analysis.reduce.sums import Sums
from bascule.analysis.request import Reduced, Request
from bascule.core.design import Design
from bascule.core.errors import invalid
from bascule.core.evidence.calibration import Guarantee
from bascule.core.metrics.effects import advantages, effects_of
from bascule.core.outcomes import Bernoulli, Outcome
from bascule.core.progress import decision

_WITHIN_DAYS = (
    "Units that came on the same day are compared with each other, so good and bad days cancel out."
)
_STRAYS = (
    "The difference is compared with how far it could stray by chance on any day of the log, given"
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A way to compare the arms of a log: its name, plain explanation, and kind of guarantee.

    `outcome` is the outcome model that the proof rests on, None if the spread is estimated from the
    log. With `by_rule` the intervals of the design's own rule are used. `note` is what a reader
    should know about the choice. With `once` the evidence holds for a single look only.
    """

    name: str
    explanation: str
    guarantee: Guarantee
    outcome: Outcome | None = None
    note: str = ""
    by_rule: bool = False
    once: bool = False

    def within(self, block: str, times: str) -> Evidence:
        """Return the evidence with an explanation that names the blocks of the comparison."""
        text = self.explanation
        if times == "none":
            text = text.replace(_WITHIN_DAYS, "All units are compared with each other.")
            text = text.replace("Each day a small bet", "A small bet")
            text = text.replace(" on any day of the log, given", " at any look, given")
        elif block == PERIOD:
            text = text.replace("on the same day", "on the same day under the same weights")
        elif block != "day":
            words = block.replace("h", " hours") if block[0].isdigit() else block
            text = text.replace("on the same day", f"in the same {words}")
            text = text.replace("Each day", "Each week" if block == "week" else "Each time")
        return replace(self, explanation=text)

    def __str__(self) -> str:
        return self.name


BETS = Evidence(
    "bets on daily sums",
    f"{_WITHIN_DAYS} Each day a small bet is placed on either arm being better. If there is no "
    "difference such bets win in the long run no more than they lose, so a large win is evidence.",
    "proven",
)
"""Bets on the daily sums of outcomes within known limits."""

BETS_ON_SCORES = Evidence(
    "bets on scores",
    "Each outcome is divided by the logged probability of the arm that the unit got, which makes "
    "up for splits that changed. Bets are placed on either arm being better. If there is no "
    "difference, they win in the long run no more than they lose: a large win is evidence.",
    "proven",
)
"""Bets on outcomes within known limits, weighted by logged probabilities."""

MIXTURE = Evidence(
    "normal mixture", f"{_WITHIN_DAYS} {_STRAYS} the spread that was stated.", "proven"
)
"""A normal mixture with the spread that the outcome model states."""

ESTIMATED = Evidence(
    "normal mixture, spread estimated",
    f"{_WITHIN_DAYS} {_STRAYS} a spread that the log itself shows.",
    "asymptotic",
)
"""A normal mixture with a spread estimated from the log: valid in the limit of many units."""


def fixed_sample(test: str, outcome: Outcome | None) -> Evidence:
    """Return the evidence of the named test, for a single look at a time that was fixed before."""
    explanation = (
        f"All units of one arm are compared with all of another by {test}, as at the end of a "
        "test whose length was fixed beforehand and into which nobody looked before. Each further "
        "look would add to the probability of a wrong winner."
    )
    return Evidence(f"{test}, one look", explanation, "asymptotic", outcome, once=True)


def adjusted_mixture(method: str) -> Evidence:
    """Return a normal mixture for ratios, adjusted means or clusters, with an estimated spread."""
    explanation = (
        f"{_WITHIN_DAYS} What is compared is {method}: each unit or group of units counts with its "
        f"value minus what was to be expected of it. {_STRAYS} a spread that the log itself shows."
    )
    return Evidence(f"normal mixture {method}, spread estimated", explanation, "asymptotic")


def intervals_of_rule(design: Design) -> Evidence:
    """Return the evidence of the design's own rule, whose intervals hold for any split."""
    explanation = (
        "Each arm has an interval that covers its true mean at all times together. There is a "
        "winner when the interval of one arm lies above all others."
    )
    return Evidence(
        "intervals of the rule",
        explanation,
        design.calibration.guarantee,
        design.outcome,
        by_rule=True,
    )


def chosen_evidence(request: Request, reduced: Reduced, sums: Sums) -> Evidence:
    """Return the strongest kind of evidence that the log and the outcome model allow."""
    model, design = request.outcome, request.design
    if sums.moments is not None:
        return adjusted_mixture(_adjustments(reduced))
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
        name = f"{ESTIMATED.name}, outcomes as they stood each day"
        return replace(ESTIMATED, name=name, note=note)
    if model is not None and model.binary and not sums.zero_or_one:
        raise invalid(
            f"outcome: not every outcome is 0 or 1, as {model!r} needs: give "
            'aggregate="any" (--aggregate any), or Bounded(low, high) (--low, --high)',
        )
    note = ""
    sums_up = request.measure is not None and request.aggregate in ("sum", "mean")
    if model is None and sums.zero_or_one and not sums_up:
        model, note = Bernoulli(), "all outcomes are 0 or 1, and taken for Bernoulli ones"
    if sums.scores is not None:
        if model is None or not model.limited:
            raise invalid(
                f"outcome: {reduced.reading.value or 'events'} has no limits, which logged "
                "probabilities need: give Bounded(low, high) (--low, --high); an outcome beyond a "
                "limit then counts as that limit",
            )
        return replace(BETS_ON_SCORES, outcome=model, note=note)
    if design is not None and intervals_hold_for_any_split(design):
        return intervals_of_rule(design)
    if model is not None and model.limited:
        return replace(BETS, outcome=model, note=note)
    if model is not None and model.known_spread:
        return replace(MIXTURE, outcome=model)
    note = (
        "neither limits nor spread of the outcomes were stated: give `outcome=Bounded(low, high)` "
        "or `outcome=Gaussian(sigma)` to have a proven answer"
    )
    return replace(ESTIMATED, note=note)


def _adjustments(reduced: Reduced) -> str:
    reading = reduced.reading
    parts = [
        f"per {reading.per}" if reading.per else "",
        f"adjusted by {reading.covariate}" if reading.covariate else "",
        f"between clusters ({reading.cluster})" if reading.cluster else "",
    ]
    return ", ".join(part for part in parts if part)


def intervals_hold_for_any_split(design: Design) -> bool:
    """Whether the intervals of the design's rule are valid for any split of the units."""
    procedure = design.procedure
    return procedure.counts == "units" and not procedure.even


def course_by(
    evidence: Evidence,
    request: Request,
    reduced: Reduced,
    sums: Sums,
    dates: Sequence[date],
    error: float,
) -> DailyCourse:
    """Return the course of a test, judged by the given kind of evidence.

    `sums` has the days of arrival whose outcomes are known. `dates` has the dates on which they
    became known.
    """
    model = request.outcome or evidence.outcome
    widest = model.high - model.low if model is not None else float("inf")
    margin, ahead = request.min_effect, not request.brief
    terms = DecisionTerms(
        reduced.arms, error, evidence.guarantee, margin, widest, request.goal, forecast=ahead
    )
    if evidence.by_rule:
        assert request.design is not None
        return course_of_looks(_looks_by_rule(request.design, sums, dates))
    by_day = reduced.final or (request.by_day and sums.moments is None)
    # Outcomes that may still grow are compared on the last day only, unless known day by day.
    first = 0 if by_day else len(sums.days) - 1
    shown = sums if sums.moments is None else pairs.adjusted(sums)
    return course_of(terms, shown, pairs_of(evidence, sums, first), dates[first:], first=first)


def pairs_of(
    evidence: Evidence, sums: Sums, first: int
) -> Iterable[tuple[pairs.PairEvidence, ...]]:
    """Return the evidence of all pairs of arms day by day; from day `first` on if estimated."""
    model = evidence.outcome
    if sums.moments is not None:
        return pairs.adjusted_days(sums, first)
    if model is None:
        return pairs.estimated_days(sums, first)
    if sums.scores is not None:
        return pairs.scored_days(sums, model)
    return pairs.bounded_days(sums, model) if model.limited else pairs.normal_days(sums, model)


def _looks_by_rule(design: Design, sums: Sums, dates: Sequence[date]) -> Iterator[Look]:
    """Yield the effects and the decision of the design's own rule, day by day."""
    for place, known in enumerate(dates):
        statistics = sums.statistics(place + 1)
        units = tuple(arm.units for arm in statistics.arms)
        means = tuple(arm.known_mean for arm in statistics.arms)
        effects = effects_of(design, advantages(design, statistics))
        day = Day(known.isoformat(), units, means, effects)
        yield day, decision(design, statistics)
