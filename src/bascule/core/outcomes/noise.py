"""Noise of simulated outcomes: their distributions around the mean of their arm.

Each kind is one class, registered by adding it to `Noise`; the loops draw it by its `kind` and its
`numbers` (`simulation.kernels.worlds.unit`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self

from bascule.core.errors import invalid
from bascule.core.inputs import checks

LEAST_DF = 2.0
"""Degrees of freedom up to which Student's t has no standard deviation."""

MOST_POINTS = 1000
"""Maximum number of values of a discrete outcome."""


class Limits:
    """The base of `Outcome`: its limits, infinite unless a class states `low` and `high`."""

    __slots__ = ()

    @property
    def low(self) -> float:
        """The lower limit of outcomes; minus infinity if there is none."""
        return -math.inf

    @property
    def high(self) -> float:
        """The upper limit of outcomes; infinity if there is none."""
        return math.inf

    @property
    def limited(self) -> bool:
        """Whether both limits are finite, so that differences can be bet on."""
        return math.isfinite(self.low) and math.isfinite(self.high)


class NoiseModel(Limits):
    """The base class of all noise, with the properties that the simulator and the theory use."""

    __slots__ = ()
    kind: str
    follows_mean: ClassVar[bool] = True
    """Whether the distribution of an arm's outcomes follows the mean that is set for the arm."""

    @property
    def means(self) -> tuple[float, ...] | None:
        """The means of the arms, if they follow from the noise; else None."""
        return None

    @property
    def proxy(self) -> float:
        """The sub-Gaussian spread around any mean; infinite if there is none."""
        return (self.high - self.low) / 2

    @property
    def numbers(self) -> dict[str, float]:
        """The parameters, by name, with which the compiled loops draw outcomes."""
        return {"low": self.low, "high": self.high}

    @property
    def points(self) -> tuple[Sequence[float], Sequence[Sequence[float]]] | None:
        """The values and their probabilities in each arm; None if the noise has no such list."""
        return None

    def reflected(self) -> Self:
        """Return the noise of outcomes mirrored at the middle of their limits, or else at 0."""
        return self

    def like_first(self, arms: int) -> Self:
        """Return the noise with which every arm has the distribution of the first."""
        return self


