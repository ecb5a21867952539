"""The knob: what turning it would change, as a table to choose from and as a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bascule.core.approximate import two_digits
from bascule.core.design import Design
from bascule.live.api import Experiment, Status, Turn, knob_of
from bascule.presentation.numbers import percent
from bascule.service.page.amounts import Amounts, duration

OFFERED = {"tilt": (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0), "alpha": (2.0, 3.0, 4.0, 6.0, 10.0, 16.0)}
"""Where the knob may be put by the slider; a number may be typed beyond."""

MEANINGS = {
    "tilt": "How many units the arm ahead gets, at most, for each one of another. "
    "More costs less and takes longer.",
    "alpha": "How hard the test looks at arms that are behind. More is sooner and costs more.",
}


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
    amounts = Amounts.of(design.outcome)
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
    low, high = OFFERED[name][0], max(OFFERED[name][-1], stands)
    return Knob(
        name, MEANINGS[name], f"{stands:g}", f"{low:g}", f"{high:g}", choices, amounts.cost_unit
    )


def offered(design: Design) -> tuple[float, ...]:
    """The places that the table shows, that where the knob stands among them.

    >>> import bascule as bs
    >>> offered(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(4)))
    (1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 12.0, 20.0)
    """
    found = knob_of(design)
    return () if found is None else tuple(sorted({*OFFERED[found[0]], found[1]}))


def turns_of(test: Experiment, design: Design) -> tuple[Turn, ...]:
    """What is expected at each of these places."""
    return test.forecast(offered(design))


def consequences(design: Design, status: Status, now: Turn | None, then: Turn | None) -> list[str]:
    """What will change when the knob is turned, and what will not."""
    found = knob_of(design)
    assert found is not None
    since = "block" if found[0] == "tilt" else "unit"
    lines = [
        f"It applies from the next {since} on. Units that are in keep their arm.",
        f"The guarantee stays: a wrong decision has probability at most "
        f"{percent(design.calibration.error)} ({design.calibration.guarantee}).",
    ]
    if now is None or then is None:
        lines.append("How long it will take cannot be forecast yet.")
        return lines
    told = forecast_words(design, status, now, then)
    lines.append(f"{told} This is a forecast, if the means are as they look.")
    return lines


def forecast_words(design: Design, status: Status, now: Turn, then: Turn) -> str:
    """What is expected with the knob turned, against leaving it."""
    unit = Amounts.of(design.outcome).cost_unit
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
