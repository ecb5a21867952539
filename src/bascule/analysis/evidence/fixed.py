"""Tests for a single look: Welch's t-test, or the score test for 0/1 outcomes.

They hold if the log is looked at once, at a time that was fixed before the test. Their intervals
are narrower than those that hold at all looks. docs/research/analyse.md has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

from bascule.analysis.reduce.moments import UNITS, Centre, adjusted_mean
from bascule.analysis.reduce.sums import Sums
from bascule.core.diagnostics.result import normal_tails, student_quantile, student_tail
from bascule.core.numerics import turning_point

WELCH, SCORE = "Welch's t-test", "the score test"


@dataclass(frozen=True, slots=True)
class OneLook:
    """Difference `first` minus `second`, treatment minus control, at a single look, with the lift.

    The time of the look was fixed beforehand. Each end of an interval then fails with a probability
    of about `error`, and `p_value` is that of a two-sided test. The lift is NaN if a mean is not
    clearly above 0.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    lift: float
    lift_low: float
    lift_high: float
    p_value: float
    error: float
    test: str

    @property
    def name(self) -> str:
        """The difference in words: "first - second"."""
        return f"{self.first} - {self.second}"

    @property
    def level(self) -> float:
        """Approximate coverage probability of the interval."""
        return max(0.0, 1.0 - 2.0 * self.error)


class Mean(NamedTuple):
    """Summary of an arm: the number, the mean and the variance of its units."""

    units: float
    mean: float
    variance: float

    @property
    def noise(self) -> float:
        """The variance of the mean."""
        return self.variance / self.units


def one_look(
    arms: Sequence[str], means: Sequence[Mean], error: float, *, binary: bool
) -> tuple[OneLook, ...]:
    """Compare all pairs of arms at a single look; each end of an interval has the error `error`.

    >>> (one,) = one_look(["a", "b"], [Mean(100, 5.0, 4.0), Mean(80, 6.0, 9.0)], 0.05, binary=False)
    >>> round(one.low, 4), round(one.high, 4), round(one.lift, 2), round(one.p_value, 4)
    (0.3531, 1.6469, 0.2, 0.0116)
    """
    compared = _score if binary else _welch
    return tuple(
        compared(arms[j], arms[i], means[i], means[j], error)
        for i, j in combinations(range(len(arms)), 2)
        if min(means[i].units, means[j].units) >= 2
    )


def _welch(first: str, second: str, first_mean: Mean, second_mean: Mean, error: float) -> OneLook:
    difference = second_mean.mean - first_mean.mean
    scale = math.sqrt(first_mean.noise + second_mean.noise)
    if scale == 0.0:
        p_value, reach = (1.0 if difference == 0.0 else 0.0), 0.0
    else:
        degrees = _degrees(first_mean.noise, second_mean.noise, first_mean.units, second_mean.units)
        reach = scale * student_quantile(error, degrees)
        p_value = 2.0 * student_tail(abs(difference) / scale, degrees)
    lift = _lift(first_mean, second_mean, error)
    low, high = difference - reach, difference + reach
    return OneLook(first, second, difference, low, high, *lift, p_value, error, WELCH)


def _degrees(noise: float, other_noise: float, units: float, other_units: float) -> float:
    """Welch's degrees of freedom."""
    return (noise + other_noise) ** 2 / (
        noise**2 / (units - 1.0) + other_noise**2 / (other_units - 1.0)
    )


def _lift(mean: Mean, other_mean: Mean, error: float) -> tuple[float, float, float]:
    """Return the relative lift with its interval, by the delta method on the log of the ratio.

    NaN if a mean is not clearly above 0: a change relative to a mean that may be 0 has no meaning,
    and the error of its logarithm is not normal.
    """
    if any(
        arm.mean <= student_quantile(error, arm.units - 1.0) * math.sqrt(arm.noise)
        for arm in (mean, other_mean)
    ):
        return math.nan, math.nan, math.nan
    ratio = other_mean.mean / mean.mean
    noises = mean.noise / mean.mean**2, other_mean.noise / other_mean.mean**2
    scale = math.sqrt(sum(noises))
    if scale == 0.0:
        return ratio - 1.0, ratio - 1.0, ratio - 1.0
    factor = math.exp(
        scale * student_quantile(error, _degrees(*noises, mean.units, other_mean.units))
    )
    return ratio - 1.0, ratio / factor - 1.0, ratio * factor - 1.0


