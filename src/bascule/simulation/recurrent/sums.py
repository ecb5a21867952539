"""Sums over the units of one arm of a function of age times what each unit brought with it.

The same powers as in `unit_noise`, but nothing is drawn: a unit's value, such as its own mean or
simply 1, is known when it arrives. Kept are, for each term, the sums of `node ** (age - 1) * value`
and of `age * node ** (age - 1) * value`. So the units' own means enter the sum over units of
`f(age) * (sum of the unit's outcomes)` with the same `f` as their noises, and a mean of arms is
never biased, however coarse `f` may be.

An arm is a stretch of `sums_width(terms)` numbers of `state`: the sums without the age from `first`
on, those with it from `first + terms` on. `unit_noise.read` weighs either.
"""

from __future__ import annotations

import numpy as np

from bascule.core.procedures.intervals.state import FloatArray


def sums_width(terms: int) -> int:
    """Numbers that one arm takes.

    >>> sums_width(12)
    24
    """
    return 2 * terms


def clear_sums(state: FloatArray, first: int, terms: int) -> None:
    """Begin again without units."""
    for i in range(2 * terms):
        state[np.uint64(first + i)] = 0.0


def advance_sums(
    state: FloatArray, first: int, terms: int, nodes: FloatArray, value: float
) -> None:
    """One stage: everybody ages, and units with values that add up to `value` join."""
    for i in range(terms):
        plain = nodes[np.uint64(i)] * state[np.uint64(first + i)]
        aged = nodes[np.uint64(i)] * state[np.uint64(first + terms + i)]
        state[np.uint64(first + i)] = plain + value
        state[np.uint64(first + terms + i)] = aged + plain + value
