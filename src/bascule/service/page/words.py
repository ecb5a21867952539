"""Sentences of the page about states, designs and changes. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from bascule.core.design import Design
from bascule.live.api import State, Status
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
