"""Plan a test: which design to run, how long it takes, and what it costs."""

from __future__ import annotations

from bascule.planning.api import plan
from bascule.planning.request.sample import Sample
from bascule.planning.result import Plan
from bascule.planning.rollout import Rollout, RolloutCase

__all__ = ["Plan", "Rollout", "RolloutCase", "Sample", "plan"]