@dataclass(frozen=True, slots=True)
class Normal(NoiseModel):
    """Normal outcomes with standard deviation `sigma`.

    >>> Normal(2.0).spread(0.5)
    2.0
    """

    sigma: float = 1.0
    kind: Literal["normal"] = field(default="normal", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        checks.accept(self, "sigma", checks.positive, "it is the spread of one unit's outcome")

    @property
    def words(self) -> str:
        """The noise in words."""
        return f"normal noise, sigma {self.sigma:g}"

    @property
    def proxy(self) -> float:
        """The sub-Gaussian spread, which is `sigma` for normal noise."""
        return self.sigma

    @property
    def numbers(self) -> dict[str, float]:
        """The standard deviation, as the parameter "spread"."""
        return {"spread": self.sigma}

    def spread(self, mean: float) -> float:
        """Return the standard deviation of an outcome of an arm with this mean."""
        return self.sigma


@dataclass(frozen=True, slots=True)
class StudentT(NoiseModel):
    """Heavy tails: Student's t with `df` > 2 degrees of freedom and standard deviation `sigma`.

    >>> StudentT(3.0, sigma=2.0).words
    'heavy tails, t with 3 degrees of freedom and sigma 2'
    """

    df: float = 3.0
    sigma: float = 1.0
    kind: Literal["student-t"] = field(default="student-t", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        checks.accept(self, "df", checks.positive, "3 has heavy tails, 30 is nearly normal")
        if self.df <= LEAST_DF:
            raise invalid(
                f"df must be above 2 (got {self.df:g}): otherwise there is no standard deviation; "
                "3 has heavy tails"
            )
        checks.accept(self, "sigma", checks.positive, "it is the spread of one unit's outcome")

    @property
    def words(self) -> str:
        """The noise in words."""
        return f"heavy tails, t with {self.df:g} degrees of freedom and sigma {self.sigma:g}"

    @property
    def numbers(self) -> dict[str, float]:
        """The degrees of freedom, and the factor on a standard Student's t."""
        return {"df": self.df, "spread": self.sigma * math.sqrt((self.df - 2.0) / self.df)}

    def spread(self, mean: float) -> float:
        """Return the standard deviation of an outcome of an arm with this mean."""
        return self.sigma


@dataclass(frozen=True, slots=True)
class Coin(NoiseModel):
    """Outcomes that are 0 or 1; the mean of an arm is the probability of a 1.

    >>> Coin().spread(0.5)
    0.5
    """

    kind: Literal["coin"] = field(default="coin", kw_only=True, repr=False)
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0

    @property
    def words(self) -> str:
        """The noise in words."""
        return "outcomes 0 or 1"

    def spread(self, mean: float) -> float:
        """Return the standard deviation of an outcome of an arm with this mean."""
        return math.sqrt(mean * (1.0 - mean))


@dataclass(frozen=True, slots=True)
class Beta(NoiseModel):
    """Outcomes between `low` and `high` from a beta distribution around the mean of the arm.

    The larger the `concentration` (the sum of the two parameters of the distribution), the nearer
    outcomes lie to that mean.

    >>> round(Beta(4.0, low=0.0, high=10.0).spread(5.0), 3)
    2.236
    """

    concentration: float = 4.0
    low: float = 0.0
    high: float = 1.0
    kind: Literal["beta"] = field(default="beta", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            checks.accept(self, name, checks.finite, "it is a limit of the outcomes")
        if not self.low < self.high:
            raise invalid(f"high must be above low, {self.low:g} (got {self.high:g})")
        remedy = "4 spreads outcomes widely, 100 keeps them near their mean"
        checks.accept(self, "concentration", checks.positive, remedy)

    @property
    def words(self) -> str:
        """The noise in words."""
        limits = f"between {self.low:g} and {self.high:g}"
        return f"beta outcomes {limits}, concentration {self.concentration:g}"

    @property
    def numbers(self) -> dict[str, float]:
        """The limits and the concentration."""
        return {"low": self.low, "high": self.high, "concentration": self.concentration}

    def spread(self, mean: float) -> float:
        """Return the standard deviation of an outcome of an arm with this mean."""
        return math.sqrt((mean - self.low) * (self.high - mean) / (1.0 + self.concentration))


@dataclass(frozen=True, slots=True)
class Discrete(NoiseModel):
    """Outcomes that take one of a few `values`, with a list of `weights` for each arm.

    The means of the arms follow from the values and weights. Weights need not add up to 1.

    >>> Discrete([0, 10, 50], [[0.90, 0.08, 0.02], [0.88, 0.10, 0.02]]).means
    (1.8, 2.0)
    """

    values: Sequence[float]
    weights: Sequence[Sequence[float]]
    kind: Literal["discrete"] = field(default="discrete", kw_only=True, repr=False)
    follows_mean: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, example in (("values", "[0, 10]"), ("weights", "[[0.9, 0.1], [0.8, 0.2]]")):
            if not isinstance(getattr(self, name), list | tuple):
                raise invalid(f"{name} must be a list, as in {example}")
        values = tuple(checks.finite("values", x, "give numbers") for x in self.values)
        if not 2 <= len(values) <= MOST_POINTS or len(set(values)) < len(values):
            raise invalid(f"values must be 2 to {MOST_POINTS} different numbers")
        object.__setattr__(self, "values", values)
        rows = tuple(self._checked(row) for row in self.weights)
        object.__setattr__(self, "weights", rows)

    def _checked(self, row: Sequence[float]) -> tuple[float, ...]:
        remedy = "give each arm a number from 0 on for each of the values, not all 0"
        if not isinstance(row, list | tuple):
            raise invalid(f"weights must be lists (got {row!r}): {remedy}")
        weights = tuple(checks.finite("weights", weight, remedy) for weight in row)
        if len(weights) != len(self.values) or min(weights) < 0 or sum(weights) == 0:
            raise invalid(f"weights do not fit the values: {remedy}")
        return weights

    @property
    def chances(self) -> tuple[tuple[float, ...], ...]:
        """The probability of each value, in each arm."""
        return tuple(tuple(weight / sum(row) for weight in row) for row in self.weights)

    @property
    def means(self) -> tuple[float, ...]:
        """The mean of each arm."""
        return tuple(
            math.fsum(x * chance for x, chance in zip(self.values, row, strict=True))
            for row in self.chances
        )

    @property
    def low(self) -> float:
        """The lowest value."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The highest value."""
        return max(self.values)

    @property
    def words(self) -> str:
        """The noise in words."""
        return f"{len(self.values)} values from {self.low:g} to {self.high:g}"

    @property
    def numbers(self) -> dict[str, float]:
        """No parameters, since `points` has the values and their probabilities."""
        return {}

    @property
    def points(self) -> tuple[Sequence[float], Sequence[Sequence[float]]]:
        """The values, and their probabilities in each arm."""
        return self.values, self.chances

    def reflected(self) -> Discrete:
        """Return the noise with mirrored values."""
        centre = self.low + self.high
        return replace(self, values=tuple(centre - value for value in self.values))

    def like_first(self, arms: int) -> Discrete:
        """Return the noise with which every arm has the weights of the first."""
        return replace(self, weights=(self.weights[0],) * arms)

    def spread(self, mean: float) -> float:
        """Return the standard deviation of the arm whose mean is nearest to `mean`."""
        means = self.means
        arm = min(range(len(means)), key=lambda i: abs(means[i] - mean))
        parts = zip(self.values, self.chances[arm], strict=True)
        return math.sqrt(math.fsum(chance * (x - means[arm]) ** 2 for x, chance in parts))


Noise = Normal | StudentT | Coin | Beta | Discrete
"""Any noise that a simulated world can have."""
