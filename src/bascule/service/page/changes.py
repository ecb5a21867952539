"""Changes that the page of a test offers, and descriptions of what each will do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bascule.core.approximate import error_words, two_digits
from bascule.core.design import Design
from bascule.core.errors import InputError, invalid
from bascule.core.inputs.checks import tidy
from bascule.live.api import OPEN, Experiment, Status, Turn, knob_of
from bascule.presentation.numbers import Amounts, amount, as_shown, duration, lost
from bascule.presentation.report import Table

MULTIPLES = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
"""Values offered for a knob without an upper limit, as multiples of the knob's least value."""

PARTS = 10
"""Maximum number of equal parts in which the range of a knob with an upper limit is offered."""

FINE = 0.5
"""The step of the slider for a knob without an upper limit."""

FORECAST = (
    "Forecast of the rest of the test, if the true means equal the present estimates. This is not "
    "a guarantee."
)

LONGEST_FORECAST = 3650.0
"""Days above which no forecast is shown, because the arms are too similar so far."""

MEANINGS = {
    "tilt": "The number of units that the leading arm gets for each unit of another arm, at most.",
    "alpha": "How much an arm's uncertainty counts when the next unit is assigned.",
}
"""Meanings of the knobs of built-in rules; for other rules only a general sentence is shown."""


@dataclass(frozen=True, slots=True)
class Slider:
    """The slider for the knob (a changeable parameter) of a test: name, meaning, value, range."""

    name: str
    meaning: str
    value: str
    low: str
    high: str
    step: str


def slider(design: Design) -> Slider | None:
    """Return the slider for a design's knob; None if its rule has no knob."""
    knob, of_rule = knob_of(design), design.rule.knob
    if knob is None or of_rule is None:
        return None
    name, stands = knob
    places = offered(design)
    step = FINE if of_rule.most == math.inf else _round_step(of_rule.most - of_rule.least) / 10
    shown = (stands, places[0], places[-1], step)
    return Slider(name, meaning(design), *(f"{value:g}" for value in shown))


def forecast_table(design: Design, status: Status, turns: Sequence[Turn]) -> Table | None:
    """Return the forecasts at several values of the knob; None if nothing can be forecast."""
    knob = knob_of(design)
    if knob is None or not turns or (_days(turns[0].units, status) or 0.0) > LONGEST_FORECAST:
        return None
    unit = Amounts.of(design.outcome, design.goal).cost_unit
    rows = [(knob[0].capitalize(), "time left", f"further {lost(unit)}")]
    rows += [
        (f"{turn.value:g}", time_words(turn.units, status), amount(turn.cost)) for turn in turns
    ]
    now = tuple(at for at, turn in enumerate(turns) if turn.value == knob[1])
    return Table(tuple(rows), f"{FORECAST}{trade_words(design, turns)}", now)


def trade_words(design: Design, turns: Sequence[Turn]) -> str:
    """Say from which knob value on the cost falls no further; empty if it falls all the way."""
    knob = design.rule.knob
    if knob is None or knob.regret_grows or len(turns) < 2:
        return ""
    cheapest = min(turns, key=lambda turn: (as_shown(turn.cost), turn.value))
    if cheapest is turns[-1]:
        return ""
    return f" A {knob.name} above {cheapest.value:g} takes longer and is no cheaper."


def meaning(design: Design) -> str:
    """Say what a design's knob does.

    >>> import bascule as bs
    >>> meaning(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(4))).split(". ")[1]
    'A larger value usually costs less and takes longer.'
    """
    knob = design.rule.knob
    if knob is None:
        return ""
    trade = "costs more and decides sooner" if knob.regret_grows else "costs less and takes longer"
    return f"{MEANINGS.get(knob.name, '')} A larger value usually {trade}.".strip()


