"""Random streams, compiled loops and the results they give."""

from __future__ import annotations

from bascule.simulate.noise import Beta, Coin, Discrete, Normal, StudentT
from bascule.simulate.result import Estimate, Simulation
from bascule.simulate.run import simulate
from bascule.simulate.step import Step
from bascule.simulate.trace import trace
from bascule.simulate.unit_trace import Stage, trace_stages
from bascule.simulate.worlds import Change, Delay, Trend, World

__all__ = [
    "Beta",
    "Change",
    "Coin",
    "Delay",
    "Discrete",
    "Estimate",
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
]
