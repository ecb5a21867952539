"""From a request to a design: what to run, how long it takes, and what it costs."""

from __future__ import annotations

from bascule.planning.api import plan

__all__ = ["plan"]
