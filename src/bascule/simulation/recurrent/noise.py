"""The noise of all units of one arm at once, at a cost that does not grow with their number.

A unit gives an outcome at the stage where it arrives and at every later one. Wanted is, stage after
stage, the sum over units of `f(age) * (sum of the unit's noises)` for an `f` that is a sum of
powers (`exponential_sum`). Term k needs `Z_k`, the sum over units of `node_k ** (age - 1)` times
the unit's noises so far. A stage multiplies `Z_k` by its node and adds an innovation: the sum over
units of `node_k ** (age - 1)` times a fresh noise. The innovations are normal with covariances
`G_jk`, the sum over units of `(node_j * node_k) ** (age - 1)`.

Kept is the factor `G = (A L R) (A L R)'`: A and R are diagonal, L has ones on its diagonal and
zeros above it. A stage multiplies entry k of A by node k, and leaves L and R alone. An arrival is
one more column, of ones: `1 / A` for L, into which rotations turn it; they only ever add, so
nothing can become negative. Now and then L and R take up A, which begins at 1 again. The page on
exponential sums has the argument.

An arm is a stretch of `width(terms)` numbers of `state` from `first` on, `terms` of each kind: Z,
R, A, `1 / A`, what a stage multiplies the latter by, how long a term lasts, and of the latest stage
what was left of the new column, the cosines and sines of the rotations, and the noises. Then come
the number of terms that are awake, for how many stages nobody came, how many are left until A is
taken up, and L row by row. The nodes fall, and the first is 1.

Plain functions on scalars and flat arrays: they run as they are and compile.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.procedures.intervals.state import FloatArray

LOG_GONE = math.log(1e-20)
"""A term sleeps once nobody came for so long that its powers are below this."""


LOG_FARTHEST = math.log(1e60)
"""How small A may become: small enough to be rare, and one over its square is still a number."""

NOTHING = 1e-200
"""Too little to change anything but 0."""

KINDS, HEAD = 10, 3
SCALES, INVERSES, GROWTHS, LASTS, TOPS, COSINES, SINES, NOISES = range(2, KINDS)
ROOTS = 1
"""Where the numbers of each kind begin, in multiples of `terms`; how many single ones follow."""


def width(terms: int) -> int:
    """Numbers that one arm takes.

    >>> width(12)
    189
    """
    return KINDS * terms + HEAD + terms * (terms - 1) // 2


def clear(state: FloatArray, first: int, terms: int, nodes: FloatArray) -> None:
    """Begin again without units."""
    for i in range(width(terms)):
        state[np.uint64(first + i)] = 0.0
    for i in range(terms):
        node = nodes[np.uint64(i)]
        lasts = LOG_GONE / math.log(node) if node < 1.0 else math.inf
        state[np.uint64(first + GROWTHS * terms + i)] = 1.0 / node
        state[np.uint64(first + LASTS * terms + i)] = lasts
    take_up(state, first, terms, nodes)


def draws(state: FloatArray, first: int, terms: int, arrivals: int) -> int:
    """How many standard normals the next `advance` uses: at most one a term."""
    return terms if arrivals > 0 else int(state[np.uint64(first + KINDS * terms)])


def advance(
    state: FloatArray,
    first: int,
    terms: int,
    nodes: FloatArray,
    weights: FloatArray,
    arrivals: int,
    before: float,
    normals: FloatArray,
    at: int,
) -> float:
    """One stage: everybody ages, `arrivals` units join, all give an outcome.

    Those who join may have had noises, which add up to `before`; they are as if of age 1. The
    noises are made of the standard normals from `normals[at]` on, as many as `draws` says.
    Returns the sum over units of `f(age)` times the unit's noises, for the `f` with these weights.
    """
    if arrivals > 0:
        return advance_with_arrivals(
            state, first, terms, nodes, weights, arrivals, before, normals, at
        )
    return advance_alone(state, first, terms, nodes, weights, normals, at)


def advance_with_arrivals(
    state: FloatArray,
    first: int,
    terms: int,
    nodes: FloatArray,
    weights: FloatArray,
    arrivals: int,
    before: float,
    normals: FloatArray,
    at: int,
) -> float:
    """A stage with arrivals: rotations of a scaled column into the factor.

    Rotations without square roots (Gentleman's): the new column is `sqrt(weight)` times `tops`.
    Row by row, so that what a row adds up to never leaves the processor's registers.
    """
    roots, scales = first + ROOTS * terms, first + SCALES * terms
    inverses, growths = first + INVERSES * terms, first + GROWTHS * terms
    tops, noises = first + TOPS * terms, first + NOISES * terms
    cosines, sines = first + COSINES * terms, first + SINES * terms
    head = first + KINDS * terms
    state[np.uint64(head)] = terms
    state[np.uint64(head + 1)] = 0.0
    state[np.uint64(head + 2)] -= 1.0
    if state[np.uint64(head + 2)] < 0.0:
        take_up(state, first, terms, nodes)
    row = head + HEAD
    weight, weighed = float(arrivals), 0.0
    for i in range(terms):
        node = nodes[np.uint64(i)]
        top = state[np.uint64(inverses + i)] * state[np.uint64(growths + i)]
        scale = state[np.uint64(scales + i)] * node
        state[np.uint64(inverses + i)] = top
        state[np.uint64(scales + i)] = scale
        fresh = 0.0
        for j in range(i):
            old = state[np.uint64(row + j)]
            turned = state[np.uint64(cosines + j)] * old + state[np.uint64(sines + j)] * top
            top -= state[np.uint64(tops + j)] * old
            state[np.uint64(row + j)] = turned
            fresh += turned * state[np.uint64(noises + j)]
        old_square = state[np.uint64(roots + i)] ** 2
        # Each row waits for the weight of the one before: it is multiplied last.
        square = old_square + top * top * weight
        inverse = 1.0 / (square + NOTHING)
        state[np.uint64(tops + i)] = top
        state[np.uint64(cosines + i)] = old_square * inverse
        state[np.uint64(sines + i)] = weight * top * inverse
        weight = weight * old_square * inverse
        root = math.sqrt(square)
        noise = root * normals[np.uint64(at + i)]
        state[np.uint64(roots + i)] = root
        state[np.uint64(noises + i)] = noise
        total = node * state[np.uint64(first + i)] + before + scale * (fresh + noise)
        state[np.uint64(first + i)] = total
        weighed += weights[np.uint64(i)] * total
        row += i
    return weighed


def take_up(state: FloatArray, first: int, terms: int, nodes: FloatArray) -> None:
    """Multiply L and R by A, which begins at 1 again."""
    scales, inverses = first + SCALES * terms, first + INVERSES * terms
    at = first + KINDS * terms + HEAD
    for i in range(terms):
        scale = state[np.uint64(scales + i)]
        for j in range(i):
            state[np.uint64(at)] *= scale * state[np.uint64(inverses + j)]
            at += 1
        state[np.uint64(first + ROOTS * terms + i)] *= scale
    for i in range(terms):
        state[np.uint64(scales + i)] = 1.0
        state[np.uint64(inverses + i)] = 1.0
    fastest = nodes[np.uint64(terms - 1)]
    lasts = -LOG_FARTHEST / math.log(fastest) if fastest < 1.0 else math.inf
    state[np.uint64(first + KINDS * terms + 2)] = lasts


def advance_alone(
    state: FloatArray,
    first: int,
    terms: int,
    nodes: FloatArray,
    weights: FloatArray,
    normals: FloatArray,
    at: int,
) -> float:
    """A stage without arrivals: only those who are there age and give an outcome."""
    roots, scales = first + ROOTS * terms, first + SCALES * terms
    inverses, growths = first + INVERSES * terms, first + GROWTHS * terms
    noises, head = first + NOISES * terms, first + KINDS * terms
    awake = int(state[np.uint64(head)])
    row = head + HEAD
    weighed = 0.0
    for i in range(awake):
        node = nodes[np.uint64(i)]
        scale = state[np.uint64(scales + i)] * node
        state[np.uint64(scales + i)] = scale
        state[np.uint64(inverses + i)] *= state[np.uint64(growths + i)]
        noise = state[np.uint64(roots + i)] * normals[np.uint64(at + i)]
        state[np.uint64(noises + i)] = noise
        for j in range(i):
            noise += state[np.uint64(row + j)] * state[np.uint64(noises + j)]
        total = node * state[np.uint64(first + i)] + scale * noise
        state[np.uint64(first + i)] = total
        weighed += weights[np.uint64(i)] * total
        row += i
    if awake > 0:
        state[np.uint64(head + 2)] -= 1.0
        state[np.uint64(head + 1)] += 1.0
        if state[np.uint64(head + 1)] > state[np.uint64(first + LASTS * terms + awake - 1)]:
            fall_asleep(state, first, terms, awake - 1)
    return weighed


def fall_asleep(state: FloatArray, first: int, terms: int, term: int) -> None:
    """Set the fastest term that is awake to 0, which it is but for rounding."""
    state[np.uint64(first + KINDS * terms)] = term
    state[np.uint64(first + term)] = 0.0
    state[np.uint64(first + ROOTS * terms + term)] = 0.0
    state[np.uint64(first + SCALES * terms + term)] = 1.0
    state[np.uint64(first + INVERSES * terms + term)] = 1.0
    row = first + KINDS * terms + HEAD + term * (term - 1) // 2
    for j in range(term):
        state[np.uint64(row + j)] = 0.0


def read(state: FloatArray, first: int, terms: int, weights: FloatArray) -> float:
    """The sum over units of `f(age)` times the unit's noises, for the `f` with these weights."""
    total = 0.0
    for i in range(terms):
        total += weights[np.uint64(i)] * state[np.uint64(first + i)]
    return total
