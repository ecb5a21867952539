"""Simulate the recurring outcomes of all units of an arm together, with a few numbers for each arm.

A unit gives an outcome at the stage where it arrives and at every later stage. At every stage a
loop needs the sum over units of the average noise of each unit. A unit's average at age a has the
variance 1/a, and its covariance with the average at an earlier age is 1/a too: the average is a
Brownian motion at the time 1/a. If 1/a is written as a sum of powers (`exponential_sum`), the
average is a sum of independent Brownian motions, one for each term. All units of an arm together
then need only one number for each term: a stage multiplies it by the term's node and adds fresh
noise. docs/research/exponential-sums.md has the proof.

Two crowds (`kernel.Crowd`) work in this way, both with normal noise. `MEANS` gives the sum of the
units' own averages, `PRECISE` the sum of the averages weighted by their precision. Their memory has
an entry `memory[arm]` for each arm, with three rows: `HEAD` has named columns, `VALUES` the value
of each term, and `STEPS` the standard deviation of the noise that the next stage adds to each term.

A stage begins with the arm that was joined last, so that the processor can predict which arm has
arrivals if units join one at a time. All functions work on scalars and arrays, and run as they are
or compiled.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.types import FloatArray
from bascule.simulation.random import WordArray, fill_normals
from bascule.simulation.recurrent.kernel import CLOCK, SUM, UNITS, Crowd

LOG_GONE = math.log(1e-20)
"""Log of the power of a term, counted from the last arrival, below which the term is skipped."""

HEAD, VALUES, STEPS = range(3)
"""The rows of an arm's memory."""

HEAD_COLUMNS = 6
CAME, BROUGHT, EFFECTS, ACTIVE, SILENT, LATEST = range(HEAD_COLUMNS)
"""The columns of `HEAD`: units that joined at this stage, the sum of their effects, the sum of all
effects before, active terms, stages since the last arrival, and, in the entry of the first arm
alone, the arm that was joined last."""

NODES, ROOTS, LASTS, JOINING, AGEING, ALONE = range(6)
"""The rows of the table of `MEANS`: see `tables`."""

POWERS, GAINS, FIRST, SCALE = range(4)
"""The rows of the table of `PRECISE`: the nodes, the amount that a unit's term adds to the clock at
the stage after its arrival, the weight of a first outcome, and the standard deviation of an arm's
sum at a clock of 1, divided by that of the noise."""


