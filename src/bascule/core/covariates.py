"""Adjust outcomes by covariates: numbers that are known of a unit before its assignment.

Outcome y of a unit with covariates x becomes `y - sum theta_k (x_k - c_k)`. The coefficients theta
and the centre c of a block come from complete blocks before it. Units of a block are in random
order, so the arms' means of x differ by 0 on average whatever came before, and the adjusted
difference has the mean of the plain one. docs/research/covariates.md has the proof.

The coefficients are those of a regression within blocks (so that a common trend of x and y has no
influence) with a small ridge. Only sums are stored (`columns` says where each is): raw sums for the
current block, and for complete blocks sums of products about the means of their block. These are
plain functions on flat arrays, so that the simulator can compile them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks
from bascule.core.types import FloatArray

MOST = 10
"""Maximum number of covariates of a design; each needs some units to estimate its coefficient."""

RESERVED = frozenset(
    (
        *("unit", "arm", "number", "probability", "block", "size", "time"),
        *("value", "at", "received", "id", "per"),
    )
)
"""Names of the columns of an export, which covariates must not have."""


@dataclass(frozen=True, slots=True)
class Covariate:
    """A number known of a unit before its assignment that is correlated with its outcome.

    Outcomes are compared after subtracting what the covariate explains, so that a test needs fewer
    units. A covariate that is not related to the outcome does no harm.

    - `name`: the name under which the value is given with an assignment.
    - `low`, `high`: limits of the values, needed if outcomes have limits; values beyond them count
      as the nearest limit.
    - `missing`: the value to use for a unit without one; the status has the number of such units.

    >>> Covariate("spend_before").missing
    0.0
    """

    name: str
    low: float | None = None
    high: float | None = None
    missing: float = 0.0

    def __post_init__(self) -> None:
        name = self.name
        if not isinstance(name, str) or not name.strip() or len(name) > 100:
            raise InputError(
                "covariates", f"a covariate needs a name of 1 to 100 characters (got {name!r:.60})"
            )
        if name in RESERVED:
            raise InputError(
                "covariates", f"covariate {name!r} has the name of an export's column: change it"
            )
        for field in ("low", "high"):
            remedy = f"it is a limit of {name}; leave it out if none"
            checks.accept_given(self, field, checks.finite, remedy)
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise invalid(f"high of {name} must be above low, {self.low:g} (got {self.high:g})")
        checks.accept(self, "missing", checks.finite, f"a unit without {name} counts with it")
        if self.limited(self.missing) != self.missing:
            raise invalid(
                f"missing of {name} must lie within its limits, low={self.low} and "
                f"high={self.high} (got {self.missing:g}): a unit without {name} counts with it"
            )

    @property
    def width(self) -> float:
        """The distance between the limits; infinite without both."""
        if self.low is None or self.high is None:
            return math.inf
        return self.high - self.low

    def limited(self, value: float) -> float:
        """Return `value`, or the nearest limit if it lies beyond the limits.

        >>> Covariate("age", 0, 100).limited(130.0)
        100.0
        """
        if self.low is not None:
            value = max(value, self.low)
        return value if self.high is None else min(value, self.high)


class Known(NamedTuple):
    """The covariates of one unit: values in the order of the design, and how many were missing.

    `beyond` is the number of values that were outside a limit and were replaced by it.
    """

    values: tuple[float, ...]
    missing: int
    beyond: int

    @property
    def text(self) -> str:
        """The values as a JSON list, as they are stored."""
        return f"[{','.join(map(repr, self.values))}]"


def known_of(declared: Sequence[Covariate], given: Mapping[str, object] | None) -> Known:
    """Return the covariates of a unit in stored form; raise `InputError` for non-numbers.

    >>> known_of([Covariate("age", 0, 100)], {"age": 130})
    Known(values=(100.0,), missing=0, beyond=1)
    """
    given = {} if given is None else given
    if type(given) is not dict and not isinstance(given, Mapping):
        raise invalid(
            f'covariates must be names with numbers, as in {{"spend_before": 12.5}} '
            f"(got {given!r:.60})"
        )
    values = []
    missing = beyond = 0
    for covariate in declared:
        value = given.get(covariate.name)
        if value is None:
            missing += 1
            values.append(covariate.missing)
            continue
        number = _number(covariate.name, value)
        values.append(covariate.limited(number))
        beyond += values[-1] != number
    if len(given) > len(values) - missing:
        _refuse_unknown(declared, given)
    return Known(tuple(values), missing, beyond)


def _refuse_unknown(declared: Sequence[Covariate], values: Mapping[str, object]) -> None:
    names = [covariate.name for covariate in declared]
    for name in values:
        if name not in names:
            known = f"it has {', '.join(names)}" if names else "it declares none"
            raise InputError(
                "covariates", f"{name!r:.60} is not a covariate of this design: {known}"
            )


def _number(name: str, value: object) -> float:
    if type(value) is float and -checks.LARGEST <= value <= checks.LARGEST:
        return value
    number = checks.number_in(value)
    if abs(number) <= checks.LARGEST:
        return number
    raise InputError(
        "covariates",
        f"covariate {name} must be finite and at most {checks.LARGEST:g} in absolute value "
        f"(got {value!r:.60}): leave it out where it is not known",
    )


def checked_covariates(covariates: object) -> tuple[Covariate, ...] | None:
    """Return the covariates of a design, or None if there are none."""
    if covariates is None or covariates in ((), []):
        return None
    if not isinstance(covariates, (list, tuple)) or not all(
        isinstance(x, Covariate) for x in covariates
    ):
        raise invalid(
            f'covariates must be a list such as [Covariate("age")] (got {covariates!r:.80})'
        )
    names = [covariate.name for covariate in covariates]
    if len(set(names)) < len(names):
        raise invalid(f"covariates must have different names (got {', '.join(names)}): rename one")
    if len(names) > MOST:
        raise invalid(f"covariates must be at most {MOST} (got {len(names)})")
    return tuple(covariates)


RIDGE = 10.0
"""Shrinkage of coefficients: the number of units with which a coefficient is halved."""

FEWEST = 5
"""Minimum number of units for each covariate and for the mean, before outcomes are adjusted.

