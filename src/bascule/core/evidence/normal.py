"""Evidence from sums whose noise is sub-Gaussian, and the boundary that a sum has to reach.

A sum, `total`, has a `clock`: the number of observations with a standard deviation of 1 that have
the same noise. `log_mixture` and `log_informed` are the logarithm of the evidence that its drift is
positive, and `mixture_boundary` and `informed_boundary` the total at which that evidence reaches a
threshold. docs/research/evidence.md has the proofs.
"""

from __future__ import annotations

import math

from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.types import called_rarely

SCALES = (1.0, 10.0, 100.0, 1000.0, 10000.0)
"""Clocks for which the components of the mixture are tuned: rho in the docs."""

CENTRE = 2.0
"""Mean of the informed mixture before its truncation at 0, in its own standard deviations."""

SERIES_BELOW = -20.0
"""Argument below which the normal distribution function is computed by its asymptotic series."""

NEWTON_STEPS = 64
"""Maximum number of Newton steps; no search for a boundary needs as many."""

CLOSE = 1e-7
"""Relative size of a Newton step at which a search ends; the error left is about its square."""

HALF_ROOT = math.sqrt(0.5)
DENSITY_AT_0 = 1.0 / math.sqrt(2.0 * math.pi)


@called_rarely
def tail_series(z: float) -> float:
    """Return `exp(z^2 / 2) * Phi(z)` for `z` below `SERIES_BELOW`."""
    u = 1.0 / z / z
    series = 1.0 - 13.0 * u
    series = 1.0 - 11.0 * u * series
    series = 1.0 - 9.0 * u * series
    series = 1.0 - 7.0 * u * series
    series = 1.0 - 5.0 * u * series
    series = 1.0 - 3.0 * u * series
    series = 1.0 - u * series
    return DENSITY_AT_0 / -z * series


def log_normal_cdf(z: float) -> float:
    """Return the logarithm of the standard normal distribution function.

    >>> round(log_normal_cdf(0.0), 6), round(log_normal_cdf(-1000.0), 6)
    (-0.693147, -500007.826695)
    """
    if z < SERIES_BELOW:
        value = math.log(tail_series(z)) - 0.5 * z * z
    elif z < 0.0:
        value = math.log(0.5 * math.erfc(-z * HALF_ROOT))
    else:
        value = math.log1p(-0.5 * math.erfc(z * HALF_ROOT))
    return value


def log_tilted(z: float) -> float:
    """Return the logarithm of `exp(z^2 / 2) * Phi(z)`, which is increasing and convex in z.

    >>> round(log_tilted(0.0), 6), round(log_tilted(-1e9), 6)
    (-0.693147, -21.642204)
    """
    return math.log(tail_series(z)) if z < SERIES_BELOW else 0.5 * z * z + log_normal_cdf(z)


def tilted_slope(z: float, value: float) -> float:
    """Return the derivative of `log_tilted` at `z`, given its value there.

    >>> round(tilted_slope(0.0, log_tilted(0.0)), 6), tilted_slope(-1e9, log_tilted(-1e9))
    (0.797885, 1e-09)
    """
    if z < SERIES_BELOW:
        u = 1.0 / z / z
        slope = -(1.0 - 2.0 * u * (1.0 - 5.0 * u * (1.0 - 7.4 * u))) / z
    else:
        slope = z + DENSITY_AT_0 * math.exp(-value)
    return slope


@called_rarely
def tilted(z: float, shift: float) -> float:
    """Return `exp(z^2 / 2 - shift) * Phi(z)`.

    >>> tilted(0.0, 0.0)
    0.5
    """
    if z < SERIES_BELOW:
        value = math.exp(-shift) * tail_series(z)
    else:
        value = math.exp(0.5 * z * z - shift) * (0.5 * math.erfc(-z * HALF_ROOT))
    return value


