"""Public names of `bascule`; each is loaded from its module when it is first used."""

from . import analysis, design, live, planning, progress, research, simulation, theory, worlds
from .analysis.api import analyze
from .analysis.assigned import Assigned
from .analysis.call import Log, LogMetric
from .analysis.each import analyze_each
from .core.covariates import Covariate
from .core.design import Design
from .core.enrolment.audience import Audience, Holdout, Layer
from .core.enrolment.bucket import bucket, buckets
from .core.errors import InputError, StoreError
from .core.metrics.measure import Measure
from .core.metrics.metric import Metric
from .core.outcomes import Bernoulli, Bounded, Gaussian, Numeric, Ratio, Recurrent
from .core.rules import ETC, UCB, ETCPrime, Tilt
from .live import open  # noqa: A004
from .live.api.experiment import Experiment
from .live.api.store import Store
from .live.clock import ManualClock
from .planning import plan
from .planning.request.request import PlanRequest
from .planning.rollout import plan_rollout
from .simulation import simulate, trace
from .steering.run import steer

__version__: str
__all__ = [
    "ETC",
    "UCB",
    "Assigned",
    "Audience",
    "Bernoulli",
    "Bounded",
    "Covariate",
    "Design",
    "ETCPrime",
    "Experiment",
    "Gaussian",
    "Holdout",
    "InputError",
    "Layer",
    "Log",
    "LogMetric",
    "ManualClock",
    "Measure",
    "Metric",
    "Numeric",
    "PlanRequest",
    "Ratio",
    "Recurrent",
    "Store",
    "StoreError",
    "Tilt",
    "analysis",
    "analyze",
    "analyze_each",
    "bucket",
    "buckets",
    "design",
    "live",
    "open",
    "plan",
    "plan_rollout",
    "planning",
    "progress",
    "research",
    "simulate",
    "simulation",
    "steer",
    "theory",
    "trace",
    "worlds",
]
