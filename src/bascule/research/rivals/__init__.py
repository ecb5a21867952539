"""Rules of other tools and papers, which can be simulated for comparison, without guarantees.

`simulate` plays the `RIVALS`. Four more modules have tests that only the benchmark plays: tests of
pairs (`boundaries`, `group_sequential`), `best_arm`, and `bayesian_trial`.
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
