"""The noise of all units of one arm at once, at a cost that does not grow with their number.

A unit gives an outcome at the stage where it arrives and at every later one. Wanted is, stage after
stage, the sum over units of `f(age) * (sum of the unit's noises)` for an `f` that is a sum of
powers (`exponential_sum`). Term k needs `Z_k`, the sum over units of `node_k ** (age - 1)` times
the unit's noises so far. A stage multiplies `Z_k` by its node and adds an innovation: the sum over
units of `node_k ** (age - 1)` times a fresh noise. The innovations are normal with covariances
`G_jk`, the sum over units of `(node_j * node_k) ** (age - 1)`.

Kept is the factor `G = (L R) (L R)'`, L with ones on its diagonal and zeros above it, R diagonal. A
stage multiplies row k of `L R` by node k. An arrival is one more column, of ones, which rotations
turn into what is already there; they only ever add, so nothing can become negative. The page on
exponential sums has the argument.

An arm is a stretch of `width(terms)` numbers of `state` from `first` on: Z, a scratch column, R,
how long each term lasts, how many terms are awake, for how many stages nobody came, L column by
column, and likewise the ratios of nodes by which a stage multiplies it. The nodes fall, and the
first is 1.

Plain functions on scalars and flat arrays: they run as they are and compile.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.arms import FloatArray

LOG_GONE = math.log(1e-20)
"""A term sleeps once nobody came for so long that its powers are below this."""


def width(terms: int) -> int:
    """Numbers that one arm takes.

    >>> width(12)
    182
    """
    return 4 * terms + 2 + terms * (terms - 1)


def clear(state: FloatArray, first: int, terms: int, nodes: FloatArray) -> None:
    """Begin again without units."""
    for i in range(width(terms)):
        state[np.uint64(first + i)] = 0.0
    ratio = first + 4 * terms + 2 + terms * (terms - 1) // 2
    for j in range(terms):
        node = nodes[np.uint64(j)]
        state[np.uint64(first + 3 * terms + j)] = (
            LOG_GONE / math.log(node) if node < 1.0 else math.inf
        )
        for i in range(j + 1, terms):
            state[np.uint64(ratio)] = nodes[np.uint64(i)] / node
            ratio += 1


def draws(state: FloatArray, first: int, terms: int, arrivals: int) -> int:
    """How many standard normals the next `advance` uses: at most one a term."""
    return terms if arrivals > 0 else int(state[np.uint64(first + 4 * terms)])


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
    if arrivals > 0:
        advance_with_arrivals(state, first, terms, nodes, arrivals, normals, at)
    else:
        advance_alone(state, first, terms, nodes, normals, at)


def advance_with_arrivals(
    state: FloatArray,
    first: int,
    terms: int,
    nodes: FloatArray,
    arrivals: int,
    normals: FloatArray,
    at: int,
) -> None:
    """A stage with arrivals: rotations of a scaled column of ones into the factor.

    Rotations without square roots (Gentleman's): the new column is `sqrt(weight)` times `scratch`.
    """
    scratch, roots = first + terms, first + 2 * terms
    state[np.uint64(first + 4 * terms)] = terms
    state[np.uint64(first + 4 * terms + 1)] = 0.0
    column = first + 4 * terms + 2
    ratio = column + terms * (terms - 1) // 2
    weight = float(arrivals)
    for i in range(terms):
        state[np.uint64(first + i)] *= nodes[np.uint64(i)]
        state[np.uint64(scratch + i)] = 1.0
    for j in range(terms):
        root = nodes[np.uint64(j)] * state[np.uint64(roots + j)]
        top = state[np.uint64(scratch + j)]
        before = root * root
        after = before + weight * top * top
        inverse = 1.0 / after if after > 0.0 else 0.0
        cosine, sine = before * inverse, weight * top * inverse
        weight *= cosine
        root = math.sqrt(after)
        state[np.uint64(roots + j)] = root
        noise = root * normals[np.uint64(at + j)]
        state[np.uint64(first + j)] += noise
        for i in range(terms - j - 1):
            old = state[np.uint64(ratio + i)] * state[np.uint64(column + i)]
            extra = state[np.uint64(scratch + j + 1 + i)]
            turned = cosine * old + sine * extra
            state[np.uint64(column + i)] = turned
            state[np.uint64(scratch + j + 1 + i)] = extra - top * old
            state[np.uint64(first + j + 1 + i)] += turned * noise
        column += terms - j - 1
        ratio += terms - j - 1


def advance_alone(
    state: FloatArray, first: int, terms: int, nodes: FloatArray, normals: FloatArray, at: int
) -> None:
    """A stage without arrivals: only those who are there age and give an outcome."""
    roots, head = first + 2 * terms, first + 4 * terms
    awake = int(state[np.uint64(head)])
    column = head + 2
    ratio = column + terms * (terms - 1) // 2
    for i in range(awake):
        state[np.uint64(first + i)] *= nodes[np.uint64(i)]
    for j in range(awake):
        root = nodes[np.uint64(j)] * state[np.uint64(roots + j)]
        state[np.uint64(roots + j)] = root
        noise = root * normals[np.uint64(at + j)]
        state[np.uint64(first + j)] += noise
        for i in range(awake - j - 1):
            old = state[np.uint64(ratio + i)] * state[np.uint64(column + i)]
            state[np.uint64(column + i)] = old
            state[np.uint64(first + j + 1 + i)] += old * noise
        column += terms - j - 1
        ratio += terms - j - 1
    if awake > 0:
        state[np.uint64(head + 1)] += 1.0
        if state[np.uint64(head + 1)] > state[np.uint64(first + 3 * terms + awake - 1)]:
            fall_asleep(state, first, terms, awake - 1)


def fall_asleep(state: FloatArray, first: int, terms: int, term: int) -> None:
    """Set the fastest term that is awake to 0, which it is but for rounding."""
    state[np.uint64(first + 4 * terms)] = term
    state[np.uint64(first + term)] = 0.0
    state[np.uint64(first + 2 * terms + term)] = 0.0
    place = first + 4 * terms + 1 + term
    for j in range(term):
        state[np.uint64(place)] = 0.0
        place += terms - j - 2


def read(state: FloatArray, first: int, terms: int, weights: FloatArray) -> float:
    """The sum over units of `f(age)` times the unit's noises, for the `f` with these weights."""
    total = 0.0
    for i in range(terms):
        total += weights[np.uint64(i)] * state[np.uint64(first + i)]
    return total
