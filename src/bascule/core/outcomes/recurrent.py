"""Outcomes that keep coming: a unit joins an arm for good and gives one at every stage."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.options import Option
from bascule.core.outcomes.base import Outcome
from bascule.core.outcomes.bounded import Bounded
from bascule.core.outcomes.noise import Discrete, Noise, Normal


@dataclass(frozen=True, slots=True, repr=False)
class Recurrent(Outcome):
    """Units that differ by `sigma_unit`, each with outcomes that scatter by `sigma_noise`.

    A unit has a mean of its own, drawn around its arm's when it arrives; an outcome is that mean
    and fresh noise. Both spreads are standard deviations, or sub-Gaussian proxies.

    With `least` and `most` every outcome lies between two numbers and nothing else is assumed:
    spreads need not be known, and `sigma_unit` only says how far units differ in a simulation. Such
    outcomes go with `UCB(alpha, radius="bernstein")`, which decides at planned stages.

    >>> Recurrent(sigma_unit=1.0, sigma_noise=3.0)
    Recurrent(sigma_unit=1.0, sigma_noise=3.0)
    >>> Recurrent(sigma_unit=0.05, least=0, most=1).limited
    True
    """

    sigma_unit: Annotated[float, Option("Standard deviation between units.", group="outcome")] = 1.0
    sigma_noise: Annotated[
        float, Option("Standard deviation of one unit's outcomes.", group="outcome")
    ] = 1.0
    least: Annotated[
        float | None, Option("No outcome lies below.", group="outcome", flag="low")
    ] = None
    most: Annotated[
        float | None, Option("No outcome lies above.", group="outcome", flag="high")
    ] = None
    kind: Literal["recurrent"] = field(default="recurrent", kw_only=True, repr=False)
    recurring: ClassVar[bool] = True
    example: ClassVar[str] = "Recurrent(sigma_unit, sigma_noise)"

    def __post_init__(self) -> None:
        for name, what in (("sigma_unit", "units"), ("sigma_noise", "outcomes of one unit")):
            remedy = f"it is the spread of {what}; 0 if they do not differ"
            checks.accept(self, name, checks.finite, remedy)
            if getattr(self, name):
                checks.accept(self, name, checks.positive, remedy)
        if self.least is not None and self.most is not None:
            within = Bounded(self.least, self.most)
            object.__setattr__(self, "least", within.low)
            object.__setattr__(self, "most", within.high)
        elif self.least is not None or self.most is not None:
            raise InputError(
                "most", "recurring outcomes need both limits, or none: give least and most"
            )
        elif self.sigma == 0:
            raise InputError(
                "sigma_unit",
                "sigma_unit and sigma_noise cannot both be 0: then one outcome an arm says all",
            )

    def __repr__(self) -> str:
        within = f", least={self.least}, most={self.most}" if self.limited else ""
        return f"Recurrent(sigma_unit={self.sigma_unit}, sigma_noise={self.sigma_noise}{within})"

    @property
    def low(self) -> float:
        """The lower limit of outcomes; minus infinity if there is none."""
        return -math.inf if self.least is None else self.least

    @property
    def high(self) -> float:
        """The upper limit of outcomes; infinity if there is none."""
        return math.inf if self.most is None else self.most

    @property
    def sigma(self) -> float:
        """The larger of the two spreads: the one in which evidence is counted."""
        return max(self.unit_spreads)

    @property
    def unit_spreads(self) -> tuple[float, float]:
        """The spread between units and within them.

        Within limits the average of a unit is sub-Gaussian with half their width, whatever its age.
        """
        if self.limited:
            return (self.high - self.low) / 2, 0.0
        return self.sigma_unit, self.sigma_noise

    @property
    def spread_of_units(self) -> float:
        """How far units differ in a simulation; within limits no proof depends on it."""
        return self.sigma_unit

    @property
    def words(self) -> str:
        """The model in a few words."""
        if self.limited:
            return f"recurring outcomes between {self.low:g} and {self.high:g}"
        return (
            f"recurring outcomes, spread {self.sigma_unit:g} between units and "
            f"{self.sigma_noise:g} within them"
        )

    def noise(self, means: tuple[float, ...]) -> Noise:
        """Return the noise of one outcome; the spread between units is drawn apart from it."""
        if self.limited:
            for mean in means:
                self.check_mean(mean)
            return Discrete(
                (self.low, self.high), [(self.high - mean, mean - self.low) for mean in means]
            )
        return Normal(self.sigma)
