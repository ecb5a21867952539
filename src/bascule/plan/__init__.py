"""From wishes to a design: what to run, how long it takes, and what it costs."""

from __future__ import annotations

from bascule.plan.answer import Plan
from bascule.plan.run import plan
from bascule.plan.sample import Sample
from bascule.plan.wishes import Wishes

__all__ = ["Plan", "Sample", "Wishes", "plan"]
