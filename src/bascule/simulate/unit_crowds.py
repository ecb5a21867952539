"""Units kept as sums of powers of their ages, so that a stage costs the same for any number.

Both crowds need normal noise. `MEANS` gives the sum of the units' own averages, `PRECISE` that of
the averages weighted by their precision. Their table holds the nodes, and their shares the weights
of the sum of powers for `weight / age`.

The memory begins with what a stage brings: for each arm its arrivals, and then their effects.
"""

from __future__ import annotations

from bascule.core.arms import FloatArray
from bascule.simulate.streams import WordArray, fill_normals
from bascule.simulate.unit_kernel import Crowd
from bascule.simulate.unit_noise import advance, clear, draws, read, width
from bascule.simulate.unit_sums import advance_sums, clear_sums, sums_width


def means_width(arms: int, terms: int) -> int:
    """Numbers that the memory of `MEANS` takes: what is new, sums of effects, and noises.

    >>> means_width(2, 12)
    370
    """
    return arms * (3 + width(terms))


def precise_width(arms: int, terms: int) -> int:
    """Numbers that the memory of `PRECISE` takes: what is new, two kinds of sums, and noises.

    >>> precise_width(2, 12)
    464
    """
    return arms * (2 + 2 * sums_width(terms) + width(terms))


def clear_new(memory: FloatArray, arms: int) -> None:
    """Nobody has just arrived."""
    for i in range(2 * arms):
        memory[i] = 0.0


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
    memory[arm] += 1.0
    memory[arms + arm] += effect


def clear_means(memory: FloatArray, arms: int, table: FloatArray) -> None:
    """Begin again without units."""
    terms = table.size
    clear_new(memory, arms)
    for arm in range(arms):
        memory[2 * arms + arm] = 0.0
        clear(memory, 3 * arms + arm * width(terms), terms, table)


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
    terms = table.size
    for arm in range(arms):
        if tallies[arm] > 0.0:
            first = 3 * arms + arm * width(terms)
            arrivals = int(memory[arm])
            memory[2 * arms + arm] += memory[arms + arm]
            count = draws(memory, first, terms, arrivals)
            fill_normals(streams, 0, scratch, 0, count, ziggurat)
            advance(memory, first, terms, table, arrivals, scratch, 0)
            noise = read(memory, first, terms, shares)
            tallies[arms + arm] = tallies[arm]
            tallies[2 * arms + arm] = memory[2 * arms + arm] + sigma_noise * noise
    clear_new(memory, arms)


def clear_precise(memory: FloatArray, arms: int, table: FloatArray) -> None:
    """Begin again without units."""
    terms = table.size
    each = 2 * sums_width(terms) + width(terms)
    clear_new(memory, arms)
    for arm in range(arms):
        first = 2 * arms + arm * each
        clear_sums(memory, first, terms)
        clear_sums(memory, first + sums_width(terms), terms)
        clear(memory, first + 2 * sums_width(terms), terms, table)


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
    """Everybody gives an outcome; clock and sum use the same powers, so the mean is not biased."""
    terms = table.size
    each = 2 * sums_width(terms) + width(terms)
    for arm in range(arms):
        if tallies[arm] > 0.0:
            ones = 2 * arms + arm * each
            effects = ones + sums_width(terms)
            noises = effects + sums_width(terms)
            arrivals = int(memory[arm])
            advance_sums(memory, ones, terms, table, memory[arm])
            advance_sums(memory, effects, terms, table, memory[arms + arm])
            count = draws(memory, noises, terms, arrivals)
            fill_normals(streams, 0, scratch, 0, count, ziggurat)
            advance(memory, noises, terms, table, arrivals, scratch, 0)
            tallies[arms + arm] = read(memory, ones + terms, terms, shares)
            tallies[2 * arms + arm] = read(memory, effects + terms, terms, shares) + (
                sigma_noise * read(memory, noises, terms, shares)
            )
    clear_new(memory, arms)


MEANS = Crowd(clear_means, join, advance_means)
PRECISE = Crowd(clear_precise, join, advance_precise)
