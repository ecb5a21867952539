"""The kinds of evidence that a log can be answered by: name, explanation and guarantee.

docs/research/analyse.md proves each kind. The explanations are for readers of a report who have
never heard of this package.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bascule.core.design import Design
from bascule.core.evidence.calibration import Guarantee
from bascule.core.outcomes import Outcome

_WITHIN_DAYS = (
    "Units that came on the same day are compared with each other, so good and bad days cancel out."
)
_WEIGHTED = (
    "Each outcome is divided by the logged probability of the arm that the unit got, which makes "
    "up for splits that changed."
)
_STRAYS = (
    "The difference is compared with how far it would stray by chance, at all days together, with"
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """How the arms of a log are compared: in a name, in plain words, and with which kind of proof.

    `outcome` is the outcome model that the proof rests on, None where the spread is estimated from
    the log. `by_rule` says that the intervals of the design's own rule are used. `note` is what a
    reader should know about the choice. `once` says that it holds for one look alone.
    """

    name: str
    explanation: str
    guarantee: Guarantee
    outcome: Outcome | None = None
    note: str = ""
    by_rule: bool = False
    once: bool = False

    def within(self, block: str, times: str) -> Evidence:
        """Return the evidence, explained for the blocks within which units are compared."""
        text = self.explanation
        if times == "none":
            text = text.replace(_WITHIN_DAYS, "All units are compared with each other.")
            text = text.replace("Each day a small bet", "A small bet")
            text = text.replace(", at all days together, with", ", at all looks together, with")
        elif block != "day":
            text = text.replace("on the same day", "in the same week")
            text = text.replace("Each day", "Each week")
        return replace(self, explanation=text)

    def __str__(self) -> str:
        return self.name


def bets(outcome: Outcome, note: str = "") -> Evidence:
    """Bets on the daily sums of outcomes within known limits."""
    explanation = (
        f"{_WITHIN_DAYS} Each day a small bet is placed on either arm being better. If there is no "
        "difference such bets win in the long run no more than they lose, so a large win is "
        "evidence."
    )
    return Evidence("bets on daily sums", explanation, "proven", outcome, note)


def bets_on_scores(outcome: Outcome, note: str = "") -> Evidence:
    """Bets on outcomes within known limits that are weighted with logged probabilities."""
    explanation = (
        f"{_WEIGHTED} Bets are placed on either arm being better. If there is no difference, they "
        "win in the long run no more than they lose: a large win is evidence."
    )
    return Evidence("bets on scores", explanation, "proven", outcome, note)


def mixture(outcome: Outcome) -> Evidence:
    """A normal mixture with the spread that the outcome model states."""
    explanation = f"{_WITHIN_DAYS} {_STRAYS} the spread that was stated."
    return Evidence("normal mixture", explanation, "proven", outcome)


def estimated_mixture(note: str, *, scores: bool = False, growing: bool = False) -> Evidence:
    """A normal mixture with a spread that is estimated from the log: right in the long run."""
    name = "normal mixture on scores" if scores else "normal mixture"
    name += ", spread estimated" + (", outcomes as they stood each day" if growing else "")
    compared = _WEIGHTED if scores else _WITHIN_DAYS
    return Evidence(
        name, f"{compared} {_STRAYS} a spread that the log itself shows.", "asymptotic", note=note
    )


def fixed_sample(test: str, outcome: Outcome | None) -> Evidence:
    """The usual test for one look, at a time that was fixed beforehand."""
    explanation = (
        f"All units of one arm are compared with all of another by {test}, as at the end of a "
        "test whose length was fixed beforehand and into which nobody looked before. Each further "
        "look would add to the probability of a wrong winner."
    )
    return Evidence(f"{test}, one look", explanation, "asymptotic", outcome, once=True)


def adjusted_mixture(how: str) -> Evidence:
    """A normal mixture on ratios, adjusted means or clusters, with a spread that is estimated."""
    explanation = (
        f"{_WITHIN_DAYS} What is compared is {how}: each unit counts with its value minus what the "
        f"denominator and the covariate make one expect. {_STRAYS} a spread that the log itself "
        "shows."
    )
    return Evidence(f"normal mixture {how}, spread estimated", explanation, "asymptotic")


def intervals_of_rule(design: Design) -> Evidence:
    """The intervals of the design's own rule, which hold however units were split."""
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


def repeated_test(design: Design) -> Evidence:
    """The exported log of a test that bascule ran, folded again."""
    explanation = (
        "The test was run by bascule. Its units were gone through again in the order in which they "
        "came, by the same rule, which gives the same decision on the same day."
    )
    name = f"the test itself, folded again by {design.rule.label}"
    return Evidence(name, explanation, design.calibration.guarantee, design.outcome)
