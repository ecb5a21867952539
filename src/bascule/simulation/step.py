"""One unit of one run."""

from __future__ import annotations

from dataclasses import dataclass

from bascule.core.procedures.intervals import Decision
from bascule.core.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Step:
    """Where a test stands after a unit: who it joined, what it gave, what is known since."""

    arm: int
    value: float
    statistics: Statistics
    decision: Decision | None
