"""Outcomes with a known spread: one number per unit, sigma-sub-Gaussian around its arm's mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from bascule.core.options import Option
from bascule.core.outcomes.base import Outcome
from bascule.core.outcomes.noise import Noise, Normal


@dataclass(frozen=True, slots=True)
class Gaussian(Outcome):
    """One outcome per unit with standard deviation (or sub-Gaussian proxy) `sigma`.

    >>> Gaussian(sigma=2.0)
    Gaussian(sigma=2.0)
    """

    sigma: Annotated[
        float,
        Option(
            "Standard deviation of one outcome.",
            label="Standard deviation",
            kind="positive",
            group="outcome",
        ),
    ] = 1.0
    kind: Literal["gaussian"] = field(default="gaussian", kw_only=True, repr=False)
    example: ClassVar[str] = "Gaussian(sigma)"

    @property
    def words(self) -> str:
        """The model in a few words."""
        return f"outcomes with a spread of {self.sigma:g}"

    def noise(self, means: tuple[float, ...]) -> Noise:
        """Return normal noise with the standard deviation `sigma`."""
        return Normal(self.sigma)
