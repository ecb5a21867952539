"""Random streams, compiled loops and the results they give."""

from __future__ import annotations

from bascule.simulate.result import Estimate, Simulation
from bascule.simulate.run import simulate
from bascule.simulate.step import Step
from bascule.simulate.trace import trace

__all__ = ["Estimate", "Simulation", "Step", "simulate", "trace"]
