"""An analysis in sentences for a reader who has never heard of this package."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bascule.analysis.evidence.series import against
from bascule.core.outcomes import Bernoulli, Bounded, Recurrent
from bascule.presentation.analysis import numbers as amounts
from bascule.presentation.analysis.numbers import Scale, number, percent

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis, Check

MOST_NAMES = 4
"""A question with more arms than this gives their number, not their names."""

QUESTIONS = {
    "sample ratio": "Did every arm get its share of the units?",
    "units in two arms": "Did every unit stay in one arm?",
    "missing outcomes": "Is a value missing as often in every arm?",
    "trend": "Did outcomes stay level while the test ran?",
    "shift": "Is the difference the same within parts of the test?",
    "late outcomes": "Did outcomes come in time to be counted?",
    "gaps": "Is every day of the log there?",
    "extreme values": "Does the result rest on many outcomes?",
}

METHODS = {
    "bets on daily sums": (
        "Units that came on the same day are compared with each other, so good and bad days cancel "
        "out. Each day a small bet is placed on either arm being better. If there is no difference "
        "such bets win in the long run no more than they lose, so a large win is evidence."
    ),
    "bets on scores": (
        "Each outcome is divided by the logged probability of the arm that the unit got, which "
        "makes up for splits that changed. Bets are placed on either arm being better. If there is "
        "no difference, they win in the long run no more than they lose: a large win is evidence."
    ),
    "normal mixture on scores": (
        "Each outcome is divided by the logged probability of the arm that the unit got, which "
        "makes up for splits that changed. The difference is compared with how far it would stray "
        "by chance, at all days together, with a spread that the log itself shows."
    ),
    "normal mixture, spread estimated": (
        "Units that came on the same day are compared with each other, so good and bad days cancel "
        "out. The difference is compared with how far it would stray by chance, at all days "
        "together, with a spread that the log itself shows."
    ),
    "normal mixture": (
        "Units that came on the same day are compared with each other, so good and bad days cancel "
        "out. The difference is compared with how far it would stray by chance, at all days "
        "together, with the spread that was stated."
    ),
    "mixture on clocks": (
        "Units give outcomes again and again. The mean of each unit counts the more, the more "
        "outcomes it has; how much is set by how far units differ and how far the outcomes of one "
        "unit do. The difference of the arms is compared with how far it would stray by chance, at "
        "all days together."
    ),
    "static population": (
        "All units were there from the first day and give an outcome in every period. The "
        "difference of the arms is compared with a limit that it would hardly ever pass by chance."
    ),
    "the test itself": (
        "The test was run by bascule. Its units were gone through again in the order in which they "
        "came, by the same rule, which gives the same decision on the same day."
    ),
    "intervals of the rule": (
        "Each arm has an interval that covers its true mean at all times together. There is a "
        "winner when the interval of one arm lies above all others."
    ),
}
"""What is done, by the beginning of the name of the evidence; the first that fits is taken."""


def question(analysis: Analysis) -> str:
    """What the test asks."""
    arms = analysis.design.arms
    if len(arms) == 2:
        return f"Which is better: {arms[0]} or {arms[1]}?"
    if len(arms) <= MOST_NAMES:
        return f"Which is best: {', '.join(arms[:-1])} or {arms[-1]}?"
    return f"Which of {len(arms)} arms is best?"


def setting(analysis: Analysis) -> str:
    """Who took part, when, and what counts as an outcome."""
    who = f"{analysis.units:,} units"
    when = ""
    if analysis.first_day and analysis.last_day and amounts.has_days(analysis):
        first, last = amounts.day(analysis.first_day), amounts.day(analysis.last_day)
        when = f" on {first}" if first == last else f" from {first} to {last}"
    return f"{who} were seen{when}, each in one arm. {outcome(analysis)}"


def outcome(analysis: Analysis) -> str:
    """What a unit gives."""
    model, measure = analysis.design.outcome, analysis.design.measure
    if isinstance(model, Recurrent):
        return "Each gives outcomes again and again; arms are compared by their mean."
    kind = "an outcome"
    if isinstance(model, Bernoulli):
        kind = "an outcome of 0 or 1"
    elif isinstance(model, Bounded):
        kind = f"an outcome between {number(model.low)} and {number(model.high)}"
    if measure is None:
        return f"Each gives {kind}; the higher their mean, the better the arm."
    window = duration(measure.closes(0.0))
    return f"Each gives {kind} within {window} of its arrival; the higher their mean, the better."


def verdict(analysis: Analysis) -> str:
    """The decision as a heading."""
    if any(check.name == "sample ratio" for check in analysis.flagged):
        return f"Sample ratio mismatch. {_decided(analysis)}"
    return _decided(analysis)


def _decided(analysis: Analysis) -> str:
    reached = analysis.decision
    if analysis.segments:
        decided = sum(part.decision is not None for part in analysis.segments)
        return f"{len(analysis.segments)} segments, {decided} of them decided"
    if reached is None:
        return "No decision yet"
    if reached.arm is None:
        return "No difference that matters"
    return f"{reached.name} is {'better' if len(analysis.design.arms) == 2 else 'the best arm'}"


def reading(analysis: Analysis) -> str:
    """The effect as it stands, in a sentence."""
    rivals = against(analysis)
    if analysis.segments or not rivals or not rivals[0].now.known:
        return ""
    one, scale = rivals[0], Scale.of(analysis)
    now, reached = one.now, analysis.decision
    width = now.high - now.low
    low, high = scale.signed(now.low, width), scale.signed(now.high, width)
    unit = " points" if scale.percent else ""
    by = scale.signed(abs(now.difference), width).lstrip("+")
    rest = "" if len(rivals) == 1 else ", its nearest rival,"
    told = f"{one.leader} is ahead of {one.rival}{rest} by {by}{unit}"
    if reached is not None and reached.arm is None:
        return f"{told}, which is too little to matter: it may be from {low} to {high}{unit}."
    if now.low >= 0.0:
        return f"{told}; the true difference lies between {low} and {high}{unit}."
    if reached is not None and analysis.decided is not None:
        return (
            f"{told}, {low} to {high} as things stand; the decision was reached on "
            f"{amounts.day(analysis.decided)}, when all of that lay above 0, and stands."
        )
    return f"{told}, but the true difference may be anything from {low} to {high}{unit}."


def guarantee(analysis: Analysis) -> str:
    """What may be relied on, in one sentence that says no more."""
    risk = percent(analysis.error)
    parts = f" in any of the {len(analysis.segments)} segments" if analysis.segments else ""
    start = (
        f"However often anyone looks, the probability that this analysis ever names an arm that is "
        f"not the best{parts} is at most {risk}"
    )
    kind = analysis.guarantee
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
    return f"{start}: this is proven for {_proven_for(analysis)}."


def _proven_for(analysis: Analysis) -> str:
    model = analysis.design.outcome
    split = "units that were split at random"
    if isinstance(model, Bernoulli):
        return f"0/1 outcomes of {split}"
    if isinstance(model, Bounded):
        return f"any outcomes between {number(model.low)} and {number(model.high)} of {split}"
    if isinstance(model, Recurrent):
        return f"outcomes whose spreads are no larger than stated, of {split}"
    return f"outcomes with a spread (sub-Gaussian) of at most {number(model.sigma)}, of {split}"


def edges(analysis: Analysis) -> str:
    """How often the band that is drawn may be wrong."""
    if analysis.guarantee == "asymptotic" or not analysis.effects:
        return "The shaded band is where the true difference may lie."
    each = percent(analysis.effects[0].error)
    return (
        "The true difference lies in the shaded band: either edge is ever wrong, on any day, with "
        f"probability at most {each}."
    )


def method(analysis: Analysis) -> str:
    """How the comparison is made."""
    name = analysis.evidence
    return next((told for start, told in METHODS.items() if name.startswith(start)), "")


def asked(check: Check) -> str:
    """The question that a check answers."""
    return QUESTIONS.get(check.name, check.name.capitalize())


def found(check: Check) -> str:
    """What it found, as a sentence."""
    if not check.made:
        return f"Not checked: {check.message}."
    return "Yes." if check.message == "none" else sentence(check.message)


def warning(analysis: Analysis) -> str:
    """How many checks found something; nothing if none did."""
    count = len(analysis.flagged) + sum(len(part.flagged) for part in analysis.segments)
    if count == 0:
        return ""
    return "One check found something" if count == 1 else f"{count} checks found something"


def sentence(text: str) -> str:
    """A text with a capital and a full stop.

    >>> sentence("nobody came")
    'Nobody came.'
    """
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"


def days_left(analysis: Analysis) -> str:
    """How long a decision may take from here."""
    days = analysis.days_left
    if days is None:
        return "–"
    rounded = float(f"{days:.2g}")
    return f"{rounded:g}" if rounded < 10 else f"{rounded:,.0f}"


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(7 * 86400.0), duration(86400.0), duration(7200.0)
    ('7 days', '1 day', '2 hours')
    """
    for size, name in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second")):
        if seconds >= size and math.isclose(seconds / size, round(seconds / size)):
            count = round(seconds / size)
            return f"{count:,} {name}{'' if count == 1 else 's'}"
    return f"{number(seconds)} seconds"
