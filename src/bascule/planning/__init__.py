"""Plan a test: recommend a design, and forecast its duration and its cost."""

from __future__ import annotations

from bascule.planning.api import plan
from bascule.planning.request.sample import Sample
from bascule.planning.result import Plan
from bascule.planning.rollout import Rollout, RolloutCase

__all__ = ["Plan", "Rollout", "RolloutCase", "Sample", "plan"]
