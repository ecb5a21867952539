"""Rules of other tools and papers, which can be simulated for comparison, without guarantees.

`RIVALS` are played by `simulate`. Tests with a plan of their own are played by the benchmark:
`boundaries` and `group_sequential` (tests of pairs), `best_arm`, and `bayesian_trial`.
"""

from __future__ import annotations

from bascule.research.rivals.rules import (
    RIVALS,
    MixtureAdaptive,
    Rival,
    RivalProcedure,
    Thompson,
    TopTwo,
    TrackAndStop,
)
from bascule.research.rivals.runs import play_rival
from bascule.simulation.engines.choose import ENGINES

__all__ = [
    "RIVALS",
    "MixtureAdaptive",
    "Rival",
    "Thompson",
    "TopTwo",
    "TrackAndStop",
]

ENGINES[RivalProcedure.kind] = play_rival
