"""What errors, intervals and differences mean, in the words of the page, the API and the commands.

Pure functions of numbers: nothing here asks which rule or outcome model a design has.
"""

from __future__ import annotations

import math

from bascule.core.contrasts import Contrast
from bascule.core.effects import Effect
from bascule.presentation.amounts import Amounts, known
from bascule.presentation.numbers import relative

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


def contrast_words(contrast: Contrast, amounts: Amounts) -> str:
    """Return a treatment minus the control, in outcome units and relative, with both intervals.

    >>> from bascule.core.outcomes import Bernoulli
    >>> ends = (0.043, 0.0, 0.087, 0.05, 0.43, 0.0, 1.05, 0.055, "proven")
    >>> contrast_words(Contrast("green", "control", *ends), Amounts.of(Bernoulli()))
    'green - control: +4.30 points (90 % interval 0 to +8.70 points); lift +43 % (89 % interval \
0 % to +105 %)'
    """
    text = f"{contrast.name}: {amounts.difference(contrast.difference)}"
    if known(contrast.low) and known(contrast.high):
        ends = amounts.interval(contrast.low, contrast.high)
        text += f" ({interval_name(contrast.error)} {ends})"
    if contrast.lift is not None:
        text += f"; lift {lift_words(contrast)}"
    return text


def lift_words(contrast: Contrast) -> str:
    """Return a relative lift with its interval, where it has one."""
    if not known(contrast.lift_low) or not known(contrast.lift_high):
        return relative(contrast.lift)
    ends = f"{relative(contrast.lift_low)} to {relative(contrast.lift_high)}"
    return f"{relative(contrast.lift)} ({interval_name(contrast.lift_error)} {ends})"


def sentence(text: str) -> str:
    """Return a text with a capital letter and a full stop.

    >>> sentence("no arm is ahead")
    'No arm is ahead.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"
