"""Simulations with too many runs to keep each: only their summary is kept."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from bascule.core.design import Design
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.engines.backends.cluster import Task
from bascule.simulation.recurrent.engines import EngineName
from bascule.simulation.result import QUANTILES, Estimate, Simulation, SimulationResult
from bascule.simulation.worlds.world import World

BINS = 1024
"""Bins in an octave of the histograms: a quantile is off by one part in a thousand at most."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums over runs from which a mean and its standard error follow.

    Sums of parts are exact, so that the total does not depend on the order in which they arrive.
    """

    total: Fraction = Fraction(0)
    squares: Fraction = Fraction(0)

    @classmethod
    def of(cls, values: IntArray | FloatArray) -> Moments:
        """Return the sums of a column."""
        floats = values.astype(np.float64)
        return cls(Fraction(math.fsum(floats)), Fraction(math.fsum(np.square(floats))))

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.total + other.total, self.squares + other.squares)

    def estimate(self, runs: int) -> Estimate:
        """Return the mean over a number of runs and its standard error."""
        mean = self.total / runs
        if runs < 2:
            return Estimate(float(mean), math.nan)
        variance = (self.squares - runs * mean * mean) / (runs - 1)
        return Estimate(float(mean), math.sqrt(max(0.0, float(variance)) / runs))


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts, sums and histograms of runs; those of two parts add up to those of the whole."""

    runs: int
    wrong: int
    undecided: int
    no_difference: int
    units: tuple[int, ...]
    regret: Moments
    times: Moments
    regret_bins: Counter[int]
    time_bins: Counter[int]
    steps: int
    accuracy: float

    @classmethod
    def of(cls, part: Simulation) -> Tally:
        """Return the summary of runs that are there as columns."""
        return cls(
            runs=part.runs,
            wrong=int(np.sum(part.wrong)),
            undecided=part.undecided,
            no_difference=part.no_difference,
            units=tuple(int(total) for total in part.units.sum(axis=0)),
            regret=Moments.of(part.regret),
            times=Moments.of(part.decision_time),
            regret_bins=_histogram(part.regret),
            time_bins=_histogram(part.decision_time),
            steps=part.steps,
            accuracy=part.accuracy,
        )

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            runs=self.runs + other.runs,
            wrong=self.wrong + other.wrong,
            undecided=self.undecided + other.undecided,
            no_difference=self.no_difference + other.no_difference,
            units=tuple(a + b for a, b in zip(self.units, other.units, strict=True)),
            regret=self.regret + other.regret,
            times=self.times + other.times,
            regret_bins=self.regret_bins + other.regret_bins,
            time_bins=self.time_bins + other.time_bins,
            steps=self.steps + other.steps,
            accuracy=max(self.accuracy, other.accuracy),
        )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SimulationSummary(SimulationResult):
    """What the runs of one design in one world gave, without the runs themselves.

    Means, standard errors and counts are exact; quantiles come from histograms and are off by at
    most one part in a thousand.
    """

    design: Design
    world: World
    seed: int
    tally: Tally
    seconds: float
    compile_seconds: float
    engine: EngineName | None = None

    @property
    def steps(self) -> int:  # type: ignore[override]
        """Units simulated in all."""
        return self.tally.steps

    @property
    def accuracy(self) -> float:  # type: ignore[override]
        """Relative error of the engine, where it has one."""
        return self.tally.accuracy

    @property
    def runs(self) -> int:
        """How many runs were played."""
        return self.tally.runs

    @property
    def error_rate(self) -> float:
        """Share of runs with a wrong decision."""
        return self.tally.wrong / self.tally.runs

    @property
    def undecided(self) -> int:
        """Runs that reached the cap on units, or the horizon."""
        return self.tally.undecided

    @property
    def no_difference(self) -> int:
        """Runs that found no difference that matters."""
        return self.tally.no_difference

    @property
    def share(self) -> tuple[float, ...]:
        """Which part of all units each arm got."""
        total = sum(self.tally.units)
        return tuple(units / total for units in self.tally.units)

    def summary(self) -> dict[str, Estimate]:
        """Mean and standard error of regret, decision time and error rate."""
        tally, runs = self.tally, self.tally.runs
        wrong = Moments(Fraction(tally.wrong), Fraction(tally.wrong))
        return {
            "regret": tally.regret.estimate(runs),
            "decision_time": tally.times.estimate(runs),
            "error_rate": wrong.estimate(runs),
        }

    def quantiles(self, at: Sequence[float] = QUANTILES) -> dict[str, tuple[float, ...]]:
        """Quantiles of regret and decision time over the runs."""
        return {
            "regret": _quantiles(self.tally.regret_bins, at),
            "decision_time": _quantiles(self.tally.time_bins, at),
        }


def tally_runs(task: Task, first_run: int, runs: int) -> Tally:
    """Play some runs of a simulation and return their summary; a worker calls this."""
    columns = task.play(first_run, runs)
    return Tally.of(Simulation.of(task, columns, seconds=0.0))


def _histogram(values: IntArray | FloatArray) -> Counter[int]:
    """Count values by their logarithm, in bins of equal width; those below 0 have negative keys."""
    mantissa, exponent = np.frexp(np.abs(values.astype(np.float64)))
    place = (exponent.astype(np.int64) + 2000) * BINS + ((2 * mantissa - 1) * BINS).astype(np.int64)
    keys, counts = np.unique(np.where(values == 0, 0, np.sign(values) * place), return_counts=True)
    return Counter(dict(zip(keys.astype(np.int64).tolist(), counts.tolist(), strict=True)))


def _bin_value(key: int) -> float:
    """Return the middle of a bin."""
    if key == 0:
        return 0.0
    octave, part = divmod(abs(key), BINS)
    return math.copysign(math.ldexp(0.5 + 0.5 * (part + 0.5) / BINS, octave - 2000), key)


def _quantiles(bins: Counter[int], at: Sequence[float]) -> tuple[float, ...]:
    keys = sorted(bins)
    reached = np.cumsum([bins[key] for key in keys])
    ranks = np.ceil(np.asarray(at) * reached[-1]).clip(1)
    return tuple(_bin_value(keys[place]) for place in np.searchsorted(reached, ranks))
