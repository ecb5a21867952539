"""Sentences of the page about states, designs and changes. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bascule.core.approximate import two_digits
from bascule.core.design import Design
from bascule.core.outcomes import Bernoulli, Bounded, Gaussian
from bascule.core.rules import ETC, UCB, ETCPrime, Tilt
from bascule.live.api import OPEN, State, Status
from bascule.presentation.numbers import percent
from bascule.service.page.amounts import count, duration

Tone = Literal["good", "going", "waiting", "ended"]
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
    "proven": "proven for every outcome the design allows, however often you look",
    "gaussian": "exact for normal outcomes of the given spread, however often you look",
    "as published": "as published for this rule",
    "asymptotic": "in the limit of many units",
}


TELLING = 0.3
"""Below this part of the way to a decision, differences are as large as their noise, and what is
forecast from them says nothing."""


@dataclass(frozen=True, slots=True)
class Saying:
    """A headline, the sentence below it, and their tone."""

    headline: str
    detail: str
    tone: Tone


def announcement(design: Design, status: Status) -> str:
    """The text that a screen reader reads out when it changes: no figures, which change often."""
    if status.decision is not None:
        return f"{headline(design, status)}."
    ahead = "" if status.leader is None else f" {status.leader} is ahead."
    return f"{STATES[status.state]}.{ahead}"


def tone(status: Status) -> Tone:
    """The tone of a test's state."""
    if status.decision is not None:
        return "good"
    if status.state == "running":
        return "going"
    return "waiting" if status.state in ("ready", "paused") else "ended"


def saying(design: Design, status: Status, released: bool = False) -> Saying:
    """The headline of a test with its reason."""
    return Saying(headline(design, status), _detail(design, status, released), tone(status))


def headline(design: Design, status: Status) -> str:
    """One line: what to do. Times are in the unit that people would use."""
    if status.state == "running" and status.decision is None:
        if status.left is not None and status.evidence < TELLING:
            return "Keep running: too early to say how long"
        if _rest(design, status) is not None:
            return "Keep running: a decision in time looks unlikely"
        if status.left is not None and status.left < 1.0:
            return "Keep running: the decision may come at any time"
        if status.days_left is not None:
            return f"Keep running: about {duration(status.days_left)} left"
        if status.left is not None:
            return f"Keep running: about {two_digits(status.left)} units left"
    return status.headline


def _detail(design: Design, status: Status, released: bool) -> str:
    decided = status.decision
    if decided is not None and decided.arm is not None:
        who = "Everyone gets it" if released else "Everyone new gets it"
        kept = "" if released else "; units in another arm keep theirs until you release them"
        return f"Decided after {count(decided.units)} units. {who}{kept}."
    if decided is not None:
        return f"Decided after {count(decided.units)} units: no difference that matters is left."
    if status.state == "ready":
        return "Start it when the code that assigns units is in place."
    if status.state == "paused":
        return "Units that are in keep their arm, and their outcomes count."
    if status.state in ("over", "stopped"):
        return "No arm was proven better. Outcomes count no more."
    if status.matured == 0:
        return "No outcome has counted yet."
    if status.leader is None or status.evidence <= 0.0:
        return "No arm is ahead yet."
    ahead = f"{status.leader} is ahead, {percent(status.evidence)} of the way to a decision."
    rest = _rest(design, status)
    if rest is not None:
        return f"{ahead} The test ends after {count(rest)} more units."
    return f"{ahead} Looking costs nothing."


def _rest(design: Design, status: Status) -> int | None:
    """The units until the cap, where it will come before a decision as things look."""
    if design.max_units is None or status.left is None:
        return None
    rest = max(0, design.max_units - status.units)
    return rest if status.left > rest and status.evidence >= TELLING else None


def guarantee_kind(design: Design, status: Status) -> str:
    """The kind of guarantee of the decision, or of one to come."""
    return design.calibration.guarantee if status.decision is None else status.decision.guarantee


def promise(design: Design, status: Status) -> str:
    """The guarantee in words."""
    kind = guarantee_kind(design, status)
    meaning = GUARANTEES.get(kind, kind)
    if status.decision is not None:
        return f"The bound on the error is {meaning}."
    if status.state not in OPEN:
        return f"{status.promise[0].upper()}{status.promise[1:]}."
    bound = percent(design.calibration.error)
    return f"A wrong decision has probability at most {bound}: {meaning}."


def facts(design: Design) -> list[tuple[str, str]]:
    """The design as terms and what they are."""
    found = [
        ("Arms", ", ".join(design.arms)),
        ("Outcome", outcome_words(design)),
        ("Allocation", rule_words(design)),
        ("Error", f"at most {percent(design.calibration.error)}, {design.calibration.guarantee}"),
    ]
    found.append(("A unit counts", _counting(design)))
    if design.min_effect is not None:
        found.append(("Smallest difference that matters", f"{design.min_effect:g}"))
    if design.max_units is not None:
        found.append(("Ends undecided", f"after {count(design.max_units)} units"))
    if design.deadline is not None:
        found.append(("Deadline", f"{design.deadline:%Y-%m-%d %H:%M %Z}"))
    return found


def outcome_words(design: Design) -> str:
    """The outcome model."""
    outcome = design.outcome
    if isinstance(outcome, Bernoulli):
        return "0 or 1"
    if isinstance(outcome, Bounded):
        return f"a number between {outcome.low:g} and {outcome.high:g}"
    if isinstance(outcome, Gaussian):
        return f"a number with a spread of {outcome.sigma:g} or less"
    return "numbers that keep coming"


def rule_words(design: Design) -> str:
    """The allocation rule in words."""
    rule = design.rule
    if isinstance(rule, Tilt) and rule.tilt == 1:
        return "an even split, in blocks"
    if isinstance(rule, Tilt):
        return f"blocks with up to {rule.tilt:g} units of the arm ahead for each of another"
    if isinstance(rule, UCB):
        return f"the arm with the highest mean plus {rule.alpha:g} radii"
    if isinstance(rule, ETC | ETCPrime):
        return "the arms in turn"
    return "fixed shares of a population"


def _counting(design: Design) -> str:
    measure = design.measure
    if measure is None:
        return "with the first number recorded for it"
    names = {"sum": "the sum of its events", "any": "1 if anything happened, or 0"}
    names |= {"mean": "the mean of its events", "last": "its last event"}
    what = names[measure.aggregate]
    if measure.window is None:
        return f"again for every {duration(_days(measure.period))}, with {what}"
    return f"{duration(_days(measure.window))} after it came, with {what}"


def _days(seconds: float | str | None) -> float:
    return float(seconds or 0.0) / 86400
