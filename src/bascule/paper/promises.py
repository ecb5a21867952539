"""Whether runs keep what the paper's theorems promise of them."""

from __future__ import annotations

from collections.abc import Sequence

from bascule.paper.claims import Claim, Measured
from bascule.paper.compare import MARGIN
from bascule.simulation import Estimate, Simulation
from bascule.theory import published_bounds


def keeping(
    name: str, section: str, statement: str, cells: Sequence[Simulation], gap: float
) -> Claim:
    """A claim that no more runs break a bound than the theorems allow, in any of the cells."""
    worst = max(_excess(cell, gap) for cell in cells)
    share = max(_broken(cell, gap).mean for cell in cells)
    return Claim(
        name,
        section,
        statement,
        (
            Measured("largest share of runs, over all points, that broke a promise", share),
            Measured("largest such share less what is allowed there", worst),
        ),
        f"at every point the share of runs that decide wrongly, later or dearer than the corrected "
        f"theorems say is at most the proven error, give or take {MARGIN:g} standard errors",
        worst <= 0.0,
    )


def _broken(simulation: Simulation, gap: float) -> Estimate:
    promise = published_bounds(simulation.design, gap)
    late = simulation.decision_time > promise.decision_time
    dear = simulation.regret > promise.regret
    return Estimate.of((simulation.wrong | late | dear).astype(float))


def _excess(simulation: Simulation, gap: float) -> float:
    broken = _broken(simulation, gap)
    return broken.mean - MARGIN * broken.se - simulation.design.calibration.error