def offered(design: Design) -> tuple[float, ...]:
    """Return the knob values that the slider and the table offer, including the present one.

    >>> import bascule as bs
    >>> offered(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(4)))
    (1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 12.0, 20.0)
    >>> offered(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2)))
    (2.0, 3.0, 5.0, 8.0, 12.0, 20.0)

    A knob with an upper limit is offered in equal steps.
    """
    knob = design.rule.knob
    if knob is None or knob_of(design) is None:
        return ()
    if knob.most < math.inf:
        width = _round_step(knob.most - knob.least)
        first, last = math.ceil(knob.least / width), math.floor(knob.most / width)
        steps = [knob.least, knob.most, *(tidy(width * at) for at in range(first, last + 1))]
    else:
        # Without a least value above 0, multiples of the present value are offered, or of 1 if
        # that is larger.
        unit = knob.least if knob.least > 0 else max(abs(knob.value), 1.0)
        steps = [unit * step for step in MULTIPLES]
    return tuple(value for value in sorted({*steps, knob.value}) if _is_possible(design, value))


def _round_step(width: float) -> float:
    """Return a step of 1, 2 or 5 times a power of ten, with at most `PARTS` steps in a range.

    >>> _round_step(0.49), _round_step(7.0)
    (0.05, 1.0)
    """
    power = 10.0 ** math.floor(math.log10(width / PARTS))
    return next(tidy(part * power) for part in (1, 2, 5, 10) if part * power * PARTS >= width)


def _is_possible(design: Design, value: float) -> bool:
    """Return whether a design accepts a value of its knob; UCB, for example, does not accept 1."""
    try:
        replace(design, rule=design.rule.with_knob(value))
    except InputError:
        return False
    return True


def consequences(
    design: Design, status: Status, now: Turn | None, turned: Turn | None
) -> list[str]:
    """Say what a new value of the knob will change, and what it will not."""
    since = "block" if design.procedure.counts == "blocks" else "unit"
    lines = [
        f"It applies from the next {since} on. Units already assigned keep their arm.",
        f"The guarantee stays: {error_words(design.calibration.error, len(design.arms))} "
        f"({design.guarantee_label}).",
    ]
    if now is None or turned is None:
        return [*lines, "How long it will take cannot be forecast yet."]
    unit = Amounts.of(design.outcome, design.goal).cost_unit
    return [
        *lines,
        f"Expected: {time_words(turned.units, status)} left in place of "
        f"{time_words(now.units, status)}, and {amount(turned.cost)} {unit} still to lose "
        f"in place of {amount(now.cost)}. It assumes that the true means equal the present "
        "estimates.",
    ]


def time_words(units: float, status: Status) -> str:
    """Describe a number of further units: as time if the pace of enrolment is known."""
    days = _days(units, status)
    return f"{two_digits(units)} units" if days is None else duration(days)


def _days(units: float, status: Status) -> float | None:
    """Return the days until so many further units have come; None if the pace is unknown."""
    left = status.time_left
    if left is None or left.days is None or not left.units:
        return None
    return units * left.days / left.units


