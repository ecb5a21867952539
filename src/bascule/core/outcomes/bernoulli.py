"""Outcomes that are 0 or 1: a unit either converts or it does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from bascule.core.errors import InputError, invalid
from bascule.core.outcomes.base import Outcome
from bascule.core.outcomes.noise import Coin, Discrete, Noise


@dataclass(frozen=True, slots=True)
class Bernoulli(Outcome):
    """One outcome per unit, 0 or 1; the mean of an arm is the probability of a 1.

    The paper's rules use `sigma`, 1/2: every outcome within 0 and 1 is 1/2-sub-Gaussian. Tilted
    blocks bet on differences instead, and need no spread.

    >>> Bernoulli().sigma
    0.5
    """

    kind: Literal["bernoulli"] = field(default="bernoulli", kw_only=True, repr=False)
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    sigma: ClassVar[float] = 0.5
    binary: ClassVar[bool] = True
    integer: ClassVar[bool] = True
    cost_unit: ClassVar[str] = "conversions"
    example: ClassVar[str] = "Bernoulli()"

    @property
    def words(self) -> str:
        """The model in a few words."""
        return "0/1 outcomes"

    def noise(self, means: tuple[float, ...]) -> Noise:
        """Return noise that makes each outcome 0 or 1."""
        return Coin()

    def variance(self, mean: float) -> float:
        """Return the variance of a 0/1 outcome with this mean."""
        return mean * (1.0 - mean)

    def check_mean(self, mean: float) -> None:
        """Raise `InputError` unless a mean is a probability."""
        if not self.low <= mean <= self.high:
            raise invalid(
                f"means of 0/1 outcomes must lie between 0 and 1 (got {mean:g}): "
                "they are probabilities; 5 % is 0.05"
            )

    def check_value(self, value: float) -> None:
        """Raise `InputError` unless an outcome is 0 or 1."""
        if value not in (self.low, self.high):
            raise invalid(
                f"value must be 0 or 1 (got {value!r}): outcomes of this design are Bernoulli"
            )

    def check_noise(self, noise: Noise) -> None:
        """Raise `InputError` unless noise gives only outcomes of 0 or 1."""
        only = set(noise.values) if isinstance(noise, Discrete) else set()
        if isinstance(noise, Coin) or (only and only <= {0.0, 1.0}):
            return
        raise InputError(
            "noise",
            f"{noise!r} does not fit the design, whose outcomes are 0 or 1: leave noise out, or "
            "change the outcome model",
        )
