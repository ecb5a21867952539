"""Ratios of two sums, such as revenue per session or clicks per view, as one number per unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np

from bascule.core.errors import InputError
from bascule.core.options import Option
from bascule.core.outcomes.numeric import SPREAD, Estimated


class Pair(NamedTuple):
    """A numerator and its denominator, such as the revenue and the sessions of a unit."""

    numerator: float
    denominator: float


Value = float | Pair
"""An outcome: a number, or the pair of a ratio."""


@dataclass(frozen=True, slots=True)
class Ratio(Estimated):
    """A numerator and a denominator per unit; arms are compared by the ratio of their sums.

    Outcomes are recorded as `(numerator, denominator)`; those of a unit add up. The outcomes
    of each arm are linearised at its own ratio and mean denominator (the delta method), so that
    nothing has to be known beforehand, and arms may differ in their denominators. A unit whose
    denominators are all 0 is in the test and does not change the ratio. The spread is estimated,
    and the guarantee is "asymptotic".

    The fields are for planning and simulation; `Ratio.of` takes all three from earlier outcomes.

    - `at`: the expected ratio.
    - `per`: the mean denominator of a unit.
    - `spread`: the standard deviation of `at + (n - at d) / per` over units.
    - `is_share`: whether numerators lie between 0 and their denominators, as in good answers per
      judged one. Others are then refused, and so is a margin of 1 or more.

    >>> earlier = Ratio.of([1, 0, 3, 2], [10, 5, 15, 10])
    >>> earlier.at, earlier.per, round(earlier.spread, 4)
    (0.15, 10.0, 0.0736)
    """

    at: Annotated[
        float | None, Option("The ratio that is expected.", label="Expected ratio", group="outcome")
    ] = None
    per: Annotated[
        float,
        Option(
            "The mean denominator of a unit.",
            label="Mean denominator",
            kind="positive",
            group="outcome",
        ),
    ] = 1.0
    spread: Annotated[float | None, SPREAD] = None
    is_share: Annotated[
        bool | None,
        Option(
            "Numerators lie between 0 and their denominators, as in good answers per judged one.",
            label="A share",
            kind="switch",
            group="outcome",
        ),
    ] = field(default=None, kw_only=True, repr=False)
    kind: Literal["ratio"] = field(default="ratio", kw_only=True, repr=False)
    pairs: ClassVar[bool] = True
    example: ClassVar[str] = "Ratio()"

    @classmethod
    def of(cls, numerators: Sequence[float], denominators: Sequence[float]) -> Ratio:
        """Return the model that earlier outcomes suggest, one numerator and denominator per unit.

        >>> Ratio.of([1, 0, 3, 2], [10, 5, 15, 10]).at
        0.15
        """
        n, d = (np.asarray(part, np.float64) for part in (numerators, denominators))
        if n.shape != d.shape or n.ndim != 1 or len(n) < 2 or not d.sum() > 0:
            raise InputError(
                "denominators",
                "denominators must be as many as numerators, two or more, with a sum above 0 (got "
                f"shapes {n.shape} and {d.shape}, and the sum {d.sum():g})",
            )
        at, per = float(n.sum() / d.sum()), float(d.mean())
        return cls(at, per, float(np.std((n - at * d) / per, ddof=1)) or None)

    @property
    def words(self) -> str:
        """The model in a few words."""
        return "ratios" if self.at is None else f"ratios, about {self.at:g} to expect"
