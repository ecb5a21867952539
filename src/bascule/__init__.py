"""bascule: adaptive A/B tests that balance their cost against the time to a proven decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule import theory
from bascule.analyze import Analysis, ArmAnswer, Check, Day, analyze
from bascule.core.block_progress import Block, fold_block, next_block
from bascule.core.bucket import bucket, buckets
from bascule.core.calibration import Calibration
from bascule.core.cohorts import ArmCohorts, Cohort, CohortStatistics
from bascule.core.decision import Decision
from bascule.core.design import Design
from bascule.core.diagnostics import AllocationStatistics, Diagnostic, diagnose
from bascule.core.effects import Effect, effects
from bascule.core.ends import Ending, ending, remove_arm
from bascule.core.errors import InputError, StoreError
from bascule.core.measure import Measure
from bascule.core.outcomes import Bernoulli, Bounded, Gaussian, Recurrent
from bascule.core.progress import (
    Interval,
    close_stage,
    decision,
    intervals,
    next_arm,
    record,
)
from bascule.core.rules import ETC, UCB, ETCPrime, Static, Tilt
from bascule.core.static_progress import Look, look
from bascule.core.statistics import ArmStatistics, PairStatistics, Statistics
from bascule.live import open  # noqa: A004
from bascule.live.clock import ManualClock
from bascule.live.experiment import Experiment
from bascule.live.maturity import Receipt
from bascule.live.status import ArmStatus, Point, Status
from bascule.live.store import Store
from bascule.plan import plan
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
    Stage,
    Step,
    StudentT,
    Trend,
    World,
    simulate,
    trace,
    trace_stages,
)

if TYPE_CHECKING:
    from bascule.plan.answer import Plan
    from bascule.plan.sample import Sample
    from bascule.plan.wishes import Wishes
    from bascule.report.frontier import Frontier, frontier

__version__ = "0.1.0"

__all__ = [
    "ETC",
    "UCB",
    "AllocationStatistics",
    "Analysis",
    "ArmAnswer",
    "ArmCohorts",
    "ArmStatistics",
    "ArmStatus",
    "Audit",
    "AuditRow",
    "Bernoulli",
    "Beta",
    "Block",
    "Bounded",
    "Calibration",
    "Change",
    "Check",
    "Cohort",
    "CohortStatistics",
    "Coin",
    "Day",
    "Decision",
    "Delay",
    "Design",
    "Diagnostic",
    "Discrete",
    "ETCPrime",
    "Effect",
    "Ending",
    "Estimate",
    "Experiment",
    "Frontier",
    "Gaussian",
    "InputError",
    "Interval",
    "Look",
    "ManualClock",
    "Measure",
    "Normal",
    "PairStatistics",
    "Plan",
    "Point",
    "Receipt",
    "Recurrent",
    "Sample",
    "Simulation",
    "Stage",
    "Static",
    "Statistics",
    "Status",
    "Step",
    "Store",
    "StoreError",
    "StudentT",
    "Tilt",
    "Trend",
    "Wishes",
    "World",
    "analyze",
    "audit",
    "bucket",
    "buckets",
    "close_stage",
    "decision",
    "diagnose",
    "effects",
    "ending",
    "fold_block",
    "frontier",
    "intervals",
    "look",
    "next_arm",
    "next_block",
    "open",
    "plan",
    "record",
    "remove_arm",
    "simulate",
    "theory",
    "trace",
    "trace_stages",
]

_LATER = {
    "Frontier": "bascule.report.frontier",
    "Plan": "bascule.plan.answer",
    "Sample": "bascule.plan.sample",
    "Wishes": "bascule.plan.wishes",
    "frontier": "bascule.report.frontier",
}
"""Names that are loaded when they are first used, and where they are."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _LATER:
            raise AttributeError(f"module 'bascule' has no attribute {name!r}")
        return getattr(import_module(_LATER[name]), name)
