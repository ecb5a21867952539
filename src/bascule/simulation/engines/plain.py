"""Runs of any procedure that counts units or blocks, played by calling it, uncompiled.

The compiled loops know the families of rules that the package has. A procedure of another kind is
played here: slowly, and with the same random numbers as its trace.
"""

from __future__ import annotations

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.procedures.base import Procedure
from bascule.core.types import NO_DIFFERENCE, NOBODY, IntArray
from bascule.simulation.kernels.control import FINISHED, STEPS, STOP
from bascule.simulation.runs import Runs
from bascule.simulation.trace import steps_of
from bascule.simulation.worlds.world import World


class PlainRuns(Runs):
    """Runs that call the procedure for every unit or block."""

    def __init__(
        self, design: Design, procedure: Procedure, world: World, seed: int, runs: int
    ) -> None:
        super().__init__(design, world, seed, runs)
        if procedure.counts == "stages":
            raise InputError(
                "rule", f"{procedure.label} counts by stages in a way that no engine can play"
            )
        if not world.plain_for(design.outcome):
            raise InputError(
                "world",
                f"{procedure.label} is simulated in a steady world, not with {world.words}: give "
                "means alone",
            )
        self.design, self.procedure = design, procedure

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs."""
        means = tuple(self.means.tolist())
        for run in range(first_run, first_run + runs):
            last = None
            for step in steps_of(self.design, self.procedure, means, int(self.seed), run):
                last = step
                if control[STOP]:
                    return
            winner, units = NOBODY, [0] * self.arms
            if last is not None:
                units = [arm.units for arm in last.statistics.arms]
                if last.decision is not None:
                    arm = last.decision.arm
                    winner = NO_DIFFERENCE if arm is None else arm
            row = run - self.first_run
            self.times[row], self.winners[row] = sum(units), winner
            self.units[row] = units
            control[FINISHED] += 1
            control[STEPS] += sum(units)
