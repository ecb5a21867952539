"""Round numbers for the axes of charts."""

from __future__ import annotations

import math


def round_steps(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from `low` to `high`, evenly apart; about `most` of them.

    >>> round_steps(0.0, 96.0), round_steps(-0.013, 0.02)
    ([0.0, 20.0, 40.0, 60.0, 80.0], [-0.01, 0.0, 0.01, 0.02])
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * power for unit in (1, 2, 5, 10) if unit * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{step * i:.6g}") for i in range(first, last + 1)]
