"""Types and constants that every package needs."""

from __future__ import annotations

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
