"""Units whose time of arrival is correlated with their outcomes, as the paper warns of.

Units that come early are worse, in both arms alike: each unit's own mean has `SIZE exp(-t / SPAN)`
added, t its stage of arrival. A rule that moves units from one arm to the other gives its arms
units of different times, and takes that for a difference between the arms.
"""

from __future__ import annotations

import math
from functools import lru_cache

from bascule.core.design import Design
from bascule.core.outcomes import Gaussian, Recurrent
from bascule.core.rules import ETC, UCB, Rule, Tilt
from bascule.core.types import IntArray
from bascule.simulation import World, simulate
from bascule.simulation.worlds.world import Trend

SIZE, SPAN = -2.0, 200.0
"""How much worse the first units are, and after how many stages that has faded."""

ARMS, TIE, DELTA, MOST_UNITS = ("A", "B"), (0.0, 0.0), 0.05, 2000
OUTCOME = Recurrent(sigma_unit=1.0, sigma_noise=1.0)
ADAPTIVE = UCB(1.5)
EVEN = ETC()
BLOCKS = Tilt(3)


@lru_cache(maxsize=16)
def winners(rule: Rule, runs: int, seed: int) -> IntArray:
    """Return the winner of each run between equal arms, or -1 where none was declared."""
    design = Design(ARMS, OUTCOME, rule, delta=DELTA, max_units=MOST_UNITS)
    world = World(TIE, arrivals=Trend("fading", SIZE, SPAN))
    return simulate(design, world=world, runs=runs, seed=seed).winner


@lru_cache(maxsize=4)
def winners_in_blocks(runs: int, seed: int) -> IntArray:
    """Return the same for tilted blocks, in which each unit counts with its first outcome."""
    first_outcome = math.hypot(OUTCOME.sigma_unit, OUTCOME.sigma_noise)
    design = Design(
        ARMS, Gaussian(first_outcome), BLOCKS, error=DELTA, sides=1, max_units=MOST_UNITS
    )
    world = World(TIE, trend=Trend("fading", SIZE, SPAN))
    return simulate(design, world=world, runs=runs, seed=seed).winner
