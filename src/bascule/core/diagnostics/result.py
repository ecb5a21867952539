"""The result of a diagnostic, and the tail probabilities for its p-value."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from bascule.core.inputs import checks
from bascule.core.numerics import turning_point

Validity = Literal["fixed time", "any time"]
"""Whether a p-value holds for one look at a time fixed beforehand, or for any number of looks."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """The result of one diagnostic.

    If there is nothing to find, `p_value` is at most `level` with a probability of at most `level`.
    With validity `"fixed time"` that holds for one look at a time fixed beforehand; with
    `"any time"` it holds for all looks together.

    >>> Diagnostic("trend", 25.0, 0.0001, 0.01, "fixed time", "outcomes drifted").flagged
    True
    """

    name: str
    statistic: float
    p_value: float
    level: float
    validity: Validity
    message: str

    @property
    def flagged(self) -> bool:
        """Whether the p-value is at most `level`."""
        return self.p_value <= self.level

    def at_look(self, number: int) -> Diagnostic:
        """Return the diagnostic of look `number`, with its p-value corrected for several looks.

        A p-value for one look is multiplied by k (k + 1) at look k, so look k uses the fraction
        1 / (k (k + 1)) of the level. These fractions add up to 1.

        >>> Diagnostic("trend", 25.0, 0.001, 0.01, "fixed time", "drift").at_look(4).p_value
        0.02
        """
        if self.validity == "any time":
            return self
        p_value = p_at_look(self.p_value, number)
        message = self.message.replace("(p ", "(at this look alone p ")
        if self.flagged and p_value > self.level:
            message = (
                f"not rare among {number} looks, though it would be at a single one: {message}"
            )
        return replace(self, p_value=p_value, validity="any time", message=message)

    def named(self, arms: Sequence[str]) -> Diagnostic:
        """Return the diagnostic with names in its message instead of numbers of arms.

        >>> result = Diagnostic("sample ratio", 9.0, 0.0001, 0.01, "any time", "arm 1 has 90")
        >>> result.named(["old", "new"]).message
        'new has 90'
        """
        message = re.sub(r"\barm (\d+)\b", lambda match: arms[int(match[1])], self.message)
        return replace(self, message=message)

    def to_dict(self) -> dict[str, float | str | bool]:
        """Return the diagnostic as plain data."""
        return {**asdict(self), "flagged": self.flagged}

    def __str__(self) -> str:
        return f"{'! ' if self.flagged else '  '}{self.name}: {self.message}"


def p_at_look(p_value: float, number: int) -> float:
    """Return the p-value of look `number`, corrected for any number of looks.

    >>> p_at_look(0.001, 4)
    0.02
    """
    number = checks.whole("look", number, 1, "looks are counted from 1")
    return min(1.0, p_value * number * (number + 1))


def checked_level(level: float) -> float:
    """Return the level of a diagnostic; raise `InputError` unless it is a probability."""
    return checks.probability("level", level, "it is the share of false alarms; 0.01 is usual")


def shown(p_value: float) -> str:
    """Return a p-value as text.

    >>> shown(0.0312), shown(3e-9)
    ('p = 0.031', 'p < 0.0001')
    """
    return "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.2g}"


def chi_square_tail(value: float, degrees: int) -> float:
    """Return the probability that a chi-square with `degrees` of freedom is at least `value`.

    With y = value / 2 it is the sum of exp(-y) y^a / Gamma(a + 1) over a = 0, 1, ... below
    degrees / 2 for even degrees, and erfc(sqrt(y)) plus that sum over a = 1/2, 3/2, ... for odd
    ones. All terms are positive, so no digits cancel.

    >>> round(chi_square_tail(3.841459, 1), 6), round(chi_square_tail(18.307038, 10), 6)
    (0.05, 0.05)
    """
    y, odd = 0.5 * value, degrees % 2
    if y <= 0.0:
        return 1.0
    if y == math.inf:
        return 0.0
    tail = math.erfc(math.sqrt(y)) if odd else 0.0
    lowest, terms = 0.5 * odd, degrees // 2
    if terms == 0:
        return tail
    # Sum from the largest term outwards: starting from another term, all could underflow.
    steps = min(max(math.floor(y - lowest), 0), terms - 1)
    top = lowest + steps
    largest = math.exp(top * math.log(y) - y - math.lgamma(top + 1.0))
    total = term = largest
    for k in range(steps):
        term *= (top - k) / y
        total += term
    term = largest
    for k in range(1, terms - steps):
        term *= y / (top + k)
        total += term
    return min(1.0, tail + total)


def normal_tails(z: float) -> float:
    """Return the probability that a standard normal is at least `abs(z)` away from 0.

    >>> round(normal_tails(-1.959964), 6)
    0.05
    """
    return math.erfc(abs(z) * math.sqrt(0.5))


def student_tail(value: float, degrees: float) -> float:
    """Return the probability that Student's t with `degrees` of freedom is at least `value`.

    >>> round(student_tail(2.085963, 20.0), 6), round(student_tail(-1.0, 3.0), 6)
    (0.025, 0.804499)
    """
    if math.isinf(degrees):
        return 0.5 * math.erfc(value * math.sqrt(0.5))
    square = value * value
    two_sided = _beta_part(degrees / (degrees + square), square / (degrees + square), degrees / 2.0)
    return 0.5 * two_sided if value >= 0.0 else 1.0 - 0.5 * two_sided


def student_quantile(tail: float, degrees: float) -> float:
    """Return the value that Student's t exceeds with probability `tail`, which is below 1/2.

    >>> round(student_quantile(0.025, 20.0), 6), round(student_quantile(0.05, 1.0), 4)
    (2.085963, 6.3138)
    """
    high = 1.0
    while student_tail(high, degrees) > tail:
        high *= 2.0
    return turning_point(lambda value: student_tail(value, degrees) > tail, 0.0, high)


def _beta_part(x: float, rest: float, a: float) -> float:
    """Return the regularised incomplete beta function I_x(a, 1/2), with `rest` = 1 - x."""
    if x >= 1.0:
        return 1.0
    if x <= 0.0:
        return 0.0
    if a > 50.0:
        # If a is large, the difference of two log gammas would lose digits.
        gammas = 0.5 * math.log(a) - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5)
    else:
        gammas = math.lgamma(a + 0.5) - math.lgamma(a)
    log_x = math.log1p(-rest) if rest < 0.5 else math.log(x)
    front = math.exp(gammas - 0.5 * math.log(math.pi) + a * log_x + 0.5 * math.log(rest))
    if x < (a + 1.0) / (a + 2.5):
        return front * _fraction(x, a, 0.5) / a
    return 1.0 - front * _fraction(rest, 0.5, a) / 0.5


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / max(1.0 - (a + b) * x / (a + 1.0), tiny)
    value = d
    for m in range(1, 20_000):
        for part in (
            m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0)),
        ):
            d = 1.0 + part * d
            c = 1.0 + part / c
            d, c = 1.0 / (d if abs(d) > tiny else tiny), c if abs(c) > tiny else tiny
            value *= d * c
        if abs(d * c - 1.0) < 1e-16:
            break
    return value
