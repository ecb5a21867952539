"""Simulations in which units' arrival times are correlated with their outcomes.

Units that come early have lower outcomes, equally in both arms: `SIZE exp(-t / SPAN)` is added to
the mean of a unit that arrives at stage t. If a rule gives one arm more units as time goes on, its
arms have units of different times, and the rule mistakes this for a difference between the arms.
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
"""The change of the first unit's mean, and the time constant, in stages, of its decay."""

ARMS, TIE, DELTA, MOST_UNITS = ("A", "B"), (0.0, 0.0), 0.05, 2000
OUTCOME = Recurrent(sigma_unit=1.0, sigma_noise=1.0)
ADAPTIVE = UCB(1.5)
EVEN = ETC()
BLOCKS = Tilt(3)


@lru_cache(maxsize=16)
def winners(rule: Rule, runs: int, seed: int) -> IntArray:
    """Return the winner of each run, or -1; as the arms are equal, every winner is wrong."""
    design = Design(ARMS, OUTCOME, rule, delta=DELTA, max_units=MOST_UNITS)
    world = World(TIE, arrivals=Trend("fading", SIZE, SPAN))
    return simulate(design, world=world, runs=runs, seed=seed).winner


@lru_cache(maxsize=4)
def winners_in_blocks(runs: int, seed: int) -> IntArray:
    """Return the same as `winners` for tilted blocks, which use only each unit's first outcome."""
    first_outcome = math.hypot(OUTCOME.sigma_unit, OUTCOME.sigma_noise)
    design = Design(
        ARMS, Gaussian(first_outcome), BLOCKS, error=DELTA, sides=1, max_units=MOST_UNITS
    )
    world = World(TIE, trend=Trend("fading", SIZE, SPAN))
    return simulate(design, world=world, runs=runs, seed=seed).winner