@dataclass(frozen=True, slots=True)
class PossibleChange:
    """A change that can be made now; `asks` says that it needs a confirmation first."""

    action: str
    label: str
    asks: bool = False
    arm: str = ""
    look: str = ""

    @property
    def id(self) -> str:
        """The id of the button, so that it keeps the focus when the page is updated."""
        return f"do-{self.action}"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A question before a change; `choices` has the value and the text of each possible answer."""

    action: str
    title: str
    lines: tuple[str, ...]
    button: str
    arm: str = ""
    value: str = ""
    danger: bool = False
    choices: tuple[tuple[str, str], ...] = ()


def changes(status: Status) -> list[PossibleChange]:
    """Return the changes possible now for the test as a whole."""
    listed = []
    if status.state == "ready":
        listed.append(PossibleChange("start", "Start", look="primary"))
    if status.state == "paused":
        listed.append(PossibleChange("start", "Resume", look="primary"))
    if status.state == "running":
        listed.append(PossibleChange("pause", "Pause"))
    decided = status.decision
    if decided is not None and decided.arm is not None and status.everyone != decided.name:
        listed.append(
            PossibleChange("release", f"Give everyone {decided.name}", asks=True, look="primary")
        )
    if status.state != "stopped":
        listed.append(PossibleChange("stop", "Stop for good", asks=True, look="danger"))
    return listed


def arm_changes(status: Status) -> dict[str, list[PossibleChange]]:
    """Return the changes possible now for each arm; none unless an open test has three active."""
    into = [arm.name for arm in status.arms if arm.part == "active"]
    if status.state not in OPEN or len(into) < 3:
        return {}
    return {arm: [PossibleChange("drop-arm", "Drop", True, arm, look="danger")] for arm in into}


def ask(
    action: str, design: Design, status: Status, test: Experiment, value: str, arm: str
) -> Confirmation:
    """Describe what a change will do, for the dialog that asks for confirmation."""
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
        return Confirmation("stop", title, lines, "Stop it", danger=True, choices=choices)
    if action == "release" and status.decision is not None:
        rest = sum(u.units for u in status.arms if u.name != status.decision.name)
        lines = (
            f"{rest:,} units in other arms will get {status.decision.name} from now on.",
            "The statistics of the test do not change.",
        )
        title = f"Give everyone {status.decision.name}?"
        return Confirmation("release", title, lines, "Release it")
    if action == "drop-arm" and arm in design.arms:
        lines = (
            f"{arm} gets no new units, and nothing more is claimed about it.",
            "Its users get another arm at once; their outcomes stay with this one.",
            "The guarantee for the other arms stays. This cannot be undone.",
        )
        out = ("dropped", "harmful")
        left = [
            other_arm.name
            for other_arm in status.arms
            if other_arm.part not in out and other_arm.name != arm
        ]
        # The first choice is the default: the control.
        left.sort(key=lambda name: name != design.control_arm)
        choices = tuple((name, f"Its users get {name}") for name in left)
        title = f"Drop {arm}?"
        return Confirmation(
            "drop-arm", title, lines, "Drop it", arm=arm, danger=True, choices=choices
        )
    raise InputError("action", f"{action} is not possible while {status.name} is {status.state}")


def make(test: Experiment, action: str, value: str, arm: str, to: str = "") -> str:
    """Make a change and return a message that confirms it."""
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
        function, message = named[action]
        function()
        return message
    knob = knob_of(test.design) if action == "knob" else None
    if knob is None:
        raise InputError("action", f"{test.name} has no knob that can be changed now")
    name, new = knob[0], read_knob(knob[0], value)
    test.knob(**{name: new})
    return f"{name.capitalize()} is {new:g} from now on."


def read_knob(name: str, text: str) -> float:
    """Parse the value to which the knob is to be set.

    >>> read_knob("tilt", " 8 ")
    8.0
    """
    try:
        return float(text)
    except ValueError:
        raise invalid(f"{name} must be a number (got {text!r:.60})") from None


def _knob_question(design: Design, status: Status, test: Experiment, value: str) -> Confirmation:
    knob = knob_of(design)
    if knob is None or status.state not in OPEN:
        raise InputError("knob", f"{status.name} has no knob that can be changed now")
    (name, stands), new = knob, read_knob(knob[0], value)
    # This raises if the rule does not accept the value.
    replace(design, rule=design.rule.with_knob(new))
    if new == stands:
        raise invalid(f"{name} already is {new:g}: choose another value")
    turns = {turn.value: turn for turn in test.forecast([stands, new])}
    return Confirmation(
        "knob",
        f"Turn {name} from {stands:g} to {new:g}?",
        tuple(consequences(design, status, turns.get(stands), turns.get(new))),
        f"Turn it to {new:g}",
        value=f"{new!r}",
    )
