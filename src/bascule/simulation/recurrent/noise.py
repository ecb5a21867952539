"""The noise in an arm's mean of means, at a cost that does not grow with the number of units.

A unit gives an outcome at the stage where it arrives and at every later one. Wanted is, stage after
stage, the sum over units of the average of each one's noises. A unit's average at age a has the
variance 1/a, and its covariance with the average at an earlier age is 1/a too: it is a Brownian
motion at the time 1/a. With a sum of powers for 1/a (`exponential_sum`) it is a sum of independent
Brownian motions, one a term, and all units of an arm together are one number a term, which a stage
multiplies by the term's node before it adds fresh noise. docs/research/exponential-sums.md has
the proof.

An arm is a stretch of `width(terms)` numbers of `state` from `first` on: for each term its value,
then for each term the standard deviation of the noise that the next stage adds, then how many terms
are active, and the number of stages since the last arrival.

Plain functions on scalars and flat arrays: they run as they are and compile.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.types import FloatArray

LOG_GONE = math.log(1e-20)
"""A term is skipped once its powers since the last arrival are below this."""

KINDS = 3
NODES, ROOTS, LASTS = range(KINDS)
JOINING, AGEING = range(2)
"""Where the numbers of each kind begin in the two tables, in multiples of the number of terms."""


def tables(nodes: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What `advance` needs of `1 / age = sum of weight * node ** (age - 2)` from age 2 on.

    The nodes fall, and the first is 1; the weights are positive. First come the nodes, their square
    roots, and for how many stages without arrivals a term matters. Second, of a unit that arrives,
    the standard deviation of each term, the variance that the next stage adds to it, and last the
    standard deviation of what no term accounts for.
    """
    # One step back from age 2 the sum is below 1; the first outcome has some noise of its own.
    joining = weights / nodes
    lasts = np.full(len(nodes), math.inf)
    lasts[1:] = LOG_GONE / np.log(nodes[1:])
    own = math.sqrt(1.0 - joining.sum())
    steps = nodes * (1.0 - nodes) * joining
    shares = np.concatenate([np.sqrt(joining), steps, [own]])
    return np.concatenate([nodes, np.sqrt(nodes), lasts]), shares


def width(terms: int) -> int:
    """Numbers that one arm takes.

    >>> width(12)
    26
    """
    return 2 * terms + 2


def clear(state: FloatArray, first: int, terms: int) -> None:
    """Begin again without units."""
    for i in range(width(terms)):
        state[np.uint64(first + i)] = 0.0


def draws(state: FloatArray, first: int, terms: int, table: FloatArray, arrivals: float) -> int:
    """Count a stage and return how many standard normals its `advance` uses."""
    head = first + 2 * terms
    active = int(state[np.uint64(head)])
    if arrivals > 0.0:
        state[np.uint64(head)] = terms
        state[np.uint64(head + 1)] = 0.0
        return 2 * terms
    if active > 0:
        state[np.uint64(head + 1)] += 1.0
        if state[np.uint64(head + 1)] > table[np.uint64(LASTS * terms + active - 1)]:
            # The term is 0 up to rounding, and processors handle such small numbers slowly.
            active -= 1
            state[np.uint64(head)] = active
            state[np.uint64(first + active)] = 0.0
            state[np.uint64(first + terms + active)] = 0.0
    return max(0, active - 1)


def advance(
    state: FloatArray,
    first: int,
    terms: int,
    table: FloatArray,
    shares: FloatArray,
    arrivals: float,
    normals: FloatArray,
) -> float:
    """One stage: everybody ages, `arrivals` units join, all give an outcome.

    Returns the sum over units of the averages of their noises. The standard normals are as many as
    `draws` has said.
    """
    steps = first + terms
    active = int(state[np.uint64(first + 2 * terms)])
    total = float(state[np.uint64(first)])
    for i in range(1, active):
        step = state[np.uint64(steps + i)]
        value = (
            table[np.uint64(NODES * terms + i)] * state[np.uint64(first + i)]
            + step * normals[np.uint64(i - 1)]
        )
        state[np.uint64(first + i)] = value
        state[np.uint64(steps + i)] = step * table[np.uint64(ROOTS * terms + i)]
        total += value
    if arrivals > 0.0:
        size = math.sqrt(arrivals)
        total += size * shares[np.uint64(2 * terms)] * normals[np.uint64(terms - 1)]
        for i in range(terms):
            part = size * shares[np.uint64(JOINING * terms + i)] * normals[np.uint64(terms + i)]
            step = state[np.uint64(steps + i)]
            added = arrivals * shares[np.uint64(AGEING * terms + i)]
            state[np.uint64(first + i)] += part
            state[np.uint64(steps + i)] = math.sqrt(step * step + added)
            total += part
    return total
