"""Functions of a unit's age as sums of powers: `f(age) = sum of weight_k * node_k ** (age - 1)`.

A power needs no memory of who arrived when: a stage multiplies it by its node, for all units at
once. So a simulation stores one number per term instead of one per unit, and a dozen terms give
1/age with a relative error of 1e-5 up to age 1,000. `docs/research/exponential-sums.md` has the
derivation.

The nodes are found by continuation. The search starts at a horizon (the largest age) for which the
terms just reach an error of one in a hundred: there the logs of the rates `-log(node)` are evenly
spaced. The horizon then shrinks to the wanted one, and Gauss-Newton steps carry the nodes along. At
last, weights on the ages level the error until no age is worse than the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks
from bascule.core.outcomes.recurrent import Recurrent
from bascule.core.types import FloatArray

FINEST, COARSEST = 1e-7, 1e-2
LONGEST = Recurrent.most_units
"""Maximum horizon, 10^8. A rounding error of 1e-16 in a node close to 1 grows to 1e-8 in its power
at this age, which is still below the finest accuracy."""

SPACING, FASTEST, GAP, REACH = 1.32, 0.42, 0.24, 1.13
"""Start of the search: the spacing of the logs of the rates, the largest log, the additional
distance of the smallest log, and the log of the horizon times the smallest rate."""

FEW_AGES = 8
"""Largest horizon at which every age has a term of its own."""

STRIDE = 1.5
"""How much the log of the horizon decreases in each step of the continuation."""

ROUNDING = 1e-12
LEVELLINGS = 9
DAMPING = 30.0
FINE, COARSE = 24, 12
"""Number of ages per factor e of the age in the final fit and in earlier fits: few enough that a
second thread would not speed up the linear algebra."""

ALL_AGES = 4096
CHECKED = 512
"""Accuracy is measured at every age up to `ALL_AGES`, then at `CHECKED` ages per factor e."""


@dataclass(frozen=True, slots=True)
class ExponentialSum:
    """Nodes and weights for `1 / (age + shift)` at the ages from 1 to `horizon`.

    With `differences` the function is `1 / (age + shift) - 1 / (age + shift + 1)`. The first node
    is 1. `accuracy` is the largest relative error at any age.
    """

    horizon: int
    shift: float
    differences: bool
    nodes: tuple[float, ...]
    weights: tuple[float, ...]
    accuracy: float

    @property
    def terms(self) -> int:
        """Number of powers."""
        return len(self.nodes)

    def at(self, ages: FloatArray) -> FloatArray:
        """Return the values of the sum at some ages.

        >>> fit(1000).at(np.array([1.0, 8.0, 1000.0])).round(5)
        array([1.   , 0.125, 0.001])
        """
        powers = np.power.outer(np.array(self.nodes), np.asarray(ages) - 1.0)
        return np.asarray(np.array(self.weights) @ powers)


def fit(
    horizon: int, accuracy: float = 1e-5, shift: float = 0.0, differences: bool = False
) -> ExponentialSum:
    """Return a sum of about the fewest powers that is `1 / (age + shift)` to this relative error.

    The ages are those from 1 to `horizon`. With `differences` the function is
    `1 / (age + shift) - 1 / (age + shift + 1)`.

    >>> sum_of_powers = fit(horizon=1000, accuracy=1e-5)
    >>> sum_of_powers.terms, sum_of_powers.accuracy < 1e-5
    (12, True)
    """
    horizon = checks.whole("horizon", horizon, 1, "the largest age, in stages", LONGEST)
    accuracy = checks.number("accuracy", accuracy, "1e-5 is usual")
    if not FINEST <= accuracy <= COARSEST:
        raise invalid(
            f"accuracy must be from {FINEST:g} to {COARSEST:g} (got {accuracy:g}): 1e-5 is usual",
        )
    return _fewest_terms(horizon, accuracy, checked_shift(shift), differences)


def checked_shift(shift: float) -> float:
    """Return a shift as a float; raise `InputError` if it is negative.

    >>> checked_shift(2)
    2.0
    """
    remedy = "it is the ratio sigma_noise^2 / sigma_unit^2"
    accepted = checks.finite("shift", shift, remedy)
    if accepted < 0.0:
        raise invalid(f"shift must be at least 0 (got {accepted:g}): {remedy}")
    return accepted


@lru_cache(maxsize=256)
def _fewest_terms(horizon: int, accuracy: float, shift: float, differences: bool) -> ExponentialSum:
    reach = math.log((horizon + shift) / (1.0 + shift))
    # An empirical estimate of the number of terms; the loop adds terms if it is too low.
    guess = 0.65 + (3.0 - math.log(accuracy)) * (reach + 0.2) / math.pi**2
    fewest = 2.0 + (reach - REACH + FASTEST - GAP) / SPACING
    terms = math.ceil(max(2.0, fewest, guess - 0.5)) if reach > accuracy else 1
    fit = fit_terms(horizon, terms, shift, differences)
    while fit.accuracy > accuracy:
        terms += 1
        fit = fit_terms(horizon, terms, shift, differences)
    return fit


@lru_cache(maxsize=256)
def fit_terms(
    horizon: int, terms: int, shift: float = 0.0, differences: bool = False
) -> ExponentialSum:
    """Return a sum with this number of terms; its error is about 1 % above the least possible.

    >>> fit_terms(horizon=1000, terms=10).accuracy < 7e-5
    True
    """
    if terms == 1:
        return _with_weights(horizon, shift, differences, np.ones(1))
    if horizon <= FEW_AGES or terms >= horizon:
        # With as many terms as ages any nodes are exact; evenly spaced ones are the most distinct.
        nodes = np.linspace(1.0, 0.0, horizon, endpoint=False)
        return _with_weights(horizon, shift, differences, nodes)
    places = FASTEST - SPACING * np.arange(terms - 2, -1, -1.0)
    places[0] -= GAP
    start = REACH - places[0]
    end = math.log((horizon + shift) / (1.0 + shift))
    if start < end:
        raise InputError("terms", f"{terms} terms are too few for ages up to {horizon}: give more")
    # With ages in units of 1 + shift, `1 / (age + shift)` is again 1 over a number from 1 on.
    places -= math.log1p(shift)
    strides = math.ceil((start - end) / STRIDE)
    stride = (start - end) / max(1, strides)
    # As the horizon decreases the smallest rate moves most; later strides repeat the last move.
    drift = stride * (places[-1] - places) / max(1.0, places[-1] - places[0])
    for i in range(strides + 1):
        last = i == strides
        reach = math.exp(start - i * stride) * (1.0 + shift) - shift
        ages = _some_ages(horizon if last else reach, FINE if last else COARSE)
        target = _target(ages, shift, differences)
        emphasis = np.sqrt(np.gradient(np.log(ages + shift)))
        before = places
        ahead = places + drift if i > 0 else places
        places = _gauss_newton(ages, target, emphasis, ahead, 8 if last else 3)
        drift = places - before if i > 0 else drift
    rates, weights = _level(ages, target, emphasis, places, 1)
    return _measured(horizon, shift, differences, np.exp(-rates), weights)


def _some_ages(horizon: float, density: int) -> FloatArray:
    """Return whole ages from 1 to the horizon, evenly spaced in their logs, closer at the end."""
    steps = math.ceil(density * (1.0 + math.log(horizon))) + 1
    late = np.geomspace(max(1.0, horizon / 2.0), horizon, density)
    return np.unique(np.rint(np.append(np.geomspace(1.0, horizon, steps), late)))


def _target(ages: FloatArray, shift: float, differences: bool) -> FloatArray:
    """Return the values of the function that a sum of powers approximates."""
    return 1.0 / ((ages + shift) * (ages + shift + 1.0) if differences else ages + shift)


def _columns(
    ages: FloatArray, target: FloatArray, emphasis: FloatArray, rates: FloatArray
) -> FloatArray:
    """Return each power at each age, relative to the target function, times the emphasis."""
    powers: FloatArray = np.exp(np.multiply.outer(1.0 - ages, rates))
    powers *= (emphasis / target)[:, np.newaxis]
    return powers


def _project(columns: FloatArray, target: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve least squares: return an orthonormal basis of the columns, weights, and residuals."""
    sizes = columns.max(axis=0)
    basis, triangle = np.linalg.qr(columns / sizes)
    shares = basis.T @ target
    return basis, np.linalg.solve(triangle, shares) / sizes, target - basis @ shares


