"""What `import bascule` offers; each name is loaded from its module when it is first used."""

from . import theory
from .analysis import (
    Analysis,
    ArmAnswer,
    Assigned,
    Check,
    Day,
    Log,
    LogAnswer,
    LogCollection,
    LogMetric,
    analyze,
    analyze_each,
)
from .analysis.live_test import analyze_experiment
from .contract import check_contract
from .core.cohorts import ArmCohorts, Cohort, CohortStatistics
from .core.covariates.model import Covariate
from .core.design import Design
from .core.diagnostics import AllocationStatistics, Diagnostic, diagnose
from .core.ends import Ending, ending, remove_arm
from .core.enrolment.audience import Audience, Holdout, Layer
from .core.enrolment.bucket import bucket, buckets
from .core.enrolment.segments import Segments
from .core.errors import InfeasibleError, InputError, StoreError
from .core.evidence.calibration import Calibration
from .core.metrics.contrasts import Contrast, contrasts
from .core.metrics.effects import Effect, effects
from .core.metrics.guardrails import MetricView, metric_views
from .core.metrics.measure import Measure
from .core.metrics.metric import Metric
from .core.outcomes import Bernoulli, Bounded, Gaussian, Numeric, Outcome, Ratio, Recurrent
from .core.procedures.base import Block, Decision, Interval, Procedure
from .core.procedures.static.procedure import Look
from .core.progress import (
    close_stage,
    decision,
    fold_block,
    intervals,
    look,
    next_arm,
    next_block,
    record,
)
from .core.rules import ETC, UCB, ETCPrime, Knob, Rule, Static, Tilt
from .core.statistics import ArmStatistics, Statistics
from .live import open  # noqa: A004
from .live.api.backup import backup, restore
from .live.api.experiment import Experiment
from .live.api.segmented import SegmentedExperiment
from .live.api.store import Store
from .live.clock import ManualClock
from .live.reports.history import Point
from .live.reports.segmented import SegmentedStatus
from .live.reports.status import ArmStatus, Status
from .live.reports.verification.doctor import StoreCheck, doctor
from .live.steps.maturity import Receipt
from .planning import plan
from .planning.request.request import PlanRequest
from .planning.request.sample import Sample
from .planning.result import Plan
from .planning.rollout import Rollout, RolloutCase, plan_rollout
from .planning.segments import SegmentedPlan, plan_segments
from .research.comparison.audit import Audit, AuditRow, audit
from .research.comparison.frontier import Frontier, frontier
from .simulation import (
    Beta,
    Change,
    Coin,
    Delay,
    Discrete,
    Estimate,
    Normal,
    SegmentedSimulation,
    Simulation,
    SimulationSummary,
    Stage,
    Step,
    StudentT,
    Trend,
    World,
    simulate,
    simulate_segments,
    simulate_summary,
    trace,
    trace_stages,
)
from .simulation.engines.backends.cluster import use_executor
from .simulation.engines.backends.gpu import use_device

__version__: str
__all__ = [
    "ETC",
    "UCB",
    "AllocationStatistics",
    "Analysis",
    "ArmAnswer",
    "ArmCohorts",
    "ArmStatistics",
    "ArmStatus",
    "Assigned",
    "Audience",
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
    "Contrast",
    "Covariate",
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
    "Holdout",
    "InfeasibleError",
    "InputError",
    "Interval",
    "Knob",
    "Layer",
    "Log",
    "LogAnswer",
    "LogCollection",
    "LogMetric",
    "Look",
    "ManualClock",
    "Measure",
    "Metric",
    "MetricView",
    "Normal",
    "Numeric",
    "Outcome",
    "Plan",
    "PlanRequest",
    "Point",
    "Procedure",
    "Ratio",
    "Receipt",
    "Recurrent",
    "Rollout",
    "RolloutCase",
    "Rule",
    "Sample",
    "SegmentedExperiment",
    "SegmentedPlan",
    "SegmentedSimulation",
    "SegmentedStatus",
    "Segments",
    "Simulation",
    "SimulationSummary",
    "Stage",
    "Static",
    "Statistics",
    "Status",
    "Step",
    "Store",
    "StoreCheck",
    "StoreError",
    "StudentT",
    "Tilt",
    "Trend",
    "World",
    "analyze",
    "analyze_each",
    "analyze_experiment",
    "audit",
    "backup",
    "bucket",
    "buckets",
    "check_contract",
    "close_stage",
    "contrasts",
    "decision",
    "diagnose",
    "doctor",
    "effects",
    "ending",
    "fold_block",
    "frontier",
    "intervals",
    "look",
    "metric_views",
    "next_arm",
    "next_block",
    "open",
    "plan",
    "plan_rollout",
    "plan_segments",
    "record",
    "remove_arm",
    "restore",
    "simulate",
    "simulate_segments",
    "simulate_summary",
    "theory",
    "trace",
    "trace_stages",
    "use_device",
    "use_executor",
]
