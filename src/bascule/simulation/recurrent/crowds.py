"""Units kept as sums of powers of their ages, so that a stage costs the same for any number.

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
from bascule.simulation.random.streams import WordArray, fill_normals
from bascule.simulation.recurrent.kernel import Crowd
from bascule.simulation.recurrent.noise import KINDS, advance, clear, draws, width

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
