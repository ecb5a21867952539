"""Units kept as sums of powers of their ages, so that a stage costs the same for any number.

Both crowds need normal noise. `MEANS` gives the sum of the units' own averages, `PRECISE` that of
the averages weighted by their precision. Their table holds the nodes, and their shares the weights
of the sum of powers for `weight / age`.

A unit joins the powers at its second stage: its first outcome, whose weight falls off most steeply,
is kept apart, and the ages from 2 on need fewer terms. The last of the shares is the weight at age
1. So the memory begins with what is new, `NEW` numbers an arm: how many joined at this stage and
what their effects add up to; how many joined at the stage before, and their effects and noises.
Then come the arms that were joined last at this stage and at the one before: to begin with them
lets the processor foresee which arms have arrivals, where one unit joins at a time.
"""

from __future__ import annotations

import math

from bascule.core.procedures.intervals.state import FloatArray
from bascule.simulation.random.streams import WordArray, fill_normals
from bascule.simulation.recurrent.kernel import Crowd
from bascule.simulation.recurrent.noise import advance, clear, draws, read, width
from bascule.simulation.recurrent.sums import advance_sums, clear_sums, sums_width

NEW = 5
CAME, BROUGHT, WAITING, OWN, NOISE = range(NEW)
"""What the memory keeps of the latest arrivals, in multiples of the number of arms."""


def means_width(arms: int, terms: int) -> int:
    """Numbers that the memory of `MEANS` takes: what is new, sums of effects, and noises.

    >>> means_width(2, 12)
    392
    """
    return 2 + arms * (NEW + 1 + width(terms))


def precise_width(arms: int, terms: int) -> int:
    """Numbers that the memory of `PRECISE` takes: what is new, two kinds of sums, and noises.

    >>> precise_width(2, 12)
    486
    """
    return 2 + arms * (NEW + 2 * sums_width(terms) + width(terms))


def clear_new(memory: FloatArray, arms: int) -> None:
    """Nobody has just arrived."""
    for i in range(NEW * arms + 2):
        memory[i] = 0.0


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


def first_outcomes(
    memory: FloatArray,
    arms: int,
    weight: float,
    counts: float,
    sigma_noise: float,
    streams: WordArray,
    scratch: FloatArray,
    ziggurat: FloatArray,
    tallies: FloatArray,
) -> None:
    """Those who just joined give their first outcome, and wait to be among the powers.

    To an arm's clock each of them adds `counts`, and to its sum `weight` times its outcome.
    """
    arm = int(memory[NEW * arms])
    memory[NEW * arms + 1] = arm
    for _ in range(arms):
        came, brought, noise = memory[CAME * arms + arm], memory[BROUGHT * arms + arm], 0.0
        if came > 0.0:
            fill_normals(streams, 0, scratch, 0, 1, ziggurat)
            noise = math.sqrt(came) * scratch[0]
            tallies[arms + arm] += counts * came
            tallies[2 * arms + arm] += weight * (brought + sigma_noise * noise)
        memory[WAITING * arms + arm] = came
        memory[OWN * arms + arm] = brought
        memory[NOISE * arms + arm] = noise
        memory[CAME * arms + arm] = 0.0
        memory[BROUGHT * arms + arm] = 0.0
        arm = following(arm, arms)


def clear_means(memory: FloatArray, arms: int, table: FloatArray) -> None:
    """Begin again without units."""
    terms = table.size
    clear_new(memory, arms)
    effects = NEW * arms + 2
    for arm in range(arms):
        memory[effects + arm] = 0.0
        clear(memory, effects + arms + arm * width(terms), terms, table)


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
    arm = int(memory[NEW * arms + 1])
    for _ in range(arms):
        earlier = tallies[arm] - memory[CAME * arms + arm]
        if earlier > 0.0:
            effects = NEW * arms + 2 + arm
            first = (NEW + 1) * arms + 2 + arm * width(terms)
            memory[effects] += memory[OWN * arms + arm]
            waiting, before = int(memory[WAITING * arms + arm]), memory[NOISE * arms + arm]
            count = draws(memory, first, terms, waiting)
            fill_normals(streams, 0, scratch, 0, count, ziggurat)
            noise = advance(memory, first, terms, table, shares, waiting, before, scratch, 0)
            tallies[arms + arm] = earlier
            tallies[2 * arms + arm] = memory[effects] + sigma_noise * noise
        arm = following(arm, arms)
    first_outcomes(memory, arms, 1.0, 1.0, sigma_noise, streams, scratch, ziggurat, tallies)


def clear_precise(memory: FloatArray, arms: int, table: FloatArray) -> None:
    """Begin again without units."""
    terms = table.size
    each = 2 * sums_width(terms) + width(terms)
    clear_new(memory, arms)
    for arm in range(arms):
        first = NEW * arms + 2 + arm * each
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
    arm = int(memory[NEW * arms + 1])
    for _ in range(arms):
        if tallies[arm] > memory[CAME * arms + arm]:
            ones = NEW * arms + 2 + arm * each
            effects = ones + sums_width(terms)
            noises = effects + sums_width(terms)
            waiting, before = int(memory[WAITING * arms + arm]), memory[NOISE * arms + arm]
            advance_sums(memory, ones, terms, table, memory[WAITING * arms + arm])
            advance_sums(memory, effects, terms, table, memory[OWN * arms + arm])
            count = draws(memory, noises, terms, waiting)
            fill_normals(streams, 0, scratch, 0, count, ziggurat)
            noise = advance(memory, noises, terms, table, shares, waiting, before, scratch, 0)
            # Among the powers everybody is one stage younger: the age is one more than there.
            clock = read(memory, ones + terms, terms, shares) + read(memory, ones, terms, shares)
            means = read(memory, effects + terms, terms, shares)
            means += read(memory, effects, terms, shares)
            tallies[arms + arm] = clock
            tallies[2 * arms + arm] = means + sigma_noise * noise
        arm = following(arm, arms)
    weight = shares[terms]
    first_outcomes(memory, arms, weight, weight, sigma_noise, streams, scratch, ziggurat, tallies)


MEANS = Crowd(clear_means, join, advance_means)
PRECISE = Crowd(clear_precise, join, advance_precise)
