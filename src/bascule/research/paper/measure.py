"""What a section of the paper measures: simulations at points, kept run by run.

All points draw from the same seed, so run k of one can be set against run k of another; whatever
they share is then in the standard error of their difference.
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
"""Whether something is so, for each run."""

FEWEST = 100
"""No claim is judged on fewer runs than these."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a figure of the paper becomes: a drawing and its table."""

    figure: Figure
    rows: Sequence[CsvRow]


@dataclass(frozen=True, slots=True)
class FigureCell:
    """One cell of a figure: a rule at one log(1/delta), on arms with these means.

    - `part`: a point whose runs are long gets one run in so many
    - `other`: what sets it apart from the point with the same rule
    - `sigma`: the true spread of normal outcomes, where it is not the one that the design states
    """

    design: Design
    log_inverse_delta: float
    means: tuple[float, ...]
    part: int = 1
    other: str = ""
    sigma: float | None = None

    @property
    def world(self) -> World:
        """What the point is played in."""
        noise = None if self.sigma is None else Normal(self.sigma)
        return World(self.means, noise=noise)

    @property
    def rule(self) -> str:
        """The name of the rule, and what is other than usual."""
        return f"{self.design.rule.label}{self.other}"

    def runs(self, runs: int) -> int:
        """How many of the runs it gets; standard errors need two."""
        return part_of(runs, self.part)


def part_of(runs: int, part: int) -> int:
    """Return one run in `part` of those asked for, and at least `FEWEST` where that many were.

    >>> part_of(10_000, 20), part_of(1000, 20), part_of(60, 20)
    (500, 100, 60)
    """
    return max(min(runs, FEWEST), runs // part)


@dataclass(frozen=True, slots=True)
class Measurements:
    """Simulations by rule and log(1/delta), and how many runs a point were asked for."""

    simulations: Mapping[tuple[str, float], Simulation]
    asked: int = 0

    def at(self, rule: str, log_inverse_delta: float) -> Simulation:
        """The simulation of one point."""
        return self.simulations[rule, log_inverse_delta]

    @property
    def runs(self) -> int:
        """The runs that were asked for, which a point gets unless its runs are long."""
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
    """Simulate every point.

    `progress` is called with the rule, the runs done in all, `before` of them earlier, and `total`.
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
