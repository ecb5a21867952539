"""Sentences of the page about states, designs and changes. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from bascule.core.design import Design
from bascule.core.design_parts import TWO_SIDED
from bascule.core.enrolment.audience import Audience
from bascule.live.api import State, Status
from bascule.presentation.numbers import count, duration, percent
from bascule.presentation.status import MISMATCH

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


def announcement(status: Status, mismatch: bool = False) -> str:
    """Return the text that a screen reader reads out: no figures, which change often."""
    if mismatch:
        return f"{MISMATCH}."
    if status.decision is not None:
        return f"{status.headline}."
    ahead = "" if status.leader is None else f" {status.leader} is ahead."
    return f"{STATES[status.state]}.{ahead}"


def tone(status: Status, mismatch: bool = False) -> Tone:
    """The tone of a test's state."""
    if mismatch:
        return "alarm"
    if status.decision is not None:
        return "alarm" if status.decision.harm else "good"
    if status.state == "running":
        return "going"
    return "waiting" if status.state in ("ready", "paused") else "ended"


def tone_of_segments(statuses: Iterable[Status]) -> Tone:
    """The tone of the tests of segments."""
    each = list(statuses)
    if any(one.is_open for one in each):
        return "going"
    return "good" if all(one.decision is not None for one in each) else "ended"


def guarantee_kind(design: Design, status: Status) -> str:
    """The kind of guarantee of the decision, or of one to come."""
    return design.calibration.guarantee if status.decision is None else status.decision.guarantee


def facts(design: Design, audience: Audience | None = None) -> list[tuple[str, str]]:
    """Return the design, and who gets in, as terms and their values."""
    error = "the guardrails decide"
    if design.decides == "primary":
        each = design.calibration.error
        is_two_sided = design.sides == TWO_SIDED
        error = f"{percent(2 * each)}, two-sided" if is_two_sided else f"{percent(each)}, one-sided"
    rows = [
        ("Arms", ", ".join(design.arms)),
        ("Outcome", design.outcome.words),
        ("Rule", design.rule.words),
        ("Error", error),
    ]
    rows.append(("Outcome of a unit", _counting(design)))
    if audience is not None:
        rows.append(("Who gets in", audience.words))
    if design.min_effect is not None:
        rows.append(("Smallest relevant difference", f"{design.min_effect:g}"))
    if design.max_units is not None:
        rows.append(("Ends undecided", f"after {count(design.max_units)} units"))
    if design.deadline is not None:
        rows.append(("Deadline", f"{design.deadline:%Y-%m-%d %H:%M %Z}"))
    return rows


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
