"""The knob: what a change of it would do, as a table to choose from and as a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bascule.core.approximate import error_words, two_digits
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.inputs.written_numbers import tidy
from bascule.live.api import Status, Turn, knob_of
from bascule.presentation.numbers import Amounts, duration, lost
from bascule.presentation.report import Table

MULTIPLES = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
"""Multiples of its least value that the slider offers for a knob; any number may be typed."""

PARTS = 10
"""Parts, at the most, that the range of a knob is offered in, where it has an upper limit."""

FINE = 0.5
"""The step of the slider for a knob without an upper limit."""

FORECAST = (
    "Forecast of the rest of the test, if the true means equal the present estimates. This is not "
    "a guarantee."
)

EARLY = " It is too early to state the time left."
"""Follows where the status states no time left."""

LONGEST_FORECAST = 3650.0
"""Days beyond which a forecast says only that the arms are alike so far."""

MEANINGS = {
    "tilt": "The number of units that the leading arm gets for each unit of another arm, at most.",
    "alpha": "How much an arm's uncertainty counts when the next unit is assigned.",
}
"""What the knobs of our own rules mean; a rule of a user has the general sentence only."""


@dataclass(frozen=True, slots=True)
class Slider:
    """The knob of a test: its name, what it does, its value, its range and its step."""

    name: str
    meaning: str
    value: str
    low: str
    high: str
    step: str


def slider(design: Design) -> Slider | None:
    """The knob of a design as a slider; None where its rule has none."""
    knob, of_rule = knob_of(design), design.rule.knob
    if knob is None or of_rule is None:
        return None
    name, stands = knob
    places = offered(design)
    step = FINE if of_rule.most == math.inf else _round_step(of_rule.most - of_rule.least) / 10
    shown = (stands, places[0], places[-1], step)
    return Slider(name, meaning(design), *(f"{value:g}" for value in shown))


def forecast_table(design: Design, status: Status, turns: Sequence[Turn]) -> Table | None:
    """What is expected at values of the knob, the present one in bold; None if nothing is known."""
    knob = knob_of(design)
    if knob is None or not turns or (_days(turns[0].units, status) or 0.0) > LONGEST_FORECAST:
        return None
    unit = Amounts.of(design.outcome, design.goal).cost_unit
    is_early = bool(status.undecided_guardrails) or status.time_left is None
    time = "time by this forecast" if is_early else "time left"
    rows = [(knob[0].capitalize(), time, f"further {lost(unit)}")]
    rows += [
        (f"{turn.value:g}", time_words(turn.units, status), two_digits(turn.cost)) for turn in turns
    ]
    now = tuple(at for at, turn in enumerate(turns) if turn.value == knob[1])
    return Table(tuple(rows), f"{FORECAST}{EARLY if is_early else ''}", now)


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
        steps = [unit * step for step in MULTIPLES]
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


def consequences(design: Design, status: Status, now: Turn | None, then: Turn | None) -> list[str]:
    """What will change when the knob is turned, and what will not."""
    since = "block" if design.procedure.counts == "blocks" else "unit"
    lines = [
        f"It applies from the next {since} on. Units already assigned keep their arm.",
        f"The guarantee stays: {error_words(design.calibration.error, len(design.arms))} "
        f"({design.calibration.guarantee}).",
    ]
    if now is None or then is None:
        return [*lines, "How long it will take cannot be forecast yet."]
    unit = Amounts.of(design.outcome, design.goal).cost_unit
    return [
        *lines,
        f"Expected: {time_words(then.units, status)} left in place of "
        f"{time_words(now.units, status)}, and {two_digits(then.cost)} {unit} still to lose "
        f"in place of {two_digits(now.cost)}. It assumes that the true means equal the present "
        "estimates.",
    ]


def time_words(units: float, status: Status) -> str:
    """Units from here on, as time where the pace is known."""
    days = _days(units, status)
    return f"{two_digits(units)} units" if days is None else duration(days)


def _days(units: float, status: Status) -> float | None:
    """Return how long it takes until so many more units have come; None if the pace is unknown."""
    if status.days_left is None or not status.left:
        return None
    return units * status.days_left / status.left
