"""The contract of outcome models, which describe the outcomes of one unit.

A model is a frozen dataclass that derives from `Outcome`, in a file of its own. Rules assume only
what the model states: no rule accepts a model without a finite `sigma`, limits, or a spread that is
`estimated`. docs/research/add-a-rule.md shows how to add a model.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from bascule.core.errors import InputError, invalid
from bascule.core.options import Declared
from bascule.core.outcomes.noise import Limits, Noise
from bascule.core.registry import Registry

LACKED_BY_RECURRING = (
    # Options that do not apply, since units are measured at every stage and not in blocks.
    *("window", "min_days", "whole_weeks", "measure_on", "metrics", "covariate"),
    # Uses: as a guardrail, in the form, in the analysis of logs, in some theory, and by Tilt.
    *("metric", "form", "analysis", "tilt", "published bounds"),
)
"""Options and uses that no model of recurring outcomes supports."""

OF_RECURRING = ("several outcomes",)
"""Uses that only models of recurring outcomes support: units that give more than one outcome."""


class Outcome(Declared, Limits, ABC):
    """A model of a unit's outcome: its limits and spread, and how it is checked and simulated."""

    __slots__ = ()

    kind: str
    """The name of the model in a design file and on the command line."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let Pydantic read any registered outcome by its kind."""
        return OUTCOMES.schema(source, handler)

    recurring: ClassVar[bool] = False
    """Whether a unit gives an outcome at every stage, instead of a single one."""

    lacks: ClassVar[tuple[str, ...]] = OF_RECURRING
    """Options and uses that the model does not support. Options are "window", "min_days",
    "whole_weeks", "measure_on", "metrics" and "covariate"; uses are "metric" (as another
    metric), "form" (on the dashboard), "analysis" (of logs), "tilt" (tilted blocks), "published
    bounds" and "several outcomes" (of one unit, as with `Recurrent`)."""

    most_units: ClassVar[int | None] = None
    """Maximum number of units of a simulated test; None for the limit of all simulations."""

    binary: ClassVar[bool] = False
    """Whether an outcome is 0 or 1, so that a mean is a probability."""

    integer: ClassVar[bool] = False
    """Whether an outcome is a whole number."""

    estimated: ClassVar[bool] = False
    """Whether the spread is estimated from the outcomes while a test runs."""

    pairs: ClassVar[bool] = False
    """Whether an event is a numerator and a denominator, which are both summed for each unit."""

    cost_unit: ClassVar[str] = "outcome units"
    """Unit in which regret is counted."""

    example: ClassVar[str]
    """How the model is written in Python, for messages: `Gaussian(sigma)`. If not given, it is the
    name of the class with parentheses."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if not hasattr(cls, "example"):
            cls.example = f"{cls.__name__}()"
        if cls.recurring:
            cls.lacks = LACKED_BY_RECURRING
        elif not {*OF_RECURRING} <= {*cls.lacks}:
            # A model that states what it lacks need not list the uses of recurring outcomes.
            cls.lacks = (*cls.lacks, *OF_RECURRING)

    @classmethod
    def supports(cls, feature: str) -> bool:
        """Return whether the model supports an option or a use; it does unless `lacks` names it.

        >>> import bascule as bs
        >>> bs.Bernoulli.supports("window"), bs.Recurrent.supports("window")
        (True, False)
        """
        return feature not in cls.lacks

    @property
    def is_share(self) -> bool | None:
        """Whether outcomes are ratios whose numerators lie between 0 and their denominators."""
        return None

    @property
    def nonnegative(self) -> bool:
        """Whether the mean of an arm cannot be below 0."""
        return self.low >= 0.0 or bool(self.is_share)

    @property
    def sigma(self) -> float:
        """The sub-Gaussian spread: half the width of the limits; infinite if there are none.

        A model without limits may state another one.
        """
        return (self.high - self.low) / 2.0 if self.limited else math.inf

    @property
    def unit_spreads(self) -> tuple[float, float]:
        """The spread between units and the spread within units, for recurring outcomes."""
        raise InputError("outcome", f"{self!r} gives one outcome per unit: use Recurrent here")

    @property
    def strict(self) -> bool:
        """Whether outcomes need `check_value`, besides a comparison with two limits."""
        one_limit = math.isfinite(self.low) != math.isfinite(self.high)
        return self.integer or one_limit or type(self).check_value is not Outcome.check_value

    @property
    def known_spread(self) -> bool:
        """Whether a sub-Gaussian spread is known that does not come from limits."""
        return math.isfinite(self.sigma) and not self.limited

    @property
    def scale(self) -> float:
        """The width of the limits, or the spread; evidence uses differences divided by this."""
        return self.high - self.low if self.limited else self.sigma

    @abstractmethod
    def noise(self, means: tuple[float, ...]) -> Noise:
        """Return the noise with which outcomes are simulated if arms have these means."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The model in a few words: "0/1 outcomes"."""

    def variance(self, mean: float) -> float | None:
        """Return the variance of an outcome with this mean; None if the model does not say."""
        return self.sigma**2 if self.known_spread else None

    def expecting(self, spread: float) -> Self:
        """Return the model with this expected spread, if it takes one and none is set."""
        return self

    def reflected(self, value: float) -> float:
        """Return an outcome or mean mirrored at the middle of the limits, or at 0 without limits.

        >>> import bascule as bs
        >>> bs.Bounded(0, 10).reflected(2.0), bs.Gaussian(1).reflected(2.0)
        (8.0, -2.0)
        """
        return self.low + self.high - value if self.limited else -value

    def check_mean(self, mean: float) -> None:
        """Raise `InputError` unless an arm can have this mean."""
        if not self.low <= mean <= self.high:
            raise invalid(
                f"means must lie between {self.low:g} and {self.high:g}, the limits of the "
                f"outcomes (got {mean:g}): change means, or the limits"
            )

    def check_value(self, value: float) -> None:
        """Raise `InputError` unless a unit can have this outcome."""
        if not self.low <= value <= self.high:
            raise invalid(
                f"value must lie between {self.low:g} and {self.high:g}, the limits of this "
                f"design's outcomes (got {value!r})"
            )
        if self.integer and value != math.floor(value):
            raise invalid(
                f"value must be a whole number (got {value!r}): outcomes of this design are "
                f"{self.words}"
            )

    def check_noise(self, noise: Noise) -> None:
        """Raise `InputError` if noise gives outcomes that this model does not allow."""
        if self.low <= noise.low and noise.high <= self.high:
            return
        raise InputError(
            "noise",
            f"{noise!r} does not fit the design, whose outcomes are between {self.low:g} and "
            f"{self.high:g}: leave noise out, or change the outcome model",
        )


OUTCOMES: Registry[Outcome] = Registry("outcome", Outcome)  # type: ignore[type-abstract]
"""Every outcome model that a design file can name."""
