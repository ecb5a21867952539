"""Simulations that figures and claims of the paper need, with the results of every run.

All points draw from the same seed, so run k of one point can be compared with run k of another; the
standard error of their difference takes the common randomness into account.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from bascule.core.design import Design
from bascule.core.inputs.files import CsvRow
from bascule.core.outcomes.noise import Normal
from bascule.core.types import FloatArray
from bascule.planning.sweep import counting
from bascule.simulation import Simulation, World, simulate
from bascule.simulation.engines.backends.threads import Stages

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CsvRow", "FigureCell", "Flags", "Measurements", "Quantity", "Sheet", "measure"]

Quantity = Literal["regret", "decision_time"]

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""A truth value for each run."""

FEWEST = 100
"""Minimum number of runs to judge a claim."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A reproduced figure of the paper, and the table of its numbers."""

    figure: Figure
    rows: Sequence[CsvRow]


@dataclass(frozen=True, slots=True)
class FigureCell:
    """One point of a figure: a rule at one log(1/delta), on arms with these means.

    - `part`: the requested number of runs is divided by this, for a point whose runs are long
    - `other`: what distinguishes it from another point with the same rule
    - `sigma`: the true spread of normal outcomes, if it is not the one that the design states
    """

    design: Design
    log_inverse_delta: float
    means: tuple[float, ...]
    part: int = 1
    other: str = ""
    sigma: float | None = None

    @property
    def world(self) -> World:
        """The world in which the point is simulated."""
        noise = None if self.sigma is None else Normal(self.sigma)
        return World(self.means, noise=noise)

    @property
    def rule(self) -> str:
        """The name of the rule, followed by the text that distinguishes this point."""
        return f"{self.design.rule.label}{self.other}"

    def runs(self, runs: int) -> int:
        """Return how many of the requested runs this point gets."""
        return part_of(runs, self.part)


def part_of(runs: int, part: int) -> int:
    """Return `runs` divided by `part`, but at least `FEWEST`, or `runs` if that is less.

    >>> part_of(10_000, 20), part_of(1000, 20), part_of(60, 20)
    (500, 100, 60)
    """
    return max(min(runs, FEWEST), runs // part)


@dataclass(frozen=True, slots=True)
class Measurements:
    """Simulations by rule and log(1/delta), and the number of runs asked for per point."""

    simulations: Mapping[tuple[str, float], Simulation]
    asked: int = 0

    def at(self, rule: str, log_inverse_delta: float) -> Simulation:
        """Return the simulation of one point."""
        return self.simulations[rule, log_inverse_delta]

    @property
    def runs(self) -> int:
        """The number of runs asked for; points with long runs have fewer."""
        return self.asked or max(simulation.runs for simulation in self.simulations.values())

    @property
    def seed(self) -> int:
        """The seed that all points share."""
        return next(iter(self.simulations.values())).seed

    def runs_of(self, quantity: Quantity, rule: str, grid: Sequence[float]) -> FloatArray:
        """Return a quantity of every run: one row per grid point, one column per run."""
        rows = [getattr(self.at(rule, level), quantity) for level in grid]
        return np.array(rows, dtype=np.float64)


def measure(
    points: Iterable[FigureCell],
    runs: int,
    seed: int,
    threads: int | None = None,
    progress: Stages | None = None,
    before: int = 0,
    total: int = 0,
) -> Measurements:
    """Simulate all points, and return their measurements.

    `progress` is called with the title of a step, the number of finished runs (`before` of them
    before this call), and `total`.
    """
    measured: dict[tuple[str, float], Simulation] = {}
    for point in points:
        point_runs = point.runs(runs)
        report = counting(progress, f"simulating {point.rule}", before, total)
        if report is not None:
            report(0)
        measured[point.rule, point.log_inverse_delta] = simulate(
            point.design, None, point_runs, seed, threads, report, point.world
        )
        before += point_runs
    return Measurements(measured, runs)