def _gauss_newton(
    ages: FloatArray, target: FloatArray, emphasis: FloatArray, places: FloatArray, steps: int
) -> FloatArray:
    """Move the logs of the rates to reduce the sum of squared relative errors times the emphasis.

    The weights are always the best ones for the present rates, so only the part of a move that
    the weights cannot compensate matters; damping grows when a step fails.
    """
    damping = FINEST
    error = math.inf
    kept, slopes, left = places, np.empty((0, 0)), emphasis
    for _ in range(steps):
        rates = np.append(0.0, np.exp(places))
        columns = _columns(ages, target, emphasis, rates)
        basis, weights, rest = _project(columns, emphasis)
        if rest @ rest < error:
            settled = rest @ rest > 0.99 * error
            error, kept, left = float(rest @ rest), places, rest
            if settled:
                break
            damping /= DAMPING
            slopes = (columns * np.multiply.outer(1.0 - ages, rates * weights))[:, 1:]
            slopes -= basis @ (basis.T @ slopes)
        else:
            damping *= DAMPING
        sizes = np.sqrt(np.sum(slopes**2, axis=0))
        system = np.concatenate([slopes / sizes, math.sqrt(damping) * np.eye(len(sizes))])
        move = np.linalg.lstsq(system, np.append(left, 0.0 * sizes), rcond=None)[0] / sizes
        places = kept + move * min(1.0, 0.5 / np.abs(move).max())
    return places


