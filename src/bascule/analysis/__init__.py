"""Logs of tests that something else has run: read where they are, and answered at any moment."""

from __future__ import annotations

from bascule.analysis.api import analyze
from bascule.analysis.call import Assigned, Log, LogMetric
from bascule.analysis.each import LogAnswer, LogCollection, analyze_each
from bascule.analysis.evidence.course import Day
from bascule.analysis.evidence.kinds import Evidence
from bascule.analysis.result import Analysis, ArmAnswer, Check

__all__ = [
    "Analysis",
    "ArmAnswer",
    "Assigned",
    "Check",
    "Day",
    "Evidence",
    "Log",
    "LogAnswer",
    "LogCollection",
    "LogMetric",
    "analyze",
    "analyze_each",
]
