"""Types, constants and a decorator that are used in all packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
"""An array of numbers."""

IntArray = NDArray[np.int64]
"""An array of integers, such as winners, units or indexes."""

NOBODY = -1
"""Value of a winner's number while there is no winner."""

NO_DIFFERENCE = -2
"""Value of a winner's number if all differences are proven smaller than the `min_effect`."""

RARE = "called_rarely"
"""Name of the function attribute that `called_rarely` sets."""

Function = TypeVar("Function", bound=Callable[..., object])


def called_rarely(function: Function) -> Function:
    """Mark a function that loops call rarely, so that the compiler does not inline it.

    All other functions that a loop calls are inlined. If rarely needed code were inlined too, fewer
    registers would be left for the rest of the loop.
    """
    setattr(function, RARE, True)
    return function
