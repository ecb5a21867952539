"""Assign units to arms by a hash of their names that is the same on all systems and versions.

A unit's *point* is the first 8 bytes, most significant first, of the SHA-256 digest of the salt, a
zero byte and the unit, in UTF-8: an integer below 2^64. The weights divide these integers into one
range per arm, in the order of the arms, with integer arithmetic only. Nothing here may ever change:
docs/using/bucket.md is the definition, with test vectors for other languages.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from hashlib import sha256
from numbers import Integral, Rational

import numpy as np
from numpy.typing import NDArray

from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks

POINTS = 1 << 64
"""Number of possible hash values of a unit."""


def bucket(unit: str | int, salt: str, weights: Sequence[float | Rational]) -> int:
    """Return the arm, counted from 0, that a unit belongs to.

    `salt` names the test: another salt gives an independent split. An arm's share of all units is
    its share of the sum of the weights. An integer stands for the text of its decimal digits.

    >>> bucket("user-42", "checkout-button", [1, 1])
    0
    >>> bucket(42, "checkout-button", [90, 10]) == bucket("42", "checkout-button", [0.9, 0.1])
    True
    """
    return bisect_right(cuts(weights), point(unit, salt))


def buckets(
    units: Iterable[str | int], salt: str, weights: Sequence[float | Rational]
) -> NDArray[np.int64]:
    """Return the arm of each of many units: the same as `bucket` for each of them, but faster.

    >>> buckets(["ann", "bob", "eve"], "checkout-button", [1, 1, 1]).tolist()
    [2, 1, 0]
    """
    prefix = _prefix(salt)
    listed = units.tolist() if isinstance(units, np.ndarray) else units
    heads = b"".join([sha256(prefix + _name(unit)).digest()[:8] for unit in listed])
    points = np.frombuffer(heads, ">u8").astype(np.uint64)
    # The last cut, 2^64, is left out: it does not fit into 64 bits, and no point reaches it.
    inner = np.array([cut for cut in cuts(weights) if cut < POINTS], np.uint64)
    return np.searchsorted(inner, points, side="right").astype(np.int64)


def point(unit: str | int, salt: str) -> int:
    """Return the hash value of a unit in the test that `salt` names: an integer below 2^64.

    >>> f"{point('user-42', 'checkout-button'):016x}"
    '20c1dc6620da492b'
    """
    return int.from_bytes(sha256(_prefix(salt) + _name(unit)).digest()[:8], "big")


def cuts(weights: Sequence[float | Rational]) -> tuple[int, ...]:
    """Return the exclusive upper end of each arm's range of hash values.

    The cut of an arm is 2^64 times the cumulative weight up to and including this arm over the sum
    of all weights, rounded up.

    >>> [f"{cut:016x}" for cut in cuts([1, 1, 1])]
    ['5555555555555556', 'aaaaaaaaaaaaaaab', '10000000000000000']
    """
    parts = whole_weights(weights)
    total, upto, limits = sum(parts), 0, []
    for weight in parts:
        upto += weight
        limits.append(-(-upto * POINTS // total))
    return tuple(limits)


def whole_weights(weights: object) -> tuple[int, ...]:
    """Return the smallest integers in the same proportions as the weights.

    A float is read as the shortest decimal that represents it: 0.1 is 1/10.

    >>> whole_weights([0.1, 0.2, 0.7]), whole_weights([50, 50])
    ((1, 2, 7), (1, 1))
    """
    if isinstance(weights, str) or not (
        hasattr(weights, "__len__") and hasattr(weights, "__iter__")
    ):
        raise invalid(f"weights must be a list of numbers (got {weights!r})")
    ratios = [_ratio(weight) for weight in weights]
    if not any(ratios):
        raise invalid("weights must have one above 0: give an even split as [1, 1]")
    common = math.lcm(*(ratio.denominator for ratio in ratios))
    parts = [ratio.numerator * (common // ratio.denominator) for ratio in ratios]
    factor = math.gcd(*parts)
    return tuple(weight // factor for weight in parts)


def _ratio(weight: object) -> Fraction:
    remedy = "give each arm its part, as in [90, 10]"
    number = checks.finite("weights", weight, remedy)
    ratio = Fraction(weight) if isinstance(weight, Rational) else Fraction(repr(number))
    if ratio < 0:
        raise invalid(f"weights must be at least 0 (got {weight}): {remedy}")
    return ratio


def _prefix(salt: object) -> bytes:
    if not isinstance(salt, str) or not salt or "\0" in salt:
        raise invalid(
            f"salt must be non-empty text without a zero character (got {salt!r}): name the test"
        )
    return _encoded("salt", salt) + b"\0"


def _name(unit: object) -> bytes:
    if isinstance(unit, str) and unit:
        return _encoded("unit", unit)
    # The first check is quick, and nearly always the only one needed.
    if type(unit) is not int and (isinstance(unit, bool) or not isinstance(unit, Integral)):
        raise invalid(
            f"unit must be non-empty text or a whole number (got {unit!r:.60}): give its identifier"
        )
    try:
        return b"%d" % int(unit)
    except ValueError:
        raise invalid("unit has too many digits: give it as text") from None


def _encoded(field: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InputError(
            field,
            f"{field} must be text that UTF-8 can hold (got {text!r:.60}): "
            "remove the half of a surrogate pair",
        ) from None
