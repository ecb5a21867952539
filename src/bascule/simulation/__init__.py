"""Simulation of tests: random streams, compiled loops, and results."""

from __future__ import annotations

from bascule.core.outcomes.noise import Beta, Coin, Discrete, Normal, StudentT
from bascule.simulation.api import simulate
from bascule.simulation.engines.backends.cluster import use_executor
from bascule.simulation.engines.backends.gpu import use_device
from bascule.simulation.guardrails import GuardedRuns
from bascule.simulation.result import Estimate, Simulation
from bascule.simulation.trace import Stage, Step, trace, trace_stages
from bascule.simulation.worlds.world import Change, Delay, Trend, World

__all__ = [
    "Beta",
    "Change",
    "Coin",
    "Delay",
    "Discrete",
    "Estimate",
    "GuardedRuns",
    "Normal",
    "Simulation",
    "Stage",
    "Step",
    "StudentT",
    "Trend",
    "World",
    "simulate",
    "trace",
    "trace_stages",
    "use_device",
    "use_executor",
]
