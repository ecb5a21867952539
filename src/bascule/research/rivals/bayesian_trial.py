"""A Bayesian adaptive trial of 0/1 outcomes, as adaptr simulates them (Granholm et al. 2022).

The outcome is undesirable, so that the arm with the lowest rate is best; priors are flat. Patients
join arms with probabilities that follow the posterior probability to be best, with a floor. At a
look the trial ends if an arm is best with enough probability; otherwise it drops arms that are
hardly likely to be best, and ends if all remaining arms are alike. Probabilities are integrated on
a grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bascule.core.types import FloatArray, IntArray

BoolArray = np.ndarray[Any, np.dtype[np.bool_]]

SUPERIOR, ALIKE, OPEN = range(3)
"""The possible endings of a trial: a superior arm, equivalence, or neither."""

CELLS_OF_DIFFERENCE = 20
"""Number of grid cells that `Trial.difference`, the limit of equivalence, is divided into."""

DECIMALS = 9
"""Number of decimals to which the probabilities to be best are rounded."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The design of a trial; the defaults are those of adaptr's README.

    Each look is taken when `data_looks` patients have outcomes; by then `randomised` have joined.
    The trial ends if an arm is best with a probability of at least `superiority`, or if all rates
    are within `difference` of each other with a probability of at least `alike`. An arm is dropped
    if it is best with a probability below `1 - superiority`. The other arms keep a share of at
    least `floor`.
    """

    superiority: float = 0.9814318
    floor: float = 0.2
    alike: float = 0.9
    difference: float = 0.05
    data_looks: tuple[int, ...] = tuple(range(300, 2001, 100))
    randomised: tuple[int, ...] = (*range(400, 2001, 100), 2000)


class Trials(NamedTuple):
    """The results of trials: how each ended, its superior arm or -1, and its patients by arm."""

    ending: IntArray
    superior: IntArray
    patients: FloatArray

    @property
    def size(self) -> FloatArray:
        """The number of patients of each trial."""
        size: FloatArray = self.patients.sum(axis=1)
        return size


class Posterior(NamedTuple):
    """Posterior of each trial and arm: probability per grid cell, and up to each cell's middle."""

    cells: FloatArray
    below: FloatArray


def posterior(events: FloatArray, patients: FloatArray, width: float) -> Posterior:
    """Return the posteriors of event rates on a grid with cells of this width."""
    middles = np.arange(width / 2, 1.0, width)
    density = events[..., None] * np.log(middles)
    density += (patients - events)[..., None] * np.log1p(-middles)
    density -= density.max(axis=-1, keepdims=True)
    np.exp(density, out=density)
    density /= density.sum(axis=-1, keepdims=True)
    return Posterior(density, density.cumsum(axis=-1) - density / 2)


def chances_to_be_best(rates: Posterior, active: BoolArray) -> FloatArray:
    """Return each active arm's probability of having the lowest rate of all active arms."""
    above = np.where(active[..., None], 1.0 - rates.below, 1.0)
    chances = np.empty(active.shape)
    for arm in range(active.shape[1]):
        others = np.delete(above, arm, axis=1).prod(axis=1)
        chances[:, arm] = (rates.cells[:, arm] * others).sum(axis=-1)
    chances[~active] = 0.0
    # Machines differ in the last digits of exp; without rounding, draws from shares would too.
    normed: FloatArray = np.round(chances / chances.sum(axis=1, keepdims=True), DECIMALS)
    return normed


def chance_to_be_alike(rates: Posterior, active: BoolArray) -> FloatArray:
    """Return the probability that active arms' rates are at most `Trial.difference` apart."""
    shifted = np.ones_like(rates.below)
    shifted[..., :-CELLS_OF_DIFFERENCE] = rates.below[..., CELLS_OF_DIFFERENCE:]
    within = np.where(active[..., None], shifted - rates.below, 1.0)
    total = np.zeros(len(active))
    for arm in range(active.shape[1]):
        others = np.delete(within, arm, axis=1).prod(axis=1)
        total += np.where(active[:, arm], (rates.cells[:, arm] * others).sum(axis=-1), 0.0)
    return total


def shares_with_floor(chances: FloatArray, active: BoolArray, floor: float) -> FloatArray:
    """Return shares in proportion to chances, but at least the floor for every active arm.

    >>> shares_with_floor(np.array([[0.9, 0.1, 0.0]]), np.array([[True, True, True]]), 0.2).round(2)
    array([[0.6, 0.2, 0.2]])
    """
    shares = np.where(active, chances, 0.0)
    fixed = np.zeros_like(active)
    for _ in range(active.shape[1]):
        fixed |= active & (shares < floor)
        free = active & ~fixed
        left = 1.0 - floor * fixed.sum(axis=1, keepdims=True)
        mass = np.where(free, chances, 0.0)
        mass_sum = mass.sum(axis=1, keepdims=True)
        shares = np.where(fixed, floor, left * mass / np.where(mass_sum > 0, mass_sum, 1.0))
    return shares


def play(trial: Trial, rates: tuple[float, ...], runs: int, rng: np.random.Generator) -> Trials:
    """Simulate trials whose arms have these true rates."""
    arms, enrolled = len(rates), trial.data_looks[0]
    width = trial.difference / CELLS_OF_DIFFERENCE
    shares = np.full((runs, arms), 1.0 / arms)
    active = np.ones((runs, arms), bool)
    ending, superior, running = np.full(runs, OPEN), np.full(runs, -1), np.arange(runs)

    def arrivals(count: int) -> tuple[FloatArray, FloatArray]:
        came = rng.multinomial(count, shares[running])
        return came.astype(float), rng.binomial(came, rates).astype(float)

    joined = np.zeros((runs, arms))
    patients, events = np.zeros((runs, arms)), np.zeros((runs, arms))
    waiting = arrivals(enrolled)
    joined[running] += waiting[0]
    for by_look in trial.randomised:
        # At each look, the outcomes of patients who joined before the previous look are known.
        patients[running] += waiting[0]
        events[running] += waiting[1]
        waiting = arrivals(by_look - enrolled)
        joined[running] += waiting[0]
        enrolled = by_look
        seen = posterior(events[running], patients[running], width)
        alive = active[running]
        chances = chances_to_be_best(seen, alive)
        won = chances.max(axis=1) >= trial.superiority
        alive &= won[:, None] | (chances >= 1.0 - trial.superiority)
        alone = alive.sum(axis=1) == 1
        best = np.where(alone, alive.argmax(axis=1), chances.argmax(axis=1))
        won |= alone
        similar = ~won & (chance_to_be_alike(seen, alive) >= trial.alike)
        active[running] = alive
        superior[running[won]] = best[won]
        ending[running[won]] = SUPERIOR
        ending[running[similar]] = ALIKE
        shares[running] = shares_with_floor(chances, alive, trial.floor)
        going = ~(won | similar)
        running, waiting = running[going], (waiting[0][going], waiting[1][going])
    return Trials(ending, superior, joined)
