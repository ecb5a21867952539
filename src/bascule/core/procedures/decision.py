"""A decision: what every rule ends with."""

from __future__ import annotations

from dataclasses import dataclass

from bascule.core.rules.calibration import Guarantee


@dataclass(frozen=True, slots=True)
class Decision:
    """The arm a test declares best, or none if no difference matters; and what stands behind it."""

    arm: int | None
    name: str
    error: float
    guarantee: Guarantee
