"""Figure 1: regret and decision time of ETC, ETC' and UCB_alpha in the i.i.d. setting."""

from __future__ import annotations

from bascule.research.paper.figures.curves import Curves
from bascule.research.paper.iid import GRID, MEANS, RULES
from bascule.research.paper.measure import Measurements, Sheet

CURVES = Curves(tuple(rule.label for rule in RULES), GRID)


def figure1(measurements: Measurements, seed: int) -> Sheet:
    """Return Figure 1; the seed is already in the measurements."""
    del seed
    low, high = MEANS
    arms = f"Two Gaussian arms, means {low:g} and {high:g}, σ = 1"
    return Sheet(CURVES.draw(measurements, arms), CURVES.table(measurements))