def _level(
    ages: FloatArray, target: FloatArray, emphasis: FloatArray, places: FloatArray, steps: int
) -> tuple[FloatArray, FloatArray]:
    """Return rates and weights that nearly minimise the largest error; 0 steps keep the rates.

    Lawson's method: emphasise the ages where the error is large, fit again, and keep the best fit.
    The error of an age is replaced by the largest error between the two nearest zeros of the error.
    """
    smallest = math.inf
    for _ in range(LEVELLINGS):
        rates = np.append(0.0, np.exp(places))
        _, weights, rest = _project(_columns(ages, target, emphasis, rates), emphasis)
        starts = np.append(0, 1 + np.flatnonzero(np.diff(np.sign(rest))))
        largest = np.maximum.reduceat(np.abs(rest / emphasis), starts)
        if largest.max() < smallest:
            smallest, best = largest.max(), (rates, weights)
        # `ROUNDING` keeps rounding errors from being levelled, and every emphasis above 0.
        arcs = np.repeat(largest, np.diff(np.append(starts, len(ages)))) + ROUNDING
        emphasis = emphasis * np.sqrt(arcs / arcs.max())
        places = _gauss_newton(ages, target, emphasis, places, steps)
    return best


def _with_weights(
    horizon: int, shift: float, differences: bool, nodes: FloatArray
) -> ExponentialSum:
    """Return the sum with the best weights for given nodes, the first of which is 1."""
    ages = _some_ages(horizon, FINE)
    emphasis = np.sqrt(np.gradient(np.log(ages + shift))) if horizon > 1 else np.ones(1)
    places = np.log(-np.log(nodes[1:]))
    _, weights = _level(ages, _target(ages, shift, differences), emphasis, places, 0)
    return _measured(horizon, shift, differences, nodes, weights)


def _measured(
    horizon: int, shift: float, differences: bool, nodes: FloatArray, weights: FloatArray
) -> ExponentialSum:
    """Return the exponential sum together with its maximum relative error."""
    every = np.arange(1.0, min(horizon, ALL_AGES) + 1.0)
    ages = np.union1d(every, _some_ages(horizon, CHECKED))
    powers = np.power(nodes, (ages - 1.0)[:, np.newaxis])
    error = float(np.abs(powers @ weights / _target(ages, shift, differences) - 1.0).max())
    terms = tuple(nodes.tolist()), tuple(weights.tolist())
    return ExponentialSum(horizon, shift, differences, *terms, error)
