"""bascule: adaptive A/B tests that balance their cost against the time to a proven decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule import theory
from bascule.analysis import Analysis, ArmAnswer, Check, Day, analyze
from bascule.comparison.audit import Audit, AuditRow, audit
from bascule.core.bucket import bucket, buckets
from bascule.core.calibration import Calibration
from bascule.core.cohorts import ArmCohorts, Cohort, CohortStatistics
from bascule.core.design import Design
from bascule.core.diagnostics import AllocationStatistics, Diagnostic, diagnose
from bascule.core.effects import Effect, effects
from bascule.core.ends import Ending, ending, remove_arm
from bascule.core.errors import InfeasibleError, InputError, StoreError
from bascule.core.measure import Measure
from bascule.core.outcomes import Bernoulli, Bounded, Gaussian, Outcome, Recurrent
from bascule.core.procedures.base import Block, Decision, Interval, Procedure
from bascule.core.procedures.static import Look
from bascule.core.progress import (
    close_stage,
    decision,
    fold_block,
    intervals,
    look,
    next_arm,
    next_block,
    record,
)
from bascule.core.rules import ETC, UCB, ETCPrime, Knob, Rule, Static, Tilt
from bascule.core.statistics import ArmStatistics, PairStatistics, Statistics
from bascule.live import open  # noqa: A004
from bascule.live.api.experiment import Experiment
from bascule.live.api.store import Store
from bascule.live.clock import ManualClock
from bascule.live.reports.status import ArmStatus, Point, Status
from bascule.live.steps.maturity import Receipt
from bascule.planning import plan
from bascule.simulation import (
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
    from bascule.comparison.frontier import Frontier, frontier
    from bascule.contract import check_contract
    from bascule.planning.request import PlanRequest
    from bascule.planning.result import Plan
    from bascule.planning.sample import Sample

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
    "InfeasibleError",
    "InputError",
    "Interval",
    "Knob",
    "Look",
    "ManualClock",
    "Measure",
    "Normal",
    "Outcome",
    "PairStatistics",
    "Plan",
    "PlanRequest",
    "Point",
    "Procedure",
    "Receipt",
    "Recurrent",
    "Rule",
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
    "World",
    "analyze",
    "audit",
    "bucket",
    "buckets",
    "check_contract",
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
    "check_contract": "bascule.contract",
    "Frontier": "bascule.comparison.frontier",
    "Plan": "bascule.planning.result",
    "Sample": "bascule.planning.sample",
    "PlanRequest": "bascule.planning.request",
    "frontier": "bascule.comparison.frontier",
}
"""Names that are loaded when they are first used, and where they are."""

_RENAMED = {"Wishes": "PlanRequest"}
"""Names of the first edition, and what they are called now."""


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _RENAMED:
            from warnings import warn

            current = _RENAMED[name]
            warn(f"bascule.{name} is now bascule.{current}", DeprecationWarning, stacklevel=2)
            name = current
        if name not in _LATER:
            raise AttributeError(f"module 'bascule' has no attribute {name!r}")
        return getattr(import_module(_LATER[name]), name)
