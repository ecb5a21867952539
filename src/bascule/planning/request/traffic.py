"""The traffic of a test: units per day, the enrolled share, and the conversion window."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bascule.core.calendar import DAY
from bascule.core.inputs.checks import tidy
from bascule.core.types import FloatArray

TrafficSteps = tuple[tuple[float, float], ...]
"""Pairs of seconds since the start and the share of the traffic from then on, in order."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Traffic of a test: units per day, the share enrolled, and when outcomes are known.

    >>> Traffic(5000.0, ((0.0, 0.3),), 7.0).known_after(3000)
    9.0
    >>> Traffic(1000.0, ((0.0, 0.1), (86400.0, 1.0))).units_by(np.array([1.0, 2.0])).tolist()
    [100.0, 1100.0]
    """

    units_per_day: float
    """Number of units that arrive per day."""
    steps: TrafficSteps
    """Share of the units that is enrolled, in steps over time."""
    window_days: float = 0.0
    """Number of days until the outcome of a unit is known."""

    @property
    def enrolled_per_day(self) -> float:
        """Number of units enrolled per day in the first step."""
        return tidy(self.steps[0][1] * self.units_per_day)

    def units_by(self, days: FloatArray) -> FloatArray:
        """Return the numbers of units enrolled after the given numbers of days."""
        units = np.zeros_like(days)
        for start, end, rate in self._parts():
            units = units + rate * (np.clip(days, start, end) - start)
        return units

    def units_after(self, days: float) -> float:
        """Return the number of units enrolled after a number of days."""
        return self.units_by(np.asarray(days, np.float64)).item()

    def days_until(self, units: FloatArray | float) -> FloatArray:
        """Return the numbers of days until the given numbers of units are enrolled."""
        counts = np.asarray(units, np.float64)
        days, total = np.zeros_like(counts), 0.0
        for start, end, rate in self._parts():
            days = np.where(counts > total, start + (counts - total) / rate, days)
            total += rate * (end - start)
        return days

    def known_after(self, units: float) -> float:
        """Return the number of days until the outcomes of a number of units are known."""
        return self.days_until(units).item() + self.window_days

    def _parts(self) -> list[tuple[float, float, float]]:
        """Return the first and the last day of each step, and its enrolled units per day."""
        starts = [at / DAY for at, _ in self.steps]
        ends = [*starts[1:], math.inf]
        rates = [tidy(share * self.units_per_day) for _, share in self.steps]
        return list(zip(starts, ends, rates, strict=True))
