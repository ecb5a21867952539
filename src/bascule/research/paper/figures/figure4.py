"""Figure 4: regret and decision time of UCB-MM_alpha, ETC-MM and ETC' for recurring outcomes."""

from __future__ import annotations

from bascule.research.paper.figures.curves import Curves
from bascule.research.paper.measure import Measurements, Sheet
from bascule.research.paper.units import GRID, MEANS, RULES

CURVES = Curves(tuple(rule.label for rule in RULES), GRID)


def figure4(measurements: Measurements, seed: int) -> Sheet:
    """Return Figure 4; the seed is already in the measurements.

    The paper shows UCB-MM_alpha and ETC'; ETC-MM, which it defines but does not show, is drawn too.
    """
    del seed
    low, high = MEANS
    arms = (
        f"Unit setting (UCB-MM, ETC-MM): means {low:g} and {high:g}, σ = 1 between units, "
        "σ = 1 of the noise"
    )
    return Sheet(CURVES.draw(measurements, arms), CURVES.table(measurements))
