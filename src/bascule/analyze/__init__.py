"""Logs of tests that something else has run: read where they are, and answered at any moment."""

from __future__ import annotations

from bascule.analyze.answer import Analysis, ArmAnswer, Check
from bascule.analyze.course import Day
from bascule.analyze.run import analyze

__all__ = ["Analysis", "ArmAnswer", "Check", "Day", "analyze"]
