"""Figure 4: regret and decision time where units keep giving outcomes.

The paper shows UCB-MM_alpha and ETC'; ETC-MM, which it defines but does not show, is drawn too.
"""

from __future__ import annotations

from bascule.paper.curves import Curves
from bascule.paper.measure import Measurements
from bascule.paper.sheet import Sheet
from bascule.paper.units import GRID, MEANS, RULES

CURVES = Curves(tuple(rule.label for rule in RULES), GRID)
ARMS = (
    f"Unit setting (UCB-MM, ETC-MM): means {MEANS[0]:g} and {MEANS[1]:g}, σ = 1 between units, "
    "σ = 1 of the noise"
)


def figure4(measurements: Measurements, seed: int) -> Sheet:
    """The drawing and the table of Figure 4; the seed is already in the measurements."""
    del seed
    return Sheet(CURVES.draw(measurements, ARMS), CURVES.table(measurements))
