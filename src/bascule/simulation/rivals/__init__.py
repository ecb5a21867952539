"""Rules of other tools and papers, for comparison only: simulated, and outside all guarantees."""

from __future__ import annotations

from bascule.simulation.rivals.rules import (
    RIVALS,
    DoubleKLUCB,
    MixtureAdaptive,
    Rival,
    Thompson,
    TopTwo,
    TrackAndStop,
)

__all__ = [
    "RIVALS",
    "DoubleKLUCB",
    "MixtureAdaptive",
    "Rival",
    "Thompson",
    "TopTwo",
    "TrackAndStop",
]
