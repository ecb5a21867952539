"""Outcomes with a known spread: one number a unit, sigma-sub-Gaussian around its arm's mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from bascule.core import checks


@dataclass(frozen=True, slots=True)
class Gaussian:
    """One outcome a unit with standard deviation (or sub-Gaussian proxy) `sigma`.

    >>> Gaussian(sigma=2.0)
    Gaussian(sigma=2.0)
    """

    sigma: float = 1.0
    kind: Literal["gaussian"] = field(default="gaussian", kw_only=True, repr=False)
    low: ClassVar[float] = -math.inf
    high: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        sigma = checks.positive("sigma", self.sigma, "it is the spread of one unit's outcome")
        object.__setattr__(self, "sigma", sigma)

    @property
    def scale(self) -> float:
        """What outcomes are divided by to have a spread of 1."""
        return self.sigma

    def check_mean(self, mean: float) -> None:
        """Accept every finite mean."""

    def check_value(self, value: float) -> None:
        """Accept every finite outcome."""
