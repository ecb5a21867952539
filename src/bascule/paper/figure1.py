"""Figure 1: regret and decision time of ETC, ETC' and UCB_alpha against log(1/delta)."""

from __future__ import annotations

from bascule.paper.curves import Curves
from bascule.paper.iid import GRID, MEANS, RULES
from bascule.paper.measure import Measurements
from bascule.paper.sheet import Sheet

CURVES = Curves(tuple(rule.label for rule in RULES), GRID)
ARMS = f"Two Gaussian arms, means {MEANS[0]:g} and {MEANS[1]:g}, σ = 1"


def figure1(measurements: Measurements, seed: int) -> Sheet:
    """The drawing and the table of Figure 1; the seed is already in the measurements."""
    del seed
    return Sheet(CURVES.draw(measurements, ARMS), CURVES.table(measurements))
