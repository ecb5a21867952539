"""Random streams, compiled loops and the results they give."""

from __future__ import annotations

from bascule.simulate.result import Estimate, Simulation
from bascule.simulate.run import simulate
from bascule.simulate.step import Step
from bascule.simulate.trace import trace
from bascule.simulate.unit_trace import Stage, trace_stages

__all__ = ["Estimate", "Simulation", "Stage", "Step", "simulate", "trace", "trace_stages"]
