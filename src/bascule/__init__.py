"""bascule: adaptive A/B tests that balance their cost against the time to a proven decision."""

from __future__ import annotations

from bascule import theory
from bascule.core.block_progress import Block, fold_block, next_block
from bascule.core.calibration import Calibration
from bascule.core.design import Design
from bascule.core.diagnostics import AllocationStatistics, Diagnostic, diagnose
from bascule.core.effects import Effect, effects
from bascule.core.ends import Ending, ending, remove_arm
from bascule.core.errors import InputError
from bascule.core.outcomes import Bernoulli, Bounded, Gaussian
from bascule.core.progress import Decision, Interval, decision, intervals, next_arm, record
from bascule.core.rules import ETC, UCB, ETCPrime, Tilt
from bascule.core.statistics import ArmStatistics, PairStatistics, Statistics
from bascule.report.audit import Audit, AuditRow, audit
from bascule.simulate import (
    Beta,
    Change,
    Coin,
    Delay,
    Discrete,
    Estimate,
    Normal,
    Simulation,
    Step,
    StudentT,
    Trend,
    World,
    simulate,
    trace,
)

__version__ = "0.1.0"

__all__ = [
    "ETC",
    "UCB",
    "AllocationStatistics",
    "ArmStatistics",
    "Audit",
    "AuditRow",
    "Bernoulli",
    "Beta",
    "Block",
    "Bounded",
    "Calibration",
    "Change",
    "Coin",
    "Decision",
    "Delay",
    "Design",
    "Diagnostic",
    "Discrete",
    "ETCPrime",
    "Effect",
    "Ending",
    "Estimate",
    "Gaussian",
    "InputError",
    "Interval",
    "Normal",
    "PairStatistics",
    "Simulation",
    "Statistics",
    "Step",
    "StudentT",
    "Tilt",
    "Trend",
    "World",
    "audit",
    "decision",
    "diagnose",
    "effects",
    "ending",
    "fold_block",
    "intervals",
    "next_arm",
    "next_block",
    "record",
    "remove_arm",
    "simulate",
    "theory",
    "trace",
]
