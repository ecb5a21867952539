"""Outcomes within known limits whose spread nobody knows: shares, ratings, money up to a cap."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bascule.core import checks
from bascule.core.errors import InputError

NARROWEST = 1e-4
"""Limits closer than this, for their size, would leave too few digits to a variance."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """One outcome a unit, never below `low` and never above `high`.

    Tilted blocks bet on differences and need nothing but the limits. The paper's rules use
    `sigma`, half the width, unless they are given the radius that follows the spread as it is seen.

    >>> Bounded(0, 500).sigma
    250.0
    """

    low: float = 0.0
    high: float = 1.0
    kind: Literal["bounded"] = field(default="bounded", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        low = checks.finite("low", self.low, "no outcome lies below it")
        high = checks.finite("high", self.high, "no outcome lies above it")
        if low >= high:
            raise InputError("high", f"high must be above low (got {low:g} and {high:g})")
        if high - low < NARROWEST * max(abs(low), abs(high)):
            raise InputError(
                "low",
                f"low and high ({low:g} and {high:g}) are too close together for their size: "
                "count outcomes from low on, so that low becomes 0",
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def sigma(self) -> float:
        """Half the width: every outcome within it is sub-Gaussian with that."""
        return self.scale / 2

    @property
    def scale(self) -> float:
        """The width, by which differences are divided."""
        return self.high - self.low

    def check_mean(self, mean: float) -> None:
        """Accept what lies within the limits."""
        if not self.low <= mean <= self.high:
            raise InputError(
                "means",
                f"means must lie between {self.low:g} and {self.high:g}, the limits of the "
                f"outcomes (got {mean:g}): change means, or the limits",
            )

    def check_value(self, value: float) -> None:
        """Accept what lies within the limits."""
        if not self.low <= value <= self.high:
            raise InputError(
                "value",
                f"value must lie between {self.low:g} and {self.high:g}, the limits of this "
                f"design's outcomes (got {value!r})",
            )