If the first few units happen to have similar covariates, a coefficient could be anything.
"""

REACH = 1.0
"""Maximum change of a difference by the adjustment, as a multiple of the range of the outcomes.

Bets need a maximum. A larger one leaves more room for covariates with long tails, and makes the
largest stake smaller, which matters only for tests of very large differences.
"""

SINGULAR = 1e-9
"""A covariate gets no coefficient if less than this share of its variance is left when the
covariates before it have explained the rest."""

Sums = tuple[float, ...]
"""Sums of covariates, as a flat tuple (see `columns`)."""


UNITS, OUTCOMES, FIRST = range(3)
"""Indexes in `Sums` of the number of units, the sum of outcomes, and the first covariate's sum."""


def columns(count: int) -> tuple[int, int, int]:
    """Return the first index of products of covariates, that of products with outcomes, the end.

    >>> columns(2)
    (4, 8, 10)
    """
    products = FIRST + count
    with_outcome = products + count * count
    return products, with_outcome, with_outcome + count


def width(covariates: int) -> int:
    """Return the number of sums that are stored for a number of covariates.

    >>> width(1), width(2)
    (5, 10)
    """
    return columns(covariates)[2]


def observe(block: FloatArray, count: int, xs: FloatArray, at: int, value: float) -> None:
    """Add a unit with covariates `xs[at : at + count]` to the sums of the current block."""
    products, with_outcome, _ = columns(count)
    block[UNITS] += 1.0
    block[OUTCOMES] += value
    for k in range(count):
        x = xs[at + k]
        block[FIRST + k] += x
        block[with_outcome + k] += x * value
        for column in range(count):
            block[products + k * count + column] += x * xs[at + column]


def fold(sums: FloatArray, block: FloatArray, count: int) -> None:
    """Add a complete block to the sums, with products centred at its means, and clear the block."""
    products, with_outcome, end = columns(count)
    units = block[UNITS]
    if units > 0.0:
        sums[UNITS] += units
        sums[OUTCOMES] += block[OUTCOMES]
        for k in range(count):
            sums[FIRST + k] += block[FIRST + k]
            mean = block[FIRST + k] / units
            sums[with_outcome + k] += block[with_outcome + k] - mean * block[OUTCOMES]
            for column in range(count):
                at = products + k * count + column
                sums[at] += block[at] - mean * block[FIRST + column]
    for k in range(end):
        block[k] = 0.0