def _score(first: str, second: str, first_mean: Mean, second_mean: Mean, error: float) -> OneLook:
    """Compare two shares: intervals of the difference and the ratio by inverting the score test."""
    n, m, p, q = first_mean.units, second_mean.units, first_mean.mean, second_mean.mean
    limit = NormalDist().inv_cdf(1.0 - error)
    difference = q - p

    def by_difference(delta: float) -> float:
        low = _share_at_difference(n, m, p, q, delta)
        return _z(q - p - delta, low * (1.0 - low) / n + (low + delta) * (1.0 - low - delta) / m)

    def by_ratio(ratio: float) -> float:
        low = _share_at_ratio(n, m, p, q, ratio)
        high = ratio * low
        return _z(q - ratio * p, high * (1.0 - high) / m + ratio**2 * low * (1.0 - low) / n)

    low, high = (_end(by_difference, difference, direction, limit) for direction in (-1.0, 1.0))
    lift = lift_low = lift_high = math.nan
    if p > 0.0 and q > 0.0:
        lift = q / p - 1.0
        lift_low = _end_of_ratio(by_ratio, q / p, 0.5, limit) - 1.0
        lift_high = _end_of_ratio(by_ratio, q / p, 2.0, limit) - 1.0
    numbers = (difference, low, high, lift, lift_low, lift_high)
    return OneLook(first, second, *numbers, normal_tails(by_difference(0.0)), error, SCORE)


def _z(off: float, variance: float) -> float:
    if variance <= 0.0:
        return 0.0 if off == 0.0 else math.copysign(math.inf, off)
    return off / math.sqrt(variance)


def _end(z: Callable[[float], float], at: float, direction: float, limit: float) -> float:
    """Return an end of the interval of a difference: where its score reaches the limit."""
    if at == direction:
        return at
    within = 1.0 - direction * at
    return at + direction * turning_point(
        lambda off: abs(z(at + direction * off)) < limit, 0.0, within
    )


def _end_of_ratio(z: Callable[[float], float], at: float, step: float, limit: float) -> float:
    """Return an end of the interval of a ratio, searched on a logarithmic scale."""
    far = 1.0
    while abs(z(at * step**far)) < limit and far < 256.0:
        far *= 2.0
    off = turning_point(lambda off: abs(z(at * step**off)) < limit, 0.0, far)
    return float(at * step**off)


def _share_at_difference(n: float, m: float, p: float, q: float, delta: float) -> float:
    """Return the maximum likelihood share of the first arm, if the second is larger by `delta`."""

    def rising(share: float) -> bool:
        shifted = share + delta
        return (
            n * (p - share) * shifted * (1.0 - shifted) + m * (q - shifted) * share * (1.0 - share)
            > 0
        )

    return turning_point(rising, max(0.0, -delta), min(1.0, 1.0 - delta))


def _share_at_ratio(n: float, m: float, p: float, q: float, ratio: float) -> float:
    """Return the maximum likelihood share of the first arm, if the second is `ratio` times it."""

    def rising(share: float) -> bool:
        shifted = ratio * share
        return n * (p - share) * (1.0 - shifted) + m * (q - shifted) * (1.0 - share) > 0.0

    return turning_point(rising, 0.0, min(1.0, 1.0 / ratio))


def adjusted_look(arms: Sequence[str], sums: Sums, error: float) -> tuple[OneLook, ...]:
    """Compare all pairs at a single look, adjusted by the covariate over the units of the pair."""
    assert sums.moments is not None
    by_arm = sums.moments.sum(axis=0)
    looks: list[OneLook] = []
    for i, j in combinations(range(len(arms)), 2):
        if min(by_arm[i, UNITS], by_arm[j, UNITS]) < 2:
            return ()
        # As in other tools, the slope is computed about the common mean of both arms.
        pooled = Centre.of(by_arm[i] + by_arm[j])
        means = []
        for arm in (i, j):
            centre = Centre.of(by_arm[arm])
            means.append(Mean(centre.units, *adjusted_mean(centre, pooled)))
        looks += one_look((arms[i], arms[j]), means, error, binary=False)
    return tuple(looks)
