"""Recurring outcomes: a unit keeps its arm and gives one outcome at every stage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from bascule.core.errors import invalid
from bascule.core.inputs import checks
from bascule.core.options import Option
from bascule.core.outcomes.base import Outcome
from bascule.core.outcomes.noise import Noise, Normal


@dataclass(frozen=True, slots=True)
class Recurrent(Outcome):
    """Units that differ by `sigma_unit`, each with outcomes that vary by `sigma_noise`.

    A unit has its own mean, drawn around that of its arm when it arrives; an outcome is this mean
    plus noise. Both are standard deviations, or sub-Gaussian proxies.

    A live test of them needs `UCB` with the radius "mixture" or "looks", and a `Measure` with a
    `period`; other rules can be simulated only.

    >>> Recurrent(sigma_unit=1.0, sigma_noise=3.0)
    Recurrent(sigma_unit=1.0, sigma_noise=3.0)
    """

    sigma_unit: Annotated[float, Option("Standard deviation between units.", group="outcome")] = 1.0
    sigma_noise: Annotated[
        float, Option("Standard deviation of one unit's outcomes.", group="outcome")
    ] = 1.0
    kind: Literal["recurrent"] = field(default="recurrent", kw_only=True, repr=False)
    recurring: ClassVar[bool] = True
    most_units: ClassVar[int] = 10**8
    example: ClassVar[str] = "Recurrent(sigma_unit, sigma_noise)"

    def __post_init__(self) -> None:
        for name, source in (("sigma_unit", "units"), ("sigma_noise", "outcomes of one unit")):
            remedy = f"it is the spread of {source}; 0 if they do not differ"
            checks.accept(self, name, checks.finite, remedy)
            if getattr(self, name):
                checks.accept(self, name, checks.positive, remedy)
        if self.sigma == 0:
            raise invalid("sigma_unit and sigma_noise cannot both be 0: give one of them above 0")

    @property
    def sigma(self) -> float:
        """The larger of the two spreads; evidence uses outcomes divided by this."""
        return max(self.unit_spreads)

    @property
    def unit_spreads(self) -> tuple[float, float]:
        """The spread between units and the spread within units."""
        return self.sigma_unit, self.sigma_noise

    @property
    def words(self) -> str:
        """The model in a few words."""
        return (
            f"recurring outcomes, spread {self.sigma_unit:g} between units and "
            f"{self.sigma_noise:g} within them"
        )

    def noise(self, means: tuple[float, ...]) -> Noise:
        """Return normal noise with the larger of the two spreads, the scale of the evidence."""
        return Normal(self.sigma)
