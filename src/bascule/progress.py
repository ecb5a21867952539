"""Pure functions of a design and its statistics, called by simulations and by live tests.

They return the next arm or block, the intervals, the end of a test, and its diagnostics.
"""

from __future__ import annotations

from bascule.core.cohorts import ArmCohorts, Cohort, CohortStatistics
from bascule.core.diagnostics import AllocationStatistics, Diagnostic, diagnose
from bascule.core.ending import Ending, ending, remove_arm
from bascule.core.metrics.effects import Contrast, Effect, contrasts, effects
from bascule.core.metrics.guardrails import MetricView, metric_views
from bascule.core.procedures.base import Block, Decision, Interval
from bascule.core.progress import (
    close_stage,
    decision,
    fold_block,
    intervals,
    next_arm,
    next_block,
    record,
)
from bascule.core.statistics import ArmStatistics, Statistics

__all__ = [
    "AllocationStatistics",
    "ArmCohorts",
    "ArmStatistics",
    "Block",
    "Cohort",
    "CohortStatistics",
    "Contrast",
    "Decision",
    "Diagnostic",
    "Effect",
    "Ending",
    "Interval",
    "MetricView",
    "Statistics",
    "close_stage",
    "contrasts",
    "decision",
    "diagnose",
    "effects",
    "ending",
    "fold_block",
    "intervals",
    "metric_views",
    "next_arm",
    "next_block",
    "record",
    "remove_arm",
]
