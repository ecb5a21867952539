"""Outcomes within known limits whose spread is unknown: shares, ratings, money up to a cap."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from bascule.core.errors import invalid
from bascule.core.options import Option
from bascule.core.outcomes.base import Outcome
from bascule.core.outcomes.noise import Beta, Noise

NARROWEST = 1e-4
"""Minimum width of the limits relative to their size; narrower ones make variances imprecise."""


@dataclass(frozen=True, slots=True)
class Bounded(Outcome):
    """One outcome per unit, never below `low` and never above `high`.

    Tilted blocks bet on differences and need only the limits. The paper's rules use `sigma`, half
    the width.

    >>> Bounded(0, 500).sigma
    250.0
    """

    low: Annotated[
        float, Option("No outcome lies below.", label="Lower limit", group="outcome")
    ] = 0.0
    high: Annotated[
        float, Option("No outcome lies above.", label="Upper limit", group="outcome")
    ] = 1.0
    kind: Literal["bounded"] = field(default="bounded", kw_only=True, repr=False)
    example: ClassVar[str] = "Bounded(low, high)"

    def __post_init__(self) -> None:
        Outcome.__post_init__(self)
        low, high = self.low, self.high
        if low >= high:
            raise invalid(f"high must be above low, {low:g} (got {high:g})")
        if high - low < NARROWEST * max(abs(low), abs(high)):
            raise invalid(
                f"low and high ({low:g} and {high:g}) are too close together for their size: "
                "subtract low from all outcomes, so that low becomes 0"
            )

    @property
    def words(self) -> str:
        """The model in a few words."""
        return f"outcomes between {self.low:g} and {self.high:g}"

    def noise(self, means: tuple[float, ...]) -> Noise:
        """Return beta noise within the limits, since the model states no distribution."""
        return Beta(low=self.low, high=self.high)
