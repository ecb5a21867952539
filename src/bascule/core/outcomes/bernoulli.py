"""Outcomes that are 0 or 1: a unit either converts or it does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from bascule.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """One outcome a unit, 0 or 1; the mean of an arm is the probability of a 1.

    The paper's rules use `sigma`, 1/2: every outcome within 0 and 1 is 1/2-sub-Gaussian. Tilted
    blocks bet on differences instead, and need no spread.

    >>> Bernoulli().sigma
    0.5
    """

    kind: Literal["bernoulli"] = field(default="bernoulli", kw_only=True, repr=False)
    sigma: ClassVar[float] = 0.5
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    scale: ClassVar[float] = 1.0

    def check_mean(self, mean: float) -> None:
        """Accept a probability."""
        if not self.low <= mean <= self.high:
            raise InputError(
                "means",
                f"means of 0/1 outcomes must lie between 0 and 1 (got {mean:g}): "
                "they are probabilities; 5 % is 0.05",
            )

    def check_value(self, value: float) -> None:
        """Accept 0 and 1."""
        if value not in (self.low, self.high):
            raise InputError(
                "value",
                f"value must be 0 or 1 (got {value!r}): outcomes of this design are Bernoulli",
            )