def mixture_and_slope(total: float, clock: float) -> tuple[float, float]:
    """Return `log_mixture` and its derivative with respect to `total`."""
    # The exponent of the first component, the largest, is factored out of all of them.
    front = max(total, 0.0) / math.sqrt(clock + SCALES[0])
    shift = 0.5 * front * front
    density = DENSITY_AT_0 * math.exp(-shift)
    evidence = 0.0
    slope = 0.0
    for scale in SCALES:
        spread = math.sqrt(clock + scale)
        z = total / spread
        weight = 2.0 / len(SCALES) * math.sqrt(scale) / spread
        part = weight * tilted(z, shift)
        evidence += part
        slope += (part * z + weight * density) / spread
    log_evidence = shift + math.log(evidence) if shift < math.inf else math.inf
    return log_evidence, slope / evidence


@called_rarely
def log_mixture(total: float, clock: float) -> float:
    """Return the log of the one-sided normal mixture, averaged over the five `SCALES`.

    >>> round(log_mixture(0.0, 0.0), 6), round(log_mixture(40.0, 100.0), 4)
    (0.0, 5.7028)
    """
    return mixture_and_slope(total, clock)[0]


@called_rarely
def log_informed(total: float, clock: float, effect: float) -> float:
    """Return the log of the normal mixture around `effect`, in standard deviations of an outcome.

    >>> round(log_informed(0.0, 0.0, 0.5), 6), round(log_informed(40.0, 100.0, 0.5), 4)
    (0.0, 6.9635)
    """
    scaled = effect / CENTRE
    variance = scaled * scaled * clock
    z = (CENTRE + scaled * total) / math.sqrt(1.0 + variance)
    return log_tilted(z) - 0.5 * math.log1p(variance) - log_tilted(CENTRE)


@called_rarely
def mixture_boundary(clock: float, log_threshold: float) -> float:
    """Return the total at which `log_mixture` is `log_threshold`, which has to be at least 0.

    The total is increasing and concave in the clock.

    >>> round(mixture_boundary(100.0, math.log(20.0)), 4)
    31.415
    """
    start = math.inf
    for scale in SCALES:
        # At this total a single component reaches the threshold, even with 1/2 in place of its Phi.
        ratio = 1.0 + clock / scale
        need = log_threshold + math.log(float(len(SCALES))) + 0.5 * math.log(ratio)
        start = min(start, math.sqrt(2.0 * scale * ratio * need))
    return mixture_boundary_from(start, clock, log_threshold)


@called_rarely
def mixture_boundary_from(start: float, clock: float, log_threshold: float) -> float:
    """Return `mixture_boundary`, found by Newton's method from `start`, a total near it.

    The log evidence is convex, so from a start above the boundary every step stays above it, and
    from one below it the first step leads above it.
    """
    total = start
    for _ in range(NEWTON_STEPS):
        log_evidence, slope = mixture_and_slope(total, clock)
        step = (log_evidence - log_threshold) / slope
        total -= step
        if abs(step) <= CLOSE * abs(total):
            break
    return total


def informed_boundary(clock: float, log_threshold: float, effect: float) -> float:
    """Return the total at which `log_informed` is `log_threshold`, which has to be at least 0.

    The total is increasing and concave in the clock.

    >>> round(informed_boundary(100.0, math.log(20.0), 0.5), 4)
    29.1958
    """
    scaled = effect / CENTRE
    variance = scaled * scaled * clock
    target = log_threshold + log_tilted(CENTRE) + 0.5 * math.log1p(variance)
    z = math.sqrt(2.0 * (target - log_normal_cdf(CENTRE)))
    for _ in range(NEWTON_STEPS):
        value = log_tilted(z)
        step = (value - target) / tilted_slope(z, value)
        z -= step
        if abs(step) <= CLOSE * abs(z):
            break
    return (z * math.sqrt(1.0 + variance) - CENTRE) / scaled


def mixture_radius(n: float, sigma: float, level: float) -> float:
    """Return the radius around a mean of `n` observations by a normal mixture; infinity if `n` < 3.

    The probability that an end is ever wrong is at most `level` for each end.

    >>> round(mixture_radius(100, sigma=1.0, level=0.025), 4)
    0.3391
    """
    if n < FIRST_UNITS:
        return math.inf
    return sigma * mixture_boundary(n, -math.log(level)) / n
