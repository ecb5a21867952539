"""The noise of all units of one arm at once, at a cost that does not grow with their number.

A unit that arrives gives an outcome at that stage and at every later one. Wanted is, stage after
stage, the sum over units of `f(age) * (sum of the unit's noises)` for an `f` that is a sum of
powers (`exponential_sum`). Term k needs `Z_k`, the sum over units of `node_k ** (age - 1)` times
the unit's noises so far. A stage multiplies `Z_k` by its node and adds an innovation, the sum over
units of `node_k ** (age - 1)` times a fresh noise. The innovations are jointly Gaussian with
covariances `G_jk`, the sum over units of `(node_j * node_k) ** (age - 1)`.

Kept is a triangular L with `L L' = G`: a stage multiplies row k by node k, and an arrival is one
more column of ones, which rotations turn back into a triangle. `docs/explanation/
exponential-sums.md` has the argument.

Plain functions on scalars and flat arrays: they run as they are and compile. An arm is a stretch of
`width(terms)` numbers of `state` from `first` on: the terms, a scratch column, and L column by
column.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.arms import FloatArray


def width(terms: int) -> int:
    """Numbers that one arm takes.

    >>> width(12)
    102
    """
    return 2 * terms + terms * (terms + 1) // 2


def draws(state: FloatArray, first: int, terms: int, arrivals: int) -> int:  # noqa: ARG001
    """How many standard normals the next `advance` uses."""
    return terms


def clear(state: FloatArray, first: int, terms: int, nodes: FloatArray) -> None:  # noqa: ARG001
    """Begin again without units."""
    for i in range(width(terms)):
        state[np.uint64(first + i)] = 0.0


def advance(
    state: FloatArray,
    first: int,
    terms: int,
    nodes: FloatArray,
    arrivals: int,
    normals: FloatArray,
    at: int,
) -> None:
    """One stage: everybody ages, `arrivals` units join, all give an outcome.

    The noises are made of the standard normals from `normals[at]` on, as many as `draws` says.
    """
    column = first + 2 * terms
    scratch = first + terms
    new = math.sqrt(arrivals)
    for i in range(terms):
        state[np.uint64(first + i)] *= nodes[np.uint64(i)]
        state[np.uint64(scratch + i)] = new
    for j in range(terms):
        normal = normals[np.uint64(at + j)]
        corner = nodes[np.uint64(j)] * state[np.uint64(column)]
        extra = state[np.uint64(scratch + j)] if arrivals > 0 else 0.0
        size = math.sqrt(corner * corner + extra * extra)
        cosine, sine = 1.0, 0.0
        if extra > 0.0 or extra < 0.0:
            cosine, sine = corner / size, extra / size
        for i in range(terms - j):
            old = nodes[np.uint64(j + i)] * state[np.uint64(column + i)]
            extra = state[np.uint64(scratch + j + i)]
            turned = cosine * old + sine * extra
            state[np.uint64(column + i)] = turned
            state[np.uint64(scratch + j + i)] = cosine * extra - sine * old
            state[np.uint64(first + j + i)] += turned * normal
        column += terms - j


def read(state: FloatArray, first: int, terms: int, weights: FloatArray) -> float:
    """The sum over units of `f(age)` times the unit's noises, for the `f` with these weights."""
    total = 0.0
    for i in range(terms):
        total += weights[np.uint64(i)] * state[np.uint64(first + i)]
    return total
