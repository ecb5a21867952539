"""bascule: adaptive A/B tests that balance their cost against the time to a proven decision."""

from __future__ import annotations

from bascule import theory
from bascule.core.bucket import bucket, buckets
from bascule.core.calibration import Calibration
from bascule.core.cohorts import ArmCohorts, Cohort, CohortStatistics
from bascule.core.decision import Decision
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.outcomes import Bernoulli, Gaussian, Recurrent
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
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.simulate import (
    Estimate,
    Simulation,
    Stage,
    Step,
    simulate,
    trace,
    trace_stages,
)

__version__ = "0.1.0"

__all__ = [
    "ETC",
    "UCB",
    "ArmCohorts",
    "ArmStatistics",
    "Bernoulli",
    "Calibration",
    "Cohort",
    "CohortStatistics",
    "Decision",
    "Design",
    "ETCPrime",
    "Estimate",
    "Gaussian",
    "InputError",
    "Interval",
    "Look",
    "Recurrent",
    "Simulation",
    "Stage",
    "Static",
    "Statistics",
    "Step",
    "Tilt",
    "bucket",
    "buckets",
    "close_stage",
    "decision",
    "intervals",
    "look",
    "next_arm",
    "record",
    "simulate",
    "theory",
    "trace",
    "trace_stages",
]
