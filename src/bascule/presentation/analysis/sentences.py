"""An analysis in sentences, for readers who do not know bascule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.core.approximate import at_most, exactly
from bascule.core.evidence.calibration import STATED
from bascule.presentation.analysis.series import against, amounts_of, has_days, stamp

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis

MOST_NAMES = 4
"""A question with more arms than this gives their number, not their names."""


def question(analysis: Analysis) -> str:
    """What the test asks."""
    arms = analysis.design.arms
    if analysis.decides == "guardrails":
        control = analysis.design.control_arm
        others = " or ".join(arm for arm in arms if arm != control)
        return f"May {others} replace {control}: is it within the margins of the guardrails?"
    metric = f" on {analysis.name}" if analysis.reading.value else ""
    if len(arms) == 2:
        return f"Which is better{metric}: {arms[0]} or {arms[1]}?"
    if len(arms) <= MOST_NAMES:
        return f"Which is best{metric}: {', '.join(arms[:-1])} or {arms[-1]}?"
    return f"Which of {len(arms)} arms is best{metric}?"


def setting(analysis: Analysis) -> str:
    """Who took part, when, and what counts as an outcome."""
    when = ""
    if analysis.first_day and analysis.last_day and has_days(analysis):
        first, last = stamp(analysis, analysis.first_day), stamp(analysis, analysis.last_day)
        when = f" on {first}" if first == last else f" from {first} to {last}"
    return f"{analysis.units:,} units were seen{when}, each in one arm. {outcome(analysis)}"


def outcome(analysis: Analysis) -> str:
    """What a unit gives."""
    model, measure = analysis.design.outcome, analysis.design.measure
    words = "" if analysis.evidence.outcome is None else f" ({model.words})"
    window = "" if measure is None else f" within {exactly(measure.closes(0.0))} of its arrival"
    better = "lower" if analysis.design.goal == "decrease" else "higher"
    return f"Each gives one outcome{words}{window}; the {better} their mean, the better the arm."


def reading(analysis: Analysis) -> str:
    """The effect as it stands, in a sentence."""
    rivals = against(analysis)
    if analysis.segments or not rivals or not rivals[0].now.known:
        return ""
    nearest, amounts = rivals[0], amounts_of(analysis)
    now, decision = nearest.now, analysis.decision
    ahead, behind, difference = nearest.first, nearest.second, "difference"
    if analysis.design.oriented(now.difference) < 0.0:
        ahead, behind, difference = behind, ahead, f"difference {nearest.name}"
    low, high = (amounts.signed(end, now.width) for end in (now.low, now.high))
    unit = " points" if amounts.binary else ""
    by = amounts.signed(abs(now.difference), now.width).lstrip("+")
    rest = "" if len(rivals) == 1 or ahead != analysis.leader else ", its nearest rival,"
    lead = f"{ahead} is ahead of {behind}{rest} by {by}{unit}"
    if decision is not None and decision.arm is None:
        may_be = f"the {difference} may be from {low} to {high}{unit}"
        return f"{lead}, which is too little to matter: {may_be}."
    if now.apart:
        return f"{lead}; the true {difference} lies between {low} and {high}{unit}."
    if decision is not None and analysis.decided is not None:
        day = stamp(analysis, analysis.decided)
        return (
            f"{lead} ({difference} {low} to {high} as things stand); the decision was reached on "
            f"{day}, when all of that lay on one side of 0, and stands."
        )
    return f"{lead}, but the true {difference} may be anything from {low} to {high}{unit}."


def guarantee(analysis: Analysis) -> str:
    """What may be relied on, in one sentence that says no more."""
    risk = at_most(analysis.error)
    parts = f" in any of the {len(analysis.segments)} segments" if analysis.segments else ""
    start = (
        f"However often anyone looks, the probability that this analysis ever names an arm that is "
        f"not the best{parts} is at most {risk}, and that it names one of several equal arms at "
        f"most {at_most(min(1.0, 2 * analysis.error))}"
    )
    kind = analysis.guarantee
    if analysis.evidence.once:
        return (
            "If this is the only look, at a time that was fixed before the test, a wrong winner is "
            f"named in about {risk} of tests at most. Every further look adds to that: then use "
            "the analysis for any number of looks."
        )
    if kind == "asymptotic":
        return (
            f"The aim is a wrong winner in at most {risk} of tests, however often one looks; but "
            "the spread of the outcomes was estimated from the log itself, so this holds for large "
            "logs only and is not proven."
        )
    if kind == "gaussian":
        return f"{start}: exact if outcomes are normal with the spreads that were stated."
    if kind == "as published":
        return (
            f"{start}: this is what the rule was published with, and it is not proven for all "
            "cases."
        )
    if kind == STATED:
        return (
            f"{start}: this is what the author of the rule states; it is not part of bascule, and "
            "nobody has checked it here."
        )
    words = analysis.design.outcome.words
    return f"{start}: this is proven for {words}, of units that were split at random."
