"""`simulate_segments`: what a design with segments would do, beside one test for everyone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bascule.core.design import MOST_UNITS, Design
from bascule.core.errors import InputError
from bascule.core.gaps import checked_means, gaps_of
from bascule.core.inputs import checks
from bascule.core.presenter import presenter
from bascule.core.types import FloatArray
from bascule.simulation.api import simulate
from bascule.simulation.random.streams import checked_seed
from bascule.simulation.recurrent.engines import EngineName
from bascule.simulation.result import Estimate, Simulation


@dataclass(frozen=True, slots=True, eq=False)
class SegmentedSimulation:
    """The runs of a design with segments, and those of one test for everyone, if asked for.

    `segments` has the simulation of each segment, and `weights` its part of the units. With a
    `population` of units to serve, `whole` is one test for everyone with the whole error, and
    regret counts all of the population: each unit against the best arm of its own segment, in the
    test and after it with the arm that was decided (the control if none was).
    """

    design: Design
    weights: dict[str, float]
    segments: dict[str, Simulation]
    population: int | None = None
    whole: Simulation | None = None

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return next(iter(self.segments.values())).runs

    @property
    def any_wrong(self) -> Estimate:
        """The share of runs with a wrong decision in any segment, which the error bounds."""
        wrong = np.any([one.wrong for one in self.segments.values()], axis=0)
        return Estimate.of(wrong.astype(np.float64))

    @property
    def decision_time(self) -> Estimate:
        """Units of the whole population until the last segment is decided."""
        times = [one.decision_time / self.weights[name] for name, one in self.segments.items()]
        return Estimate.of(np.max(times, axis=0))

    @property
    def regret(self) -> Estimate:
        """Regret of all segments: of the tests, and of the rest of the population if given."""
        parts: list[FloatArray] = []
        for name, one in self.segments.items():
            gaps = np.array(self._gaps(name))
            total = one.regret
            if self.population is not None:
                total = total + self._after(one, gaps, self.population * self.weights[name])
            parts.append(total)
        return Estimate.of(np.sum(parts, axis=0))

    @property
    def whole_regret(self) -> Estimate | None:
        """Regret of one winner for everyone, against the best arm of each segment."""
        if self.whole is None or self.population is None:
            return None
        gaps = np.sum(
            [self.weights[name] * np.array(self._gaps(name)) for name in self.segments], axis=0
        )
        return Estimate.of(
            self.whole.units @ gaps + self._after(self.whole, gaps, float(self.population))
        )

    def _gaps(self, name: str) -> tuple[float, ...]:
        means = self.segments[name].means
        return gaps_of([self.design.oriented(mean) for mean in means])

    def _after(self, one: Simulation, gaps: FloatArray, units: float) -> FloatArray:
        """The regret of units that come after the decision, or after the end without one."""
        control = self.design.arms.index(self.design.control_arm)
        served = np.where(one.winner >= 0, one.winner, control)
        left: FloatArray = np.maximum(0.0, units - one.units.sum(axis=1))
        return left * gaps[served]

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain data; `bascule simulate --json` prints it."""
        data: dict[str, Any] = {
            "runs": self.runs,
            "any_wrong": self.any_wrong.mean,
            "decision_time": self.decision_time.mean,
            "regret": self.regret.mean,
            "weights": self.weights,
            "segments": {name: one.to_dict() for name, one in self.segments.items()},
        }
        if self.whole is not None and self.whole_regret is not None:
            data["population"] = self.population
            data["whole"] = {**self.whole.to_dict(), "regret_of_population": self.whole_regret.mean}
        return data

    def __repr__(self) -> str:
        return str(presenter("simulation").segmented_text(self))


def simulate_segments(
    design: Design,
    means: Mapping[str, Sequence[float]],
    weights: Mapping[str, float] | None = None,
    runs: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    *,
    population: int | None = None,
    engine: EngineName | None = None,
) -> SegmentedSimulation:
    """Play a design with segments `runs` times on arms with these means in each segment.

    `weights` are the parts of the units that are in each segment, equal if not given. With a
    `population` of units to serve, a test in a segment ends undecided when its part of them is
    used up, and one test for everyone, with the whole error and the means of the mixed units, is
    played beside it. Units of all segments together have 0/1 outcomes again where those of each
    segment have; with other outcomes the mixed units are played with the spread of the design.

    >>> import bascule as bs
    >>> segments = bs.Segments("device", ["mobile", "desktop"])
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), segments=segments)
    >>> means = {"mobile": [0.1, 0.3], "desktop": [0.3, 0.1]}
    >>> result = bs.simulate_segments(design, means, runs=100, population=5000)
    >>> result.any_wrong.mean <= 0.05, result.regret.mean < result.whole_regret.mean
    (True, True)
    """
    if design.segments is None:
        raise InputError("segments", "the design has no segments: name them, or use simulate")
    names = design.segments.all
    if not isinstance(means, Mapping) or set(means) != set(names):
        raise InputError(
            "means", f"means must be given for each of {', '.join(names)} (got {means!r:.80})"
        )
    weights = _checked_weights(names, weights)
    start = np.random.SeedSequence(checked_seed(seed)).generate_state(len(names) + 1, np.uint64)
    seeds = dict(zip(names, map(int, start), strict=False))
    if population is not None:
        population = checks.whole("population", population, 2, "all units to serve", MOST_UNITS)
    played = {
        name: simulate(
            _capped(one, None if population is None else int(weights[name] * population)),
            means[name],
            runs,
            seeds[name],
            threads,
            engine=engine,
        )
        for name, one in design.by_segment.items()
    }
    if population is None:
        return SegmentedSimulation(design, weights, played)
    given = [checked_means(means[name], len(design.arms), design.outcome) for name in names]
    mixed = np.array([weights[name] for name in names]) @ np.array(given)
    everyone = _capped(replace(design, segments=None), population)
    whole = simulate(everyone, mixed.tolist(), runs, int(start[-1]), threads, engine=engine)
    return SegmentedSimulation(design, weights, played, population, whole)


def _checked_weights(names: Sequence[str], weights: Mapping[str, float] | None) -> dict[str, float]:
    if weights is None:
        return dict.fromkeys(names, 1.0 / len(names))
    if not isinstance(weights, Mapping) or set(weights) != set(names):
        raise InputError(
            "weights", f"weights must be given for each of {', '.join(names)} (got {weights!r:.80})"
        )
    found = {
        name: checks.positive("weights", weights[name], "parts of all units") for name in names
    }
    total = sum(found.values())
    return {name: weight / total for name, weight in found.items()}


def _capped(design: Design, units: int | None) -> Design:
    """Return a design that ends when all units are used up."""
    if units is None:
        return design
    return replace(design, max_units=min(units, design.max_units or units))