def coefficients(
    sums: FloatArray, count: int, ranges: FloatArray, limit: float, theta: FloatArray
) -> None:
    """Write the coefficient of each covariate and the mean of each covariate to `theta`.

    For `count` = d, `theta` has d^2 + 2 d numbers: coefficients, means, and working space. If
    `limit` is above 0, all coefficients are scaled down so that the sum of their absolute values
    times `ranges` is at most `limit`.
    """
    units = sums[UNITS]
    products, with_outcome, _ = columns(count)
    room = 2 * count
    for k in range(count):
        theta[k] = 0.0
        theta[count + k] = sums[FIRST + k] / units if units > 0.0 else 0.0
    if units >= FEWEST * (1 + count):
        ridge = 1.0 + RIDGE / units
        # Compute a Cholesky factor row by row; leave out covariates that others explain.
        for i in range(count):
            for j in range(i + 1):
                part = sums[products + i * count + j] * (ridge if i == j else 1.0)
                for k in range(j):
                    part -= theta[room + i * count + k] * theta[room + j * count + k]
                if i == j:
                    square = sums[products + i * count + i]
                    theta[room + i * count + i] = (
                        math.sqrt(part) if part > SINGULAR * square and square > 0.0 else 0.0
                    )
                else:
                    pivot = theta[room + j * count + j]
                    theta[room + i * count + j] = part / pivot if pivot > 0.0 else 0.0
        for i in range(count):
            pivot = theta[room + i * count + i]
            part = sums[with_outcome + i]
            for k in range(i):
                part -= theta[room + i * count + k] * theta[k]
            theta[i] = part / pivot if pivot > 0.0 else 0.0
        for back in range(count):
            i = count - 1 - back
            pivot = theta[room + i * count + i]
            part = theta[i]
            for k in range(i + 1, count):
                part -= theta[room + k * count + i] * theta[k]
            theta[i] = part / pivot if pivot > 0.0 else 0.0
        reach = 0.0
        for k in range(count):
            reach += abs(theta[k]) * ranges[k]
        if limit > 0.0 and reach > limit:
            for k in range(count):
                theta[k] *= limit / reach


def adjusted(value: float, count: int, theta: FloatArray, xs: FloatArray, at: int) -> float:
    """Return an outcome minus the part that the covariates of its unit explain."""
    for k in range(count):
        value -= theta[k] * (xs[at + k] - theta[count + k])
    return value


@dataclass(frozen=True, slots=True)
class Adjustment:
    """The adjustment of outcomes by covariates.

    It changes a difference by at most `most`; if `most` is 0, by any amount.

    >>> adjustment = Adjustment((Covariate("spend_before"),), 0.0)
    >>> block = adjustment.empty
    >>> for x, y in ((0.0, 1.0), (2.0, 5.0)) * 20:
    ...     block = adjustment.added(block, y, (x,))
    >>> sums = adjustment.folded(adjustment.empty, block)
    >>> round(adjustment.coefficients(sums)["spend_before"], 9)
    1.6
    >>> round(adjustment.adjust(sums, 5.0, (2.0,)), 9)
    3.4
    """

    covariates: tuple[Covariate, ...]
    most: float

    @property
    def empty(self) -> Sums:
        """Sums without any unit, for a block or for all blocks."""
        return (0.0,) * width(len(self.covariates))

    def added(self, block: Sums, value: float, xs: Sequence[float]) -> Sums:
        """Return the sums of the current block with a further unit."""
        if len(xs) == 1:
            # With one covariate this does the same as `observe` in a third of the time.
            units, total, sum_x, squares, products = block or self.empty
            x = xs[0]
            return units + 1.0, total + value, sum_x + x, squares + x * x, products + x * value
        state: list[float] = list(block or self.empty)
        observe(state, len(xs), xs, 0, value)  # type: ignore[arg-type]
        return tuple(state)

    def folded(self, sums: Sums, block: Sums) -> Sums:
        """Return the sums of all complete blocks with a further block."""
        state, new = list(sums or self.empty), list(block or self.empty)
        fold(state, new, len(self.covariates))  # type: ignore[arg-type]
        return tuple(state)

    def adjust(self, sums: Sums, value: float, xs: Sequence[float]) -> float:
        """Return an outcome of the current block minus the part that covariates `xs` explain."""
        theta = _theta(self, sums or self.empty)
        if len(xs) == 1:
            return value - theta[0] * (xs[0] - theta[1])
        return adjusted(value, len(xs), theta, xs, 0)  # type: ignore[arg-type]

    def coefficients(self, sums: Sums) -> dict[str, float]:
        """Return the coefficient of each covariate for the next block."""
        theta = _theta(self, sums or self.empty)
        return {covariate.name: float(theta[k]) for k, covariate in enumerate(self.covariates)}


@lru_cache(maxsize=64)
def _theta(adjustment: Adjustment, sums: Sums) -> list[float]:
    # Cached, since all units of a block need the same coefficients.
    count = len(adjustment.covariates)
    theta = [0.0] * (count * count + 2 * count)
    ranges = [covariate.width for covariate in adjustment.covariates]
    coefficients(sums, count, ranges, adjustment.most, theta)  # type: ignore[arg-type]
    return [float(number) for number in theta]
