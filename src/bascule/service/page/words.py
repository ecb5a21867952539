"""Sentences of the page about states, designs and changes. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bascule.core.design import Design
from bascule.core.ends import guard_promise
from bascule.core.enrolment.audience import Audience
from bascule.live.api import OPEN, SegmentedStatus, State, Status
from bascule.presentation.guarantees import error_words, sentence
from bascule.presentation.numbers import count, duration, percent
from bascule.presentation.status import units_to_cap

Tone = Literal["good", "going", "waiting", "ended", "alarm"]
"""The tone of a state: it selects colour and icon, and the text says it too."""

STATES: dict[State, str] = {
    "ready": "Not started",
    "running": "Running",
    "paused": "Paused",
    "decided": "Decided",
    "over": "Ended undecided",
    "stopped": "Stopped",
}

GUARANTEES = {
    "proven": "proven for every outcome that the design allows, however often you look",
    "gaussian": "exact if outcomes are normal with the given spread, however often you look",
    "as published": "as published for this rule, without a proof here",
    "asymptotic": "approximate, and better with more units",
}


@dataclass(frozen=True, slots=True)
class Saying:
    """A headline, the sentence below it, and their tone."""

    headline: str
    detail: str
    tone: Tone


def announcement(status: Status, mismatch: bool = False) -> str:
    """Return the text that a screen reader reads out: no figures, which change often."""
    if mismatch:
        return f"{MISMATCH}."
    if status.decision is not None:
        return f"{status.headline}."
    ahead = "" if status.leader is None else f" {status.leader} is ahead."
    return f"{STATES[status.state]}.{ahead}"


def tone(status: Status) -> Tone:
    """The tone of a test's state."""
    if status.decision is not None:
        return "alarm" if status.decision.harm else "good"
    if status.state == "running":
        return "going"
    return "waiting" if status.state in ("ready", "paused") else "ended"


def tone_of_segments(status: SegmentedStatus) -> Tone:
    """The tone of a test with segments."""
    if status.is_open:
        return "going"
    return "good" if len(status.decisions) == len(status.segments) else "ended"


MISMATCH = "Sample ratio mismatch: find the cause before you use this result"


def saying(design: Design, status: Status, mismatch: bool = False) -> Saying:
    """Return the headline of a test with its reason; a sample ratio mismatch comes first."""
    if mismatch:
        detail = (
            "The numbers of units per arm do not fit the assignment probabilities: units are lost "
            f"or counted twice. Without it the page would say: {status.headline}."
        )
        return Saying(MISMATCH, detail, "alarm")
    return Saying(status.headline, _detail(design, status), tone(status))


def _detail(design: Design, status: Status) -> str:
    decided = status.decision
    if status.everyone is not None and status.state == "stopped":
        return f"All units get {status.everyone}. Further outcomes are not counted."
    if decided is not None and decided.arm is not None:
        after = f"Decided on the outcomes of {count(decided.units)} units."
        if status.everyone is not None:
            return f"{after} All units get {decided.name}."
        return (
            f"{after} New units get {decided.name}; units in other arms keep theirs until you "
            "release the winner."
        )
    if decided is not None:
        return (
            f"Decided on the outcomes of {count(decided.units)} units: no relevant difference is "
            "left."
        )
    if status.state == "ready":
        return "Start the test when the code that assigns units is in place."
    if status.state == "paused":
        return "Units already assigned keep their arm, and their outcomes count."
    if status.state in ("over", "stopped"):
        return "No arm was shown to be better. Further outcomes are not counted."
    if status.rollout is not None:
        version = status.rollout.version
        return f"Everyone else gets {design.control_arm}, and all do if {version} is harmful."
    if status.guarded is not None:
        return "The primary metric is decided; the guardrails are not."
    if status.matured == 0:
        return "No outcome has been counted yet."
    if status.leader is None or status.evidence <= 0.0:
        return "No arm is ahead yet."
    ahead = f"{status.leader} is ahead, {percent(status.evidence)} of the way to a decision."
    rest = units_to_cap(status)
    if rest is not None:
        return f"{ahead} The test ends after {count(rest)} more units."
    return f"{ahead} You may look as often as you like."


def guarantee_kind(design: Design, status: Status) -> str:
    """The kind of guarantee of the decision, or of one to come."""
    return design.calibration.guarantee if status.decision is None else status.decision.guarantee


def promise(design: Design, status: Status) -> str:
    """The guarantee in words."""
    kind = guarantee_kind(design, status)
    if design.calibration.error >= 1.0:
        return f"No error is proven at delta {design.calibration.delta:.3g} ({kind})."
    if design.guardrails:
        return sentence(status.promise)
    if status.decision is not None and status.decision.arm is not None:
        words = error_words(status.decision.error, len(design.arms))
        return f"{sentence(words)} {kind_words(kind)}"
    if status.decision is not None:
        return f"{sentence(status.promise)} {kind_words(kind)}"
    if status.state not in OPEN:
        return f"{status.promise[0].upper()}{status.promise[1:]}."
    return f"{sentence(error_words(design.calibration.error, len(design.arms)))} {kind_words(kind)}"


def kind_words(kind: str) -> str:
    """Say what kind of guarantee stands behind an error.

    >>> kind_words("proven")
    'Proven for every outcome that the design allows, however often you look.'
    """
    return sentence(GUARANTEES.get(kind, kind))


def facts(design: Design, audience: Audience | None = None) -> list[tuple[str, str]]:
    """Return the design, and who gets in, as terms and their values."""
    promise, error = design.calibration, "the guardrails decide"
    if design.decides == "primary":
        error = f"{error_words(promise.error, len(design.arms))} ({promise.guarantee})"
    found = [
        ("Arms", ", ".join(design.arms)),
        ("Outcome", design.outcome.words),
        ("Rule", design.rule.words),
        ("Error", error + guard_promise(design)),
    ]
    found.append(("Outcome of a unit", _counting(design)))
    if audience is not None:
        found.append(("Who gets in", audience.words))
    if design.min_effect is not None:
        found.append(("Smallest relevant difference", f"{design.min_effect:g}"))
    if design.max_units is not None:
        found.append(("Ends undecided", f"after {count(design.max_units)} units"))
    if design.deadline is not None:
        found.append(("Deadline", f"{design.deadline:%Y-%m-%d %H:%M %Z}"))
    return found


def _counting(design: Design) -> str:
    measure = design.measure
    if measure is None:
        return "the first value recorded; a unit without one holds up those after it"
    names = {"sum": "the sum of its events", "any": "1 if there was an event, else 0"}
    names |= {"mean": "the mean of its events", "last": "its last event"}
    what = names[measure.aggregate]
    if measure.window is None:
        return f"{what}, in every period of {duration(_days(measure.period))}"
    return f"{what}, within a conversion window of {duration(_days(measure.window))}"


def _days(seconds: float | str | None) -> float:
    return float(seconds or 0.0) / 86400
