"""Units kept as sums of powers of their ages, and the noise in their mean of means.

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

Both crowds need normal noise. `MEANS` gives the sum of the units' own averages, `PRECISE` that of
the averages weighted by their precision. Their memory begins with what is new, `NEW` numbers an
arm: how many joined at this stage, and what their effects add up to. Then comes the arm that was
joined last. Stages begin with it, so that the processor can predict which arm has arrivals where
one unit joins at a time.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.types import FloatArray
from bascule.simulation.random import WordArray, fill_normals
from bascule.simulation.recurrent.kernel import Crowd

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


NEW = 2
CAME, BROUGHT = range(NEW)
"""What the memory keeps of the latest arrivals, in multiples of the number of arms."""

NOTHING = 1e-100
"""Too little to change a clock; smaller numbers still are handled slowly by processors."""


def means_width(arms: int, terms: int) -> int:
    """Numbers that the memory of `MEANS` takes: what is new, sums of effects, and noises.

    >>> means_width(2, 12)
    59
    """
    return 1 + arms * (NEW + 1 + width(terms))


def precise_width(arms: int, terms: int) -> int:
    """Numbers that the memory of `PRECISE` takes: what is new, and sums over units.

    >>> precise_width(2, 12)
    29
    """
    return 1 + arms * (NEW + terms)


def following(arm: int, arms: int) -> int:
    """The arm after this one; the first after the last.

    >>> following(0, 2), following(1, 2)
    (1, 0)
    """
    return arm + 1 if arm + 1 < arms else 0


def join(
    memory: FloatArray,
    arms: int,
    table: FloatArray,  # noqa: ARG001
    unit: int,  # noqa: ARG001
    arm: int,
    stage: int,  # noqa: ARG001
    effect: float,
) -> None:
    """Count a new unit."""
    memory[CAME * arms + arm] += 1.0
    memory[BROUGHT * arms + arm] += effect
    memory[NEW * arms] = arm


def clear_means(memory: FloatArray, arms: int, table: FloatArray) -> None:
    """Begin again without units."""
    terms = table.size // KINDS
    for i in range((NEW + 1) * arms + 1):
        memory[i] = 0.0
    for arm in range(arms):
        clear(memory, (NEW + 1) * arms + 1 + arm * width(terms), terms)


def advance_means(
    memory: FloatArray,
    arms: int,
    table: FloatArray,
    shares: FloatArray,
    units: int,  # noqa: ARG001
    stage: int,  # noqa: ARG001
    sigma_noise: float,
    streams: WordArray,
    scratch: FloatArray,
    ziggurat: FloatArray,
    tallies: FloatArray,
) -> None:
    """Everybody gives an outcome; an arm's clock is its number of units."""
    terms = table.size // KINDS
    arm = int(memory[NEW * arms])
    for _ in range(arms):
        effects = NEW * arms + 1 + arm
        first = (NEW + 1) * arms + 1 + arm * width(terms)
        came = memory[CAME * arms + arm]
        count = draws(memory, first, terms, table, came)
        fill_normals(streams, 0, scratch, 0, count, ziggurat)
        noise = advance(memory, first, terms, table, shares, came, scratch)
        own = memory[effects] + memory[BROUGHT * arms + arm]
        memory[effects] = own
        memory[CAME * arms + arm] = 0.0
        memory[BROUGHT * arms + arm] = 0.0
        tallies[arms + arm] = tallies[arm]
        tallies[2 * arms + arm] = own + sigma_noise * noise
        arm = following(arm, arms)


def clear_precise(memory: FloatArray, arms: int, table: FloatArray) -> None:
    """Begin again without units."""
    for i in range(precise_width(arms, table.size)):
        memory[i] = 0.0


def advance_precise(
    memory: FloatArray,
    arms: int,
    table: FloatArray,
    shares: FloatArray,
    units: int,  # noqa: ARG001
    stage: int,  # noqa: ARG001
    sigma_noise: float,
    streams: WordArray,
    scratch: FloatArray,
    ziggurat: FloatArray,
    tallies: FloatArray,
) -> None:
    """Everybody gives an outcome; an arm's sum is a Brownian motion at its clock.

    The sum holds the units' effects and their noise: the effects that they joined with are not
    used. The shares hold by how much each term moves the clock, then the weight of a first outcome,
    and the standard deviation at a clock of 1 over that of the noise.
    """
    terms = table.size
    arm = int(memory[NEW * arms])
    for _ in range(arms):
        came = memory[CAME * arms + arm]
        memory[CAME * arms + arm] = 0.0
        moved = came * shares[np.uint64(terms)]
        first = NEW * arms + 1 + arm * terms
        for i in range(terms):
            there = memory[np.uint64(first + i)]
            moved += there
            left = table[np.uint64(i)] * there + came * shares[np.uint64(i)]
            memory[np.uint64(first + i)] = left if abs(left) > NOTHING else 0.0
        if moved > 0.0:
            fill_normals(streams, 0, scratch, 0, 1, ziggurat)
            tallies[arms + arm] += moved
            sigma = sigma_noise * shares[np.uint64(terms + 1)]
            tallies[2 * arms + arm] += sigma * math.sqrt(moved) * scratch[0]
        arm = following(arm, arms)


MEANS = Crowd(clear_means, join, advance_means)
PRECISE = Crowd(clear_precise, join, advance_precise)
