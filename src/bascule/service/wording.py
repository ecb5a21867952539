"""What errors, intervals and differences mean, in the words of the page, the API and the commands.

Pure functions of numbers: nothing here asks which rule or outcome model a design has.
"""

from __future__ import annotations

import math

from bascule.core.effects import Effect

ROUNDING = 1e-6
"""What floating-point numbers may be off by, in units of the last digit that is shown."""


def error_words(error: float, arms: int = 2) -> str:
    """Say what an error bounds: one side, and therefore twice as much between equal arms.

    >>> error_words(0.05)
    'a worse arm is declared the winner with probability at most 5 %; if the arms are equal, \
either of them with at most 10 %'
    """
    equal = "either of them" if arms == 2 else "any of them"
    return (
        f"a worse arm is declared the winner with probability at most {at_most(error)}; if the "
        f"arms are equal, {equal} with at most {at_most(min(1.0, 2 * error))}"
    )


def interval_name(error: float) -> str:
    """Name an interval by its level, where each bound fails with probability at most `error`.

    >>> interval_name(0.05), interval_name(0.05 / 3), interval_name(0.5)
    ('90 % interval', '96.6 % interval', 'interval')
    """
    level = math.floor(1000.0 * (1.0 - 2.0 * error) + ROUNDING) / 10.0
    return f"{level:g} % interval" if level > 0.0 else "interval"


def bound_words(error: float) -> str:
    """Say what the bounds of an interval promise.

    >>> bound_words(0.05)
    'each bound fails with probability at most 5 %, at any time'
    """
    return f"each bound fails with probability at most {at_most(error)}, at any time"


def at_most(error: float) -> str:
    """Return a probability in percent that is not below it: rounded up at the third digit.

    >>> at_most(0.05), at_most(0.05 / 3), at_most(1e-6)
    ('5 %', '1.67 %', '0.0001 %')
    """
    if error <= 0.0:
        return "0 %"
    unit = 10.0 ** (math.floor(math.log10(100.0 * error)) - 2)
    return f"{math.ceil(100.0 * error / unit - ROUNDING) * unit:.3g} %"


def later_minus_first(effect: Effect) -> tuple[str, float, float, float]:
    """Return a difference as later arm minus first arm: its name, its estimate, both bounds.

    >>> later_minus_first(Effect("control", "green", -1.0, -3.0, 1.0, 0.05, "proven"))
    ('green - control', 1.0, -1.0, 3.0)
    """
    name = f"{effect.second} - {effect.first}"
    return name, -effect.difference, -effect.high, -effect.low


def sentence(text: str) -> str:
    """Return a text with a capital letter and a full stop.

    >>> sentence("no arm is ahead")
    'No arm is ahead.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"
