"""Worlds, the conditions of a simulated test: means, noise, trends, delays, missing outcomes."""

from __future__ import annotations

from bascule.core.outcomes.noise import Beta, Coin, Discrete, Normal, StudentT
from bascule.simulation.worlds.world import Change, Delay, Trend, World

__all__ = ["Beta", "Change", "Coin", "Delay", "Discrete", "Normal", "StudentT", "Trend", "World"]
