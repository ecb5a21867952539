"""An analysis in sentences for a reader who has never heard of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.core.approximate import UNKNOWN, at_most, exactly, two_digits
from bascule.core.evidence.calibration import STATED
from bascule.presentation.analysis.series import Dates, against, amounts_of, has_days
from bascule.presentation.analysis.text import held_words
from bascule.presentation.guarantees import interval_name, sentence

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis, Check

MOST_NAMES = 4
"""A question with more arms than this gives their number, not their names."""

QUESTIONS = {
    "sample ratio": "Did every arm get its share of the units?",
    "units in two arms": "Did every unit stay in one arm?",
    "unusable rows": "Are there rows that cannot be used?",
    "arm names": "Is every arm written in one way?",
    "words for numbers": "Are all values numbers?",
    "copies of rows": "Are there exact copies of rows?",
    "outcome values": "Is every outcome one that can be?",
    "missing outcomes": "Is a value missing as often in every arm?",
    "trend": "Did outcomes stay level while the test ran?",
    "shift": "Is the difference the same within parts of the test?",
    "late outcomes": "Did outcomes come in time to be counted?",
    "lone arms": "Were all arms there at the same time?",
    "gaps": "Is every day of the log there?",
    "covariate balance": "Is the covariate alike in all arms?",
    "follow-up": "Were units followed for as long in every arm?",
    "skewed outcomes": "Are there units enough for skewed outcomes?",
    "extreme values": "Does the result rest on many outcomes?",
}


def question(analysis: Analysis) -> str:
    """What the test asks."""
    arms = analysis.design.arms
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
        first, last = map(Dates.of(analysis).day, (analysis.first_day, analysis.last_day))
        when = f" on {first}" if first == last else f" from {first} to {last}"
    return f"{analysis.units:,} units were seen{when}, each in one arm. {outcome(analysis)}"


def outcome(analysis: Analysis) -> str:
    """What a unit gives."""
    model, measure = analysis.design.outcome, analysis.design.measure
    words = "" if analysis.evidence.outcome is None else f" ({model.words})"
    window = "" if measure is None else f" within {exactly(measure.closes(0.0))} of its arrival"
    better = "lower" if analysis.design.goal == "decrease" else "higher"
    return f"Each gives one outcome{words}{window}; the {better} their mean, the better the arm."


def verdict(analysis: Analysis) -> str:
    """The decision as a heading."""
    return ("Sample ratio mismatch. " if analysis.ratio_mismatch else "") + _decided(analysis)


def _decided(analysis: Analysis) -> str:
    decision = analysis.decision
    if analysis.segments:
        decided = sum(part.decision is not None for part in analysis.segments)
        return f"{len(analysis.segments)} segments, {decided} of them decided"
    if analysis.test_headline is not None:
        return analysis.test_headline
    if decision is None:
        return "No decision" if analysis.evidence.once else "No decision yet"
    if decision.arm is None:
        return "No difference that matters"
    ahead = "better" if len(analysis.design.arms) == 2 else "the best arm"
    return f"{decision.name} is {ahead}{held_words(analysis)}"


def reading(analysis: Analysis) -> str:
    """The effect as it stands, in a sentence."""
    rivals = against(analysis)
    if analysis.segments or not rivals or not rivals[0].now.known:
        return ""
    nearest, amounts = rivals[0], amounts_of(analysis)
    now, decision = nearest.now, analysis.decision
    ahead, behind, ends = nearest.leader, nearest.rival, (now.low, now.high)
    if analysis.design.oriented(now.difference) < 0.0:
        # The leading mean, which counts all units alike, is not ahead of units of the same time.
        ahead, behind, ends = behind, ahead, (-now.high, -now.low)
    low, high = (amounts.signed(end, now.width) for end in ends)
    unit = " points" if amounts.binary else ""
    by = amounts.signed(abs(now.difference), now.width).lstrip("+")
    rest = "" if len(rivals) == 1 or ahead != nearest.leader else ", its nearest rival,"
    lead = f"{ahead} is ahead of {behind}{rest} by {by}{unit}"
    if decision is not None and decision.arm is None:
        return f"{lead}, which is too little to matter: it may be from {low} to {high}{unit}."
    if now.apart:
        return f"{lead}; the true difference lies between {low} and {high}{unit}."
    if decision is not None and analysis.decided is not None:
        day = Dates.of(analysis).day(analysis.decided)
        return (
            f"{lead}, {low} to {high} as things stand; the decision was reached on {day}, when all "
            "of that lay on one side of 0, and stands."
        )
    return f"{lead}, but the true difference may be anything from {low} to {high}{unit}."


def allowed_since(analysis: Analysis) -> str:
    """Since when the decision has been allowed; empty where `reading` says it already."""
    decision, rivals = analysis.decision, against(analysis)
    if decision is None or analysis.decided is None or not rivals:
        return ""
    if decision.arm is not None and rivals[0].now.low < 0.0:
        return ""
    return f" The decision has been allowed since {Dates.of(analysis).day(analysis.decided)}."


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


def edges(analysis: Analysis) -> str:
    """How often the band that is drawn may be wrong."""
    error = analysis.effects[0].error if analysis.effects else 0.5
    start = f"The shaded band is the {interval_name(error)},"
    if analysis.guarantee == "asymptotic" or not analysis.effects:
        return f"{start} where the true difference may lie."
    return (
        f"{start} in which the true difference lies: either edge is ever wrong, on any day, with "
        f"probability at most {at_most(error)}."
    )


def check_question(check: Check) -> str:
    """The question that a check answers."""
    return QUESTIONS.get(check.name, check.name.capitalize())


def check_answer(check: Check) -> str:
    """The result of a check as a sentence."""
    return sentence(check.message) if check.made else f"Not checked: {check.message}."


def warning(analysis: Analysis) -> str:
    """How many checks found something; nothing if none did."""
    count = len(analysis.flagged) + sum(len(part.flagged) for part in analysis.segments)
    if count == 0:
        return ""
    return "One check found something" if count == 1 else f"{count} checks found something"


def days_left(analysis: Analysis) -> str:
    """How long a decision may take from here."""
    return UNKNOWN if analysis.days_left is None else two_digits(analysis.days_left)
