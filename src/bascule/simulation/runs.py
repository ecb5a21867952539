"""Base classes of the runs of a simulation, with the result columns that every engine fills."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import Any, Literal

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.gaps import gaps_of
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.feasible import units_cap
from bascule.simulation.kernels.compiled import Chunk, RunColumns
from bascule.simulation.random import ziggurat_table
from bascule.simulation.worlds.world import World

AnyArray = np.ndarray[Any, np.dtype[Any]]


@contextmanager
def naming_rule(label: str) -> Iterator[None]:
    """Turn a division by zero into an `InputError` that names the rule and the call.

    >>> with naming_rule("Eager_3"):
    ...     1 / 0
    Traceback (most recent call last):
    ...
    bascule.core.errors.InputError: Eager_3 divides by zero in ...
    """
    try:
        yield
    except ZeroDivisionError as problem:
        *_, last = walk_tb(problem.__traceback__)
        frame, line = last
        place = f"{frame.f_code.co_qualname}() ({Path(frame.f_code.co_filename).name}, line {line})"
        if str(frame.f_globals["__name__"]).startswith("bascule."):
            place = "one of its compiled functions"
        raise InputError(
            "rule",
            f"{label} divides by zero in {place}; handle a lead of 0 and an arm without units, "
            "which occur in every test",
        ) from problem


class Runs(ABC):
    """The runs of one simulation, which threads play a few at a time into shared columns.

    `engine` names the engine if a user can choose one, and `accuracy` is its relative error.
    `first_run` is the run of the first row, if this process plays only a part of the runs.
    """

    engine: Literal["fast", "plain"] | None = None
    accuracy: float = 0.0
    first_run: int = 0

    def __init__(self, design: Design, world: World, seed: int, runs: int) -> None:
        self.design, self.label, self.arms = design, design.rule.label, len(design.arms)
        self.seed = np.uint64(seed)
        self.means = np.array(world.start)
        self.cap = units_cap(design)
        self.ziggurat = ziggurat_table()
        self.times = np.zeros(runs, np.int64)
        self.winners = np.zeros(runs, np.int64)
        self.counts = np.zeros(runs * self.arms, np.int64)

    @abstractmethod
    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play `runs` runs from number `first_run` on; with 0 runs, only compile the loop."""

    def columns(self, first_run: int, runs: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return times, winners and units by arm of `runs` runs from number `first_run` on."""
        row = first_run - self.first_run
        rows = slice(row, row + runs)
        cells = slice(row * self.arms, (row + runs) * self.arms)
        return self.times[rows], self.winners[rows], self.counts[cells]

    def order(self, first_run: int, runs: int, control: IntArray) -> tuple[Chunk, RunColumns]:
        """Return the runs for one call of a loop, and the columns that it writes."""
        columns = RunColumns(*self.columns(first_run, runs), control)
        return Chunk(self.seed, first_run, runs), columns

    @property
    def units(self) -> IntArray:
        """The units of each arm, a row for each run."""
        return self.counts.reshape(-1, self.arms)

    @property
    def regret(self) -> FloatArray:
        """The regret of each run."""
        regret: FloatArray = self.units @ np.array(gaps_of(self.means.tolist()))
        return regret


class WorldRuns(Runs):
    """Runs in any world, in which the regret of a unit depends on when it arrives."""

    def __init__(self, design: Design, world: World, seed: int, runs: int) -> None:
        super().__init__(design, world, seed, runs)
        self.world = world
        self.longest_wait = world.batch + math.ceil(world.delay.longest if world.delay else 0)
        self.regrets = np.zeros(runs)

    @property
    def regret(self) -> FloatArray:
        """The regret of each run, with the means as they were for each unit."""
        return self.regrets

    def regrets_of(self, first_run: int, runs: int) -> FloatArray:
        """Return the regrets of `runs` runs from number `first_run` on."""
        row = first_run - self.first_run
        return self.regrets[row : row + runs]


def ring(units: int) -> int:
    """Return the length of a ring in which this many units can wait, which is a power of two."""
    return 1 << (units + 1).bit_length()
