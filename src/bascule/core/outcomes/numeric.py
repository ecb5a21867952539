"""Outcomes with an unknown spread, which is estimated while a test runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from bascule.core.errors import invalid
from bascule.core.options import Option
from bascule.core.outcomes.base import Outcome
from bascule.core.outcomes.noise import Noise, Normal

SPREAD = Option(
    "Standard deviation to expect of one outcome.",
    kind="positive",
    group="outcome",
    flag="sigma",
)
"""The option `spread` of models that estimate it; only planning and simulation use it."""


class Estimated(Outcome):
    """The base class of outcome models whose spread is estimated while a test runs."""

    __slots__ = ()

    spread: float | None
    estimated: ClassVar[bool] = True
    scale: ClassVar[float] = 1.0

    def noise(self, means: tuple[float, ...]) -> Noise:
        """Return normal noise with the expected spread; raise `InputError` if none is given."""
        if self.spread is None:
            raise invalid(
                "spread is missing: give the standard deviation of one unit's outcome (sigma on "
                "the command line), which planning and simulation need; a world may have a noise "
                "instead",
                others=("sigma",),
            )
        return Normal(self.spread)

    def expecting(self, spread: float) -> Self:
        """Return the model with this expected spread, unless it already has one."""
        changed: Any = replace(self, spread=spread) if self.spread is None else self  # type: ignore[type-var]
        return changed  # type: ignore[no-any-return]

    def variance(self, mean: float) -> float | None:
        """Return the expected variance; None if no spread is given."""
        return None if self.spread is None else self.spread**2


@dataclass(frozen=True, slots=True)
class Numeric(Estimated):
    """One outcome per unit, any number, whose spread is estimated while the test runs.

    The guarantee is "asymptotic": approximate, and better with more units. Nothing is decided
    before each arm has `20 * skewness^2` units. With money without a cap, wrong decisions can
    be more frequent than stated if most of an arm's mean comes from rare large outcomes that have
    not occurred yet; `Bounded(0, cap)` is proven. If outcomes lie very far from 0 (a million times
    their spread), subtract a constant first.

    - `spread`: the standard deviation to expect, for planning and simulation; the test itself does
      not use it.

    >>> Numeric(35.0).estimated, Numeric().variance(0.0)
    (True, None)
    """

    spread: Annotated[float | None, SPREAD] = None
    kind: Literal["numeric"] = field(default="numeric", kw_only=True, repr=False)
    example: ClassVar[str] = "Numeric()"

    @property
    def words(self) -> str:
        """The model in a few words."""
        expected = "" if self.spread is None else f", about {self.spread:.4g} at first"
        return f"numbers whose spread is estimated{expected}"
