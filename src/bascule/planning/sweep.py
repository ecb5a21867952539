"""Simulate designs within a computing budget, for plans and frontiers.

The number of runs follows from the expected length of a run, so that slow and fast designs take
about the same computing time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bascule.core.design import Design
from bascule.core.errors import NoPredictionError
from bascule.core.evidence.betting import BETS
from bascule.core.evidence.radius import radius
from bascule.core.gaps import rival_gaps
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.intervals.procedure import IntervalProcedure
from bascule.simulation import Simulation, World, simulate
from bascule.simulation.engines.backends.threads import Progress, Stages
from bascule.simulation.engines.choose import is_compiled
from bascule.simulation.kernels.intervals import LARGEST_TABLE
from bascule.theory import mean_path
from bascule.theory.prediction.straight_path import information, rounds_to_win

FIRST_RUNS, FIRST_CAP = 20, 100_000
"""Number of trial runs of a design that theory cannot predict, and their maximum units."""

ARMS_WEIGHT, STOP_WEIGHT, RADIUS_WEIGHT = 30.0, 4.0, 40.0
"""Factors by which simulating a unit takes longer: the largest one for many arms; with a mixture's
stopping rule; and with a mixture's radius beyond the simulator's table."""

LIMITS_WEIGHT, PLAIN_WEIGHT = 5.0, 1000.0
"""Factors by which simulating a unit takes longer: with bounded outcomes, and with a procedure that
has no compiled loop."""

KIND_WEIGHTS = {"recurrent": 40.0}
"""Factors by which simulating a unit takes longer, by the kind of the procedure."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for the number of runs of a design.

    The number is `steps` divided by the effort of a run, but at least `fewest` and at most `most`.
    It is 0 if the effort of a run is above `longest`.

    >>> Budget(steps=1000, fewest=5, most=50, longest=500).runs(effort=100)
    10
    """

    steps: float
    fewest: int
    most: int
    longest: float

    def runs(self, effort: float) -> int:
        """Return the number of runs, given the effort of a run (`Sweep.effort`)."""
        if effort > self.longest:
            return 0
        return max(self.fewest, min(self.most, int(self.steps / effort)))


class Sweep:
    """Simulator of several designs with the same seed, which measures the total time."""

    def __init__(self, seed: int, threads: int | None) -> None:
        self.seed = seed
        self.threads = threads
        self.steps = 0
        self.simulating_seconds = 0.0
        self.compile_seconds = 0.0
        self.started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the start, without compilation."""
        return time.perf_counter() - self.started - self.compile_seconds

    def play(
        self,
        design: Design,
        world: World,
        runs: int,
        progress: Progress | None = None,
        metrics: Mapping[str, Sequence[float]] | None = None,
    ) -> Simulation:
        """Simulate a design in a world; `metrics` has the means of its other metrics, if any."""
        settings = (self.seed, self.threads, progress, world)
        result = simulate(design, None, runs, *settings, metrics=metrics)
        self.steps += result.steps
        self.simulating_seconds += result.seconds
        self.compile_seconds += result.compile_seconds
        return result

    def effort(self, design: Design, world: World, spread: float | None = None) -> float:
        """Return the effort of a run, as a number of units of the fastest kind of simulation.

        If theory cannot predict the length of a run, a few trial runs measure it. `spread` is the
        standard deviation of outcomes if neither their model nor their means determine it.
        """
        try:
            units = expected_units(design, world.start, spread)
        except NoPredictionError:
            cap = FIRST_CAP if design.max_units is None else min(FIRST_CAP, design.max_units)
            capped = replace(design, max_units=cap)
            units = float(self.play(capped, world, FIRST_RUNS).decision_time.mean())
        if design.max_units is not None:
            units = min(units, float(design.max_units))
        return max(1.0, units) * unit_weight(design, units)


def counting(progress: Stages | None, title: str, before: int, total: int) -> Progress | None:
    """Return a progress function that counts the runs of one simulation among several.

    >>> counting(print, "simulating ETC", 100, 300)(20)
    simulating ETC 120 300
    """
    if progress is None:
        return None
    return lambda finished: progress(title, before + finished, total)


def unit_weight(design: Design, units: float) -> float:
    """Return the relative time to simulate a unit, compared with two arms and the paper's radius.

    >>> import bascule as bs
    >>> unit_weight(bs.Design(["a", "b"], bs.Bounded(0, 1), bs.Tilt(3)), 1000.0)
    5.0
    """
    procedure: Any = design.procedure
    outcome = design.outcome
    weight = max(1.0, min(len(design.arms) / 2, ARMS_WEIGHT))
    if not is_compiled(procedure):
        return weight * PLAIN_WEIGHT
    weight *= KIND_WEIGHTS.get(procedure.kind, 1.0)
    if outcome.limited and not outcome.binary:
        weight *= LIMITS_WEIGHT
    return weight * _slower_intervals(procedure, units) if procedure.kind == "intervals" else weight


def _slower_intervals(procedure: IntervalProcedure, units: float) -> float:
    if procedure.pairwise:
        return STOP_WEIGHT
    tabulated = units <= LARGEST_TABLE or procedure.shape.radius is radius
    return 1.0 if tabulated else RADIUS_WEIGHT


def expected_units(design: Design, means: Sequence[float], spread: float | None = None) -> float:
    """Return a rough prediction of the decision time; raise `NoPredictionError` if there is none.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=0.05)
    >>> round(expected_units(design, [0.05, 0.06]))
    35045
    """
    means = tuple(design.oriented(mean) for mean in means)
    design = design.increasing
    procedure: Any = design.procedure
    units = None
    if procedure.kind == "blocks":
        units = _rough_in_blocks(design, procedure, means, spread)
    return mean_path(design, rival_gaps(means)).decision_time if units is None else units


def _rough_in_blocks(
    design: Design, procedure: BlockProcedure, means: Sequence[float], spread: float | None
) -> float | None:
    if procedure.boundary(1.0) is not None:
        clock = information(procedure, min(rival_gaps(means)))
    else:
        clock = _pairs_to_win(design, procedure.threshold, means, spread) / 2
    # Information h takes (1 + r) h units of the leader and (1 + 1/r) h of each rival, at tilt r.
    return clock * (1 + procedure.tilt + (len(means) - 1) * (1 + 1 / procedure.tilt))


def _pairs_to_win(
    design: Design, threshold: float, means: Sequence[float], spread: float | None
) -> float:
    best, gap = max(means), min(rival_gaps(means))
    if design.outcome.binary:
        return rounds_to_win(best, best - gap, threshold)
    growth = gap**2 / (4 * _spread(design, means, spread) ** 2)
    return (threshold + math.log(len(BETS))) / growth


def _spread(design: Design, means: Sequence[float], spread: float | None) -> float:
    """Return `spread` if given, else the spread of the two best arms' outcomes."""
    if spread is not None:
        return spread
    best = sorted(means, reverse=True)[:2]
    noise = design.outcome.noise(tuple(means))
    return math.sqrt(sum(noise.spread(mean) ** 2 for mean in best) / 2)
