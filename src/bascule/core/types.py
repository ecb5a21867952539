"""Types, constants and a mark that every package needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
"""An array of numbers."""

IntArray = NDArray[np.int64]
"""An array of whole numbers: winners, units, places."""

NOBODY = -1
"""The winner while there is none."""

NO_DIFFERENCE = -2
"""The winner when the arms are proven to differ by less than what matters."""

RARE = "called_rarely"
"""The attribute that `called_rarely` sets."""

Function = TypeVar("Function", bound=Callable[..., object])


def called_rarely(function: Function) -> Function:
    """Mark a function that loops call rarely, so that the compiler keeps it apart from them.

    Everything else that a loop calls becomes part of it. A loop that also held what it seldom needs
    would have fewer registers left for the rest.
    """
    setattr(function, RARE, True)
    return function
