"""Rules of other tools and papers, for comparison only: simulated, and outside all guarantees."""

from __future__ import annotations

from bascule.research.rivals.rules import (
    RIVALS,
    DoubleKLUCB,
    MixtureAdaptive,
    Rival,
    RivalProcedure,
    Thompson,
    TopTwo,
    TrackAndStop,
)
from bascule.research.rivals.runs import play_rival
from bascule.research.rivals.total_mean import TotalMean, TotalMeanProcedure, play_total_mean
from bascule.simulation.engines.choose import ENGINES

__all__ = [
    "RIVALS",
    "DoubleKLUCB",
    "MixtureAdaptive",
    "Rival",
    "Thompson",
    "TopTwo",
    "TotalMean",
    "TrackAndStop",
]

ENGINES[RivalProcedure.kind] = play_rival
ENGINES[TotalMeanProcedure.kind] = play_total_mean