def tables(nodes: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the table of `1 / age = sum of weight * node ** (age - 2)` that `advance` uses.

    The nodes decrease from 1, and the weights are positive. Each column is a term. The first rows
    are the nodes, their square roots, and for how many stages without arrivals a term matters. The
    other rows are for a unit that arrives: the standard deviation of each term, the variance that
    the next stage adds to the term, and the standard deviation of the rest, which no term covers.
    """
    # At age 1 the sum is below 1; additional noise completes the variance of a first outcome.
    joining = weights / nodes
    lasts = np.full(len(nodes), math.inf)
    lasts[1:] = LOG_GONE / np.log(nodes[1:])
    alone = np.full(len(nodes), math.sqrt(1.0 - joining.sum()))
    ageing = nodes * (1.0 - nodes) * joining
    return np.array([nodes, np.sqrt(nodes), lasts, np.sqrt(joining), ageing, alone])


def new_memory(arms: int, terms: int) -> FloatArray:
    """Return the memory of a number of arms, without units.

    >>> new_memory(2, 12).shape
    (2, 3, 12)
    """
    return np.zeros((arms, 3, max(terms, HEAD_COLUMNS)))


def clear(memory: FloatArray) -> None:
    """Empty the memory: a run begins without units."""
    memory[:] = 0.0


def draws(memory: FloatArray, arm: int, table: FloatArray, arrivals: float) -> int:
    """Prepare a stage of an arm; return how many standard normals its `advance` uses."""
    terms = table.shape[1]
    active = int(memory[arm, HEAD, ACTIVE])
    if arrivals > 0.0:
        memory[arm, HEAD, ACTIVE] = terms
        memory[arm, HEAD, SILENT] = 0.0
        return 2 * int(terms)
    if active > 0:
        memory[arm, HEAD, SILENT] += 1.0
        if memory[arm, HEAD, SILENT] > table[LASTS, active - 1]:
            # The term is 0 up to rounding, and processors handle such small numbers slowly.
            active -= 1
            memory[arm, HEAD, ACTIVE] = active
            memory[arm, VALUES, active] = 0.0
            memory[arm, STEPS, active] = 0.0
    return max(0, active - 1)


def advance(
    memory: FloatArray, arm: int, table: FloatArray, arrivals: float, normals: FloatArray
) -> float:
    """Play one stage of an arm: units age, `arrivals` units join, and all give an outcome.

    Return the sum, over units, of the average noise of each unit. `normals` has as many standard
    normals as `draws` has returned.
    """
    terms = table.shape[1]
    active = int(memory[arm, HEAD, ACTIVE])
    total = float(memory[arm, VALUES, 0])
    for i in range(1, active):
        step = memory[arm, STEPS, i]
        value = table[NODES, i] * memory[arm, VALUES, i] + step * normals[i - 1]
        memory[arm, VALUES, i] = value
        memory[arm, STEPS, i] = step * table[ROOTS, i]
        total += value
    if arrivals > 0.0:
        size = math.sqrt(arrivals)
        total += size * table[ALONE, 0] * normals[terms - 1]
        for i in range(terms):
            part = size * table[JOINING, i] * normals[terms + i]
            step = memory[arm, STEPS, i]
            memory[arm, VALUES, i] += part
            memory[arm, STEPS, i] = math.sqrt(step * step + arrivals * table[AGEING, i])
            total += part
    return total


NOTHING = 1e-100
"""Values below this are set to 0: they do not matter, and tiny numbers are slow to compute with."""


def following(arm: int, arms: int) -> int:
    """Return the arm after this one; the last arm is followed by the first.

    >>> following(0, 2), following(1, 2)
    (1, 0)
    """
    return arm + 1 if arm + 1 < arms else 0


def join(
    memory: FloatArray,
    unit: int,  # noqa: ARG001
    arm: int,
    stage: int,  # noqa: ARG001
    effect: float,
) -> None:
    """Count a new unit of an arm, whose own mean lies `effect` above that of the arm."""
    memory[arm, HEAD, CAME] += 1.0
    memory[arm, HEAD, BROUGHT] += effect
    memory[0, HEAD, LATEST] = arm


def advance_means(
    memory: FloatArray,
    arms: int,
    table: FloatArray,
    units: int,  # noqa: ARG001
    stage: int,  # noqa: ARG001
    sigma_noise: float,
    streams: WordArray,
    scratch: FloatArray,
    ziggurat: FloatArray,
    tallies: FloatArray,
) -> None:
    """Play a stage in which all units count equally: an arm's clock is its number of units."""
    arm = int(memory[0, HEAD, LATEST])
    for _ in range(arms):
        came = memory[arm, HEAD, CAME]
        count = draws(memory, arm, table, came)
        fill_normals(streams, 0, scratch, 0, count, ziggurat)
        noise = advance(memory, arm, table, came, scratch)
        memory[arm, HEAD, EFFECTS] += memory[arm, HEAD, BROUGHT]
        memory[arm, HEAD, CAME] = 0.0
        memory[arm, HEAD, BROUGHT] = 0.0
        tallies[CLOCK, arm] = tallies[UNITS, arm]
        tallies[SUM, arm] = memory[arm, HEAD, EFFECTS] + sigma_noise * noise
        arm = following(arm, arms)


def advance_precise(
    memory: FloatArray,
    arms: int,
    table: FloatArray,
    units: int,  # noqa: ARG001
    stage: int,  # noqa: ARG001
    sigma_noise: float,
    streams: WordArray,
    scratch: FloatArray,
    ziggurat: FloatArray,
    tallies: FloatArray,
) -> None:
    """Play a stage with precisions as weights: an arm's sum is a Brownian motion at its clock.

    The sum includes both the effects of the units and their noise, so the effects given to `join`
    are not used.
    """
    arm = int(memory[0, HEAD, LATEST])
    for _ in range(arms):
        came = memory[arm, HEAD, CAME]
        memory[arm, HEAD, CAME] = 0.0
        moved = came * table[FIRST, 0]
        for i in range(table.shape[1]):
            value = memory[arm, VALUES, i]
            moved += value
            left = table[POWERS, i] * value + came * table[GAINS, i]
            memory[arm, VALUES, i] = left if abs(left) > NOTHING else 0.0
        if moved > 0.0:
            fill_normals(streams, 0, scratch, 0, 1, ziggurat)
            tallies[CLOCK, arm] += moved
            sigma = sigma_noise * table[SCALE, 0]
            tallies[SUM, arm] += sigma * math.sqrt(moved) * scratch[0]
        arm = following(arm, arms)


MEANS = Crowd(clear, join, advance_means)
PRECISE = Crowd(clear, join, advance_precise)
