"""The knob: what turning it would change, as a table to choose from and as a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bascule.core.approximate import error_words, two_digits
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.inputs.written_numbers import tidy
from bascule.live.api import Experiment, Status, Turn, knob_of
from bascule.presentation.numbers import Amounts, duration

STEPS = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
"""Multiples of its least value that the slider offers for a knob; any number may be typed."""

PARTS = 10
"""Parts, at the most, that the range of a knob is offered in, where it has an upper limit."""

FINE = 0.5
"""The step of the slider for a knob without an upper limit."""

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
    """The knob of a test: its name, its value, its range, and the step of the slider."""

    name: str
    meaning: str
    value: str
    low: str
    high: str
    step: str
    choices: tuple[Choice, ...]
    cost_unit: str


def knob_view(design: Design, status: Status, turns: Sequence[Turn]) -> Knob | None:
    """The knob with its trade-off; None where a rule has none."""
    knob, of_rule = knob_of(design), design.rule.knob
    if knob is None or of_rule is None:
        return None
    name, stands = knob
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
        f"{FINE if of_rule.most == math.inf else _round_step(of_rule.most - of_rule.least) / 10:g}",
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
        # A knob whose least value is 0 has no multiples: it is stepped from its present value.
        unit = knob.least if knob.least > 0 else max(abs(knob.value), 1.0)
        steps = [unit * step for step in STEPS]
    return tuple(value for value in sorted({*steps, knob.value}) if _is_possible(design, value))


def _round_step(width: float) -> float:
    """Return 1, 2 or 5 of some power of ten, of which a range has at most `PARTS`.

    >>> _round_step(0.49), _round_step(7.0)
    (0.05, 1.0)
    """
    power = 10.0 ** math.floor(math.log10(width / PARTS))
    return next(tidy(part * power) for part in (1, 2, 5, 10) if part * power * PARTS >= width)


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
