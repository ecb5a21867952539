"""Changes that the page offers: which are possible now, and what each will do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.live.api import OPEN, Experiment, Status, knob_of
from bascule.service.page.knob import consequences


@dataclass(frozen=True, slots=True)
class Change:
    """A change that can be made now; `asks` if it is confirmed first."""

    action: str
    label: str
    asks: bool = False
    arm: str = ""
    look: str = ""

    @property
    def id(self) -> str:
        """A name for the button, so that it keeps the focus when the page changes around it."""
        return f"do-{self.action}"


@dataclass(frozen=True, slots=True)
class Question:
    """A confirmation before a change."""

    action: str
    title: str
    lines: tuple[str, ...]
    button: str
    arm: str = ""
    value: str = ""
    danger: bool = False
    choices: tuple[tuple[str, str], ...] = ()


def changes(status: Status) -> list[Change]:
    """The changes of a whole test that are possible now."""
    listed = []
    if status.state == "ready":
        listed.append(Change("start", "Start", look="primary"))
    if status.state == "paused":
        listed.append(Change("start", "Resume", look="primary"))
    if status.state == "running":
        listed.append(Change("pause", "Pause"))
    decided = status.decision
    if decided is not None and decided.arm is not None and status.everyone != decided.name:
        listed.append(Change("release", f"Give everyone {decided.name}", asks=True, look="primary"))
    if status.state != "stopped":
        listed.append(Change("stop", "Stop for good", asks=True, look="danger"))
    return listed


def arm_changes(status: Status) -> dict[str, list[Change]]:
    """The changes of each arm that are possible now; none where fewer than three are active."""
    into = [arm.name for arm in status.arms if arm.part == "active"]
    if status.state not in OPEN or len(into) < 3:
        return {}
    return {arm: [Change("drop-arm", "Drop", True, arm, look="danger")] for arm in into}


def ask(
    action: str, design: Design, status: Status, test: Experiment, value: str, arm: str
) -> Question:
    """Describe what a change will do, for its confirmation."""
    if action == "knob":
        return _knob_question(design, status, test, value)
    if action == "stop":
        lines: tuple[str, ...] = (
            "No new units are assigned, and further outcomes are not counted.",
            "This cannot be undone.",
        )
        if status.decision is None:
            lines = ("The test ends without a decision.", *lines)
        keep = ("", "Units keep their arm")
        choices = (keep, *((name, f"Everyone gets {name}") for name in design.arms))
        title = f"Stop {status.name} for good?"
        return Question("stop", title, lines, "Stop it", danger=True, choices=choices)
    if action == "release" and status.decision is not None:
        others = sum(u.units for u in status.arms if u.name != status.decision.name)
        lines = (
            f"{others:,} units in other arms will get {status.decision.name} from now on.",
            "The statistics of the test do not change.",
        )
        title = f"Give everyone {status.decision.name}?"
        return Question("release", title, lines, "Release it")
    if action == "drop-arm" and arm in design.arms:
        lines = (
            f"{arm} gets no new units, and nothing more is claimed about it.",
            "Its users get another arm at once; their outcomes stay with this one.",
            "The guarantee for the other arms stays. This cannot be undone.",
        )
        out = ("dropped", "harmful")
        left = [one.name for one in status.arms if one.part not in out and one.name != arm]
        # The control comes first: it is what users get unless someone chooses otherwise.
        left.sort(key=lambda name: name != design.control_arm)
        choices = tuple((name, f"Its users get {name}") for name in left)
        title = f"Drop {arm}?"
        return Question("drop-arm", title, lines, "Drop it", arm=arm, danger=True, choices=choices)
    raise InputError("action", f"{action} is not possible while {status.name} is {status.state}")


def make(test: Experiment, action: str, value: str, arm: str, to: str = "") -> str:
    """Make a change and return a message."""
    named: dict[str, tuple[Callable[[], None], str]] = {
        "start": (test.start, f"{test.name} is running."),
        "stop": (lambda: test.stop(to or None), f"{test.name} is stopped."),
        "release": (test.release, "All units get the winner now."),
        "drop-arm": (lambda: test.drop_arm(arm, to or None), f"{arm} was dropped."),
    }
    if action == "pause":
        left = test.pause()
        filling = f" The next {left} units still fill the open block." if left else ""
        return f"{test.name} is paused.{filling}"
    if action in named:
        do, done = named[action]
        do()
        return done
    knob = knob_of(test.design) if action == "knob" else None
    if knob is None:
        raise InputError("action", f"{action} is not possible for {test.name}")
    name, new = knob[0], read_knob(knob[0], value)
    test.knob(**{name: new})
    return f"{name.capitalize()} is {new:g} from now on."


def read_knob(name: str, text: str) -> float:
    """Where the knob is to be put.

    >>> read_knob("tilt", " 8 ")
    8.0
    """
    try:
        return float(text)
    except ValueError:
        raise InputError(name, f"{name} must be a number (got {text!r:.60})") from None


def _knob_question(design: Design, status: Status, test: Experiment, value: str) -> Question:
    knob = knob_of(design)
    if knob is None or status.state not in OPEN:
        raise InputError("knob", f"{status.name} has no knob that can be changed now")
    (name, stands), new = knob, read_knob(knob[0], value)
    # The rule refuses what it cannot have.
    replace(design, rule=design.rule.with_knob(new))
    if new == stands:
        raise InputError(name, f"{name} is {new:g} already: choose another value")
    turns = {turn.value: turn for turn in test.forecast([stands, new])}
    return Question(
        "knob",
        f"Turn {name} from {stands:g} to {new:g}?",
        tuple(consequences(design, status, turns.get(stands), turns.get(new))),
        f"Turn it to {new:g}",
        value=f"{new!r}",
    )
