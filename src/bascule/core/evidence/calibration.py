"""Find the paper's nominal delta that guarantees a requested error probability, by peeling.

`peel` bounds the probability that one sequence ever leaves its interval on one side. It adds up
the paper's maximal inequality over epochs [T1, T2] whose lengths grow by a factor `growth`, and
takes the best of many factors, each of which is valid. docs/research/calibration.md has the
proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from bascule.core.errors import invalid
from bascule.core.evidence.radius import lg
from bascule.core.types import FloatArray

Guarantee = Literal[
    "proven", "gaussian", "as published", "asymptotic", "stated by its author", "none"
]
"""Kind of proof behind a decision: `STATED` for rules from outside, `NO_GUARANTEE` for logs that
allow no answer."""

STATED: Guarantee = "stated by its author"
NO_GUARANTEE: Guarantee = "none"

SUMMED_UNTIL = 1_000_000
"""Start of an epoch from which on the sum over epochs is bounded by an integral."""

GROWTHS: tuple[float, ...] = (
    *np.geomspace(1.05, 20.0, 160).tolist(),
    *(float(number) for number in range(2, 21)),
)
"""Growth factors to try; integers are included because epochs end at integers."""

SMALLEST_ERROR = 1e-250
"""Smallest error that can be requested; its level, which is smaller, is still a positive float."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The guarantee of a design: its error probability, and the parameter `delta` that achieves it.

    `delta` is the paper's nominal parameter; for rules that have none, it is the level of each
    comparison of two arms, or of each arm's interval. `error` is one-sided.
    """

    delta: float
    error: float
    guarantee: Guarantee


@dataclass(frozen=True, slots=True)
class _Epochs:
    """Precomputed constants of the epochs, with one row for each growth factor.

    A summed epoch contributes `exp(power * log_level - offset)`; the tail beyond `SUMMED_UNTIL`
    contributes `exp(tail_power * log_level - tail_offset)`.
    """

    powers: FloatArray
    offsets: FloatArray
    tail_powers: FloatArray
    tail_offsets: FloatArray


@lru_cache(maxsize=4096)
def peel(level: float) -> float:
    """Return a bound on P(S_t >= sigma sqrt(2 t log(lg(t)^2 / level)) for some t >= 1).

    S_t is a sum of t independent sigma-sub-Gaussian numbers with mean 0, and lg(t) is the larger of
    ln(t) and ln(2).

    >>> round(peel(0.0117), 3)
    0.05
    """
    if level <= 0.0:
        return 0.0
    epochs = _epochs()
    log_level = math.log(level)
    summed = np.exp(epochs.powers * log_level - epochs.offsets).sum(axis=1)
    tails = np.exp(epochs.tail_powers * log_level - epochs.tail_offsets)
    return min(1.0, float((summed + tails).min()))


def level_for(error: float) -> float:
    """Return the largest level at which the bound of `peel` is at most `error`.

    >>> round(level_for(0.05), 4)
    0.0118
    """
    if not SMALLEST_ERROR <= error < 1:
        raise invalid(f"error must lie between {SMALLEST_ERROR:g} and 1 (got {error})")
    low, high = math.log(error) - 30.0, math.log(error)
    while high - low > 1e-12 * abs(low):
        middle = (low + high) / 2
        if peel(math.exp(middle)) <= error:
            low = middle
        else:
            high = middle
    return math.exp(low)


def stretch(ratio: float) -> float:
    """Return the factor by which an exponent shrinks if one bound covers an epoch [T1, ratio * T1].

    >>> stretch(1.0)
    1.0
    """
    root = math.sqrt(ratio)
    return (1.0 + root) ** 2 / (4.0 * root)


@lru_cache(maxsize=1)
def _epochs() -> _Epochs:
    rows = [_epochs_of(growth) for growth in GROWTHS]
    longest = max(len(powers) for powers, _, _, _ in rows)
    # Short rows are padded with epochs that contribute nothing.
    powers = np.zeros((len(rows), longest))
    offsets = np.full((len(rows), longest), math.inf)
    for row, (own_powers, own_offsets, _, _) in enumerate(rows):
        powers[row, : len(own_powers)] = own_powers
        offsets[row, : len(own_offsets)] = own_offsets
    tail_powers, tail_offsets = (np.array([row[i] for row in rows]) for i in (2, 3))
    return _Epochs(powers, offsets, tail_powers, tail_offsets)


def _epochs_of(growth: float) -> tuple[list[float], list[float], float, float]:
    powers: list[float] = []
    offsets: list[float] = []
    start = 1
    while start < SUMMED_UNTIL:
        end = max(start, math.floor(growth * start))
        power = 1.0 / stretch(end / start)
        powers.append(power)
        offsets.append(2.0 * power * math.log(lg(start)))
        start = end + 1
    # From here on each epoch starts at least `growth` times later than the one before, so the rest
    # of the sum is at most its first term plus an integral.
    power = 1.0 / stretch(growth)
    log_start = math.log(start)
    tail = math.pow(log_start, -2.0 * power)
    tail += math.pow(log_start, 1.0 - 2.0 * power) / ((2.0 * power - 1.0) * math.log(growth))
    return powers, offsets, power, -math.log(tail)
