"""A rule and an outcome model from outside, each with parameters of its own, for tests to register.

As a contributor would write them: one file, and one registration each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import bascule as bs
from bascule.core.inputs import checks
from bascule.core.options import Option
from bascule.core.outcomes import OUTCOMES, Noise, Outcome
from bascule.core.outcomes.noise import Beta
from bascule.core.rules import RULES, BlockAllocation, Knob


def explore_share(ahead: float, tilt: float) -> int:
    """Return the leader's units for each one of a challenger, once there is a leader."""
    return max(1, math.floor(tilt + 0.5)) if ahead > 0.0 else 1


@dataclass(frozen=True, slots=True)
class Explore(BlockAllocation):
    """Blocks in which a part `epsilon` of the units goes to the challenger."""

    epsilon: Annotated[
        float, Option("Part of a block that goes to the challenger.", kind="probability")
    ] = 0.2
    kind: Literal["explore"] = field(default="explore", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        checks.accept(self, "epsilon", checks.probability, "0.2 is usual")

    @property
    def label(self) -> str:
        return f"Explore_{self.epsilon:g}"

    @property
    def words(self) -> str:
        return f"exploring blocks, epsilon {self.epsilon:g}"

    @property
    def knob(self) -> Knob:
        return Knob("epsilon", self.epsilon, 0.01, regret_grows=True, most=0.5)

    @property
    def like(self) -> bs.Tilt:
        return bs.Tilt(max(1.0, 1.0 / self.epsilon - 1.0))

    @property
    def share(self) -> Any:
        return explore_share


@dataclass(frozen=True, slots=True)
class Rating(Outcome):
    """Ratings from 1 to `best`."""

    best: Annotated[
        int, Option("The best rating.", label="Best rating", group="outcome", limits=(2, 100))
    ] = 5
    kind: Literal["rating"] = field(default="rating", kw_only=True, repr=False)
    low: ClassVar[float] = 1.0
    cost_unit: ClassVar[str] = "stars"
    example: ClassVar[str] = "Rating(best)"

    def __post_init__(self) -> None:
        checks.accept(self, "best", checks.whole, 2, "it is the best rating", 100)

    @property
    def high(self) -> float:
        return float(self.best)

    @property
    def sigma(self) -> float:
        return self.scale / 2

    @property
    def words(self) -> str:
        return f"ratings from 1 to {self.best}"

    def noise(self, means: tuple[float, ...]) -> Noise:
        return Beta(low=self.low, high=self.high)


@contextmanager
def registered() -> Iterator[None]:
    """Register both for a block."""
    RULES.register(Explore)
    OUTCOMES.register(Rating)
    try:
        yield
    finally:
        RULES.forget("explore")
        OUTCOMES.forget("rating")
