"""Outcomes that keep coming: a unit joins an arm for good and gives one at every stage."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from bascule.core import checks
from bascule.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Recurrent:
    """Units that differ by `sigma_unit`, each with outcomes that scatter by `sigma_noise`.

    A unit has a mean of its own, drawn around its arm's when it arrives; an outcome is that mean
    and fresh noise. Both spreads are standard deviations, or sub-Gaussian proxies.

    >>> Recurrent(sigma_unit=1.0, sigma_noise=3.0)
    Recurrent(sigma_unit=1.0, sigma_noise=3.0)
    """

    sigma_unit: float = 1.0
    sigma_noise: float = 1.0
    kind: Literal["recurrent"] = field(default="recurrent", kw_only=True, repr=False)
    low: ClassVar[float] = -math.inf
    high: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        for name, what in (("sigma_unit", "units"), ("sigma_noise", "outcomes of one unit")):
            remedy = f"it is the spread of {what}; 0 if they do not differ"
            spread = checks.finite(name, getattr(self, name), remedy)
            if spread:
                spread = checks.positive(name, spread, remedy)
            object.__setattr__(self, name, spread)
        if self.sigma == 0:
            raise InputError(
                "sigma_unit",
                "sigma_unit and sigma_noise cannot both be 0: then one outcome an arm says all",
            )

    @property
    def sigma(self) -> float:
        """The larger of the two spreads: the one in which evidence is counted."""
        return max(self.sigma_unit, self.sigma_noise)

    @property
    def scale(self) -> float:
        """What outcomes are divided by: the larger spread."""
        return self.sigma

    def check_mean(self, mean: float) -> None:
        """Accept every finite mean."""

    def check_value(self, value: float) -> None:
        """Accept every finite outcome."""
