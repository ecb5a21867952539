"""Ratios of two sums, such as revenue per session or clicks per view, as one number a unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np

from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.options import Option
from bascule.core.outcomes.numeric import Estimated


class Pair(NamedTuple):
    """A numerator and its denominator: what a unit earned, and in how many sessions."""

    numerator: float
    denominator: float


@dataclass(frozen=True, slots=True)
class Ratio(Estimated):
    """A numerator and a denominator a unit; arms are compared by the ratio of their sums.

    The ratio is linearised at a value that is fixed before the test: a unit with numerator n and
    denominator d counts as `at + (n - at d) / per`. Choose `at` near the ratio that is expected and
    `per` near the mean denominator of a unit, both from earlier outcomes (`Ratio.of`); then means
    are ratios, and differences of means differences of ratios. Outcomes are recorded as
    `(numerator, denominator)`. The spread is estimated, and the guarantee is "asymptotic".
    `spread` is the standard deviation to expect of a unit, for planning and simulation.

    >>> round(Ratio(at=0.1, per=4.0).event_value(Pair(3.0, 10.0)), 3)
    0.5
    """

    at: Annotated[
        float | None, Option("The ratio that is expected.", label="Expected ratio", group="outcome")
    ] = None
    per: Annotated[
        float,
        Option("The mean denominator of a unit.", label="Mean denominator", group="outcome"),
    ] = 1.0
    spread: Annotated[
        float | None,
        Option(
            "Standard deviation to expect of one outcome.",
            kind="positive",
            group="outcome",
            flag="sigma",
        ),
    ] = None
    kind: Literal["ratio"] = field(default="ratio", kw_only=True, repr=False)
    pairs: ClassVar[bool] = True
    example: ClassVar[str] = "Ratio(at, per)"

    def __post_init__(self) -> None:
        if self.at is None:
            raise InputError(
                "at", "at is missing: give the ratio that is expected, as in Ratio(at=0.12)"
            )
        checks.accept(self, "at", checks.finite, "it is the ratio that is expected")
        checks.accept(self, "per", checks.positive, "it is the mean denominator of a unit")
        self.check_spread()

    @classmethod
    def of(cls, numerators: Sequence[float], denominators: Sequence[float]) -> Ratio:
        """Return the model that earlier outcomes suggest, one numerator and denominator a unit.

        >>> Ratio.of([1, 0, 3, 2], [10, 5, 15, 10]).at
        0.15
        """
        n, d = (np.asarray(part, np.float64) for part in (numerators, denominators))
        if n.shape != d.shape or n.ndim != 1 or len(n) < 2 or not d.sum() > 0:
            raise InputError(
                "denominators", "give as many denominators as numerators, with a sum above 0"
            )
        at, per = float(n.sum() / d.sum()), float(d.mean())
        return cls(at, per, float(np.std((n - at * d) / per, ddof=1)) or None)

    @property
    def offset(self) -> float:
        """What is added to the sum of a unit's events: the ratio of a unit like all others."""
        assert self.at is not None
        return self.at

    @property
    def words(self) -> str:
        """The model in a few words."""
        return f"ratios, linearised at {self.at:g}"

    def event_value(self, pair: Pair) -> float:
        """Return what an event adds to the outcome of its unit; events of a unit add up."""
        assert self.at is not None
        return (pair.numerator - self.at * pair.denominator) / self.per
