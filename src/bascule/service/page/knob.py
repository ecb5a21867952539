"""The knob: what turning it would change, as a table to choose from and as a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bascule.core.approximate import error_words, two_digits
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.live.api import Experiment, Status, Turn, knob_of
from bascule.presentation.numbers import Amounts, duration

STEPS = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
"""Multiples of its least value that the slider offers for a knob; any number may be typed."""

MEANINGS = {
    "tilt": "The number of units that the leading arm gets for each unit of another arm, at most.",
    "alpha": "How much an arm's uncertainty counts when the next unit is assigned.",
}
"""What the knobs of our own rules mean; a rule of a user has the general sentence only."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A place of the knob, and what is expected there, in words and as parts of the most."""

    value: str
    left: str
    cost: str
    left_part: float
    cost_part: float
    stands: bool


@dataclass(frozen=True, slots=True)
class Knob:
    """The knob of a test: its name, its value, and its range."""

    name: str
    meaning: str
    value: str
    low: str
    high: str
    choices: tuple[Choice, ...]
    cost_unit: str


def knob_view(design: Design, status: Status, turns: Sequence[Turn]) -> Knob | None:
    """The knob with its trade-off; None where a rule has none."""
    found = knob_of(design)
    if found is None:
        return None
    name, stands = found
    amounts = Amounts.of(design.outcome, design.goal)
    longest = max((turn.units for turn in turns), default=0.0) or 1.0
    dearest = max((turn.cost for turn in turns), default=0.0) or 1.0
    choices = tuple(
        Choice(
            f"{turn.value:g}",
            time_words(turn.units, status),
            two_digits(turn.cost),
            round(100 * turn.units / longest, 1),
            round(100 * turn.cost / dearest, 1),
            turn.value == stands,
        )
        for turn in turns
    )
    places = offered(design)
    return Knob(
        name,
        meaning(design),
        f"{stands:g}",
        f"{places[0]:g}",
        f"{places[-1]:g}",
        choices,
        amounts.cost_unit,
    )


def meaning(design: Design) -> str:
    """Say what a design's knob does.

    >>> import bascule as bs
    >>> meaning(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(4))).split(". ")[1]
    'A larger value costs less and takes longer.'
    """
    knob = design.rule.knob
    if knob is None:
        return ""
    trade = "costs more and decides sooner" if knob.regret_grows else "costs less and takes longer"
    return f"{MEANINGS.get(knob.name, '')} A larger value {trade}.".strip()


def offered(design: Design) -> tuple[float, ...]:
    """Return the values that the slider and the table offer, the present one among them.

    >>> import bascule as bs
    >>> offered(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(4)))
    (1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 12.0, 20.0)
    >>> offered(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2)))
    (2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
    """
    knob = design.rule.knob
    if knob is None or knob_of(design) is None:
        return ()
    # A knob whose least value is 0 has no multiples: it is stepped from its present value.
    unit = knob.least if knob.least > 0 else max(abs(knob.value), 1.0)
    values = sorted({*(unit * step for step in STEPS), knob.value})
    return tuple(value for value in values if _is_possible(design, value))


def _is_possible(design: Design, value: float) -> bool:
    """Return whether a design accepts its knob at this value, as UCB does not accept 1."""
    try:
        replace(design, rule=design.rule.with_knob(value))
    except InputError:
        return False
    return True


def turns_of(test: Experiment, design: Design) -> tuple[Turn, ...]:
    """What is expected at each of these places."""
    return test.forecast(offered(design))


def consequences(design: Design, status: Status, now: Turn | None, then: Turn | None) -> list[str]:
    """What will change when the knob is turned, and what will not."""
    since = "block" if design.procedure.counts == "blocks" else "unit"
    lines = [
        f"It applies from the next {since} on. Units already assigned keep their arm.",
        f"The guarantee stays: {error_words(design.calibration.error, len(design.arms))} "
        f"({design.calibration.guarantee}).",
    ]
    if now is None or then is None:
        lines.append("How long it will take cannot be forecast yet.")
        return lines
    forecast = forecast_words(design, status, now, then)
    lines.append(f"{forecast} It assumes that the true means equal the present estimates.")
    return lines


def forecast_words(design: Design, status: Status, now: Turn, then: Turn) -> str:
    """What is expected with the knob turned, against leaving it."""
    unit = Amounts.of(design.outcome, design.goal).cost_unit
    return (
        f"Expected: {time_words(then.units, status)} left in place of "
        f"{time_words(now.units, status)}, and {two_digits(then.cost)} {unit} still to lose "
        f"in place of {two_digits(now.cost)}."
    )


def time_words(units: float, status: Status) -> str:
    """Units from here on, as time where the pace is known."""
    if status.days_left is not None and status.left:
        return duration(units * status.days_left / status.left)
    return f"{two_digits(units)} units"
