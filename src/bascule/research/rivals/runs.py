"""The loop that simulates rival rules in any world."""

from __future__ import annotations

import numpy as np

from bascule.core.design import Design
from bascule.core.types import NOBODY, FloatArray, IntArray
from bascule.research.rivals.rules import RivalProcedure
from bascule.research.rivals.steps import (
    SQUARES,
    SUMS,
    TOTALS,
    WEIGHTED,
    WEIGHTED_SQUARES,
    winner_of,
    write_shares,
)
from bascule.simulation.engines.choose import Order
from bascule.simulation.kernels.compiled import (
    STOP,
    Chunk,
    Kernel,
    RunColumns,
    compile_loop,
    finish_run,
)
from bascule.simulation.kernels.worlds.intervals import EMPTY, schedule, wipe
from bascule.simulation.kernels.worlds.unit import (
    NoiseSource,
    arrival,
    mean_and_gap,
    outcome_of,
    source_of,
)
from bascule.simulation.random import seed_stream, uniform
from bascule.simulation.runs import Runs, WorldRuns, ring
from bascule.simulation.worlds.world import World

LOOK = 10
"""Number of units from look to look; only at looks are shares updated and decisions made."""


def build(fingerprint: str) -> Kernel:
    """Return the loop for all rival rules; `fingerprint` of its source is a key of the cache."""

    def play(
        sums: FloatArray,
        shares: FloatArray,
        assigned: FloatArray,
        heads: IntArray,
        nexts: IntArray,
        dues: IntArray,
        owners: IntArray,
        values: FloatArray,
        chosen: FloatArray,
        arms: int,
        chunk: Chunk,
        max_units: int,
        source: NoiseSource,
        kind: int,
        error: float,
        knob: float,
        sigma: float,
        columns: RunColumns,
        regrets: FloatArray,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), control = chunk, columns.control
        streams, _, world, means, _, _, _ = source
        turn = heads.size - 1
        heads[:] = EMPTY
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            sums[:], assigned[:], shares[:] = 0.0, 0.0, 1.0 / arms
            units, clock, under_way = 0, 0, 0
            regret = 0.0
            winner = NOBODY
            while winner == NOBODY and (units < max_units or under_way > 0) and control[STOP] == 0:
                if units < max_units:
                    draw = uniform(streams, 0)
                    arm = 0
                    while arm < arms - 1 and draw >= shares[arm]:
                        draw -= shares[arm]
                        arm += 1
                    mean, gap = mean_and_gap(world, means, arm, units)
                    value = outcome_of(source, arm, mean)
                    due, came = arrival(streams, world, units, value)
                    slot = units & turn
                    values[slot], owners[slot], chosen[slot] = value, arm, shares[arm]
                    dues[slot] = 0
                    regret += gap
                    assigned[arm] += 1.0
                    units += 1
                    if came:
                        schedule(heads, nexts, dues, slot, due)
                        under_way += 1
                clock += 1
                slot = heads[clock & turn]
                heads[clock & turn] = EMPTY
                while slot != EMPTY:
                    under_way -= 1
                    arm, value = owners[slot], values[slot]
                    weighted = value / chosen[slot]
                    sums[arm] += 1.0
                    sums[arms * TOTALS + arm] += value
                    sums[arms * SQUARES + arm] += value * value
                    sums[arms * WEIGHTED + arm] += weighted
                    sums[arms * WEIGHTED_SQUARES + arm] += weighted * weighted
                    slot = nexts[slot]
                if clock % LOOK == 0:
                    winner = winner_of(kind, sums, arms, error, sigma)
                    write_shares(kind, sums, arms, knob, sigma, shares)
            wipe(heads, dues, units)
            if control[STOP] != 0:
                break
            regrets[row] = regret
            finish_run(assigned, row, units, winner, columns)

    return play


class RivalRuns(WorldRuns):
    """Simulated runs of a rival rule."""

    def __init__(
        self, design: Design, procedure: RivalProcedure, world: World, seed: int, runs: int
    ) -> None:
        super().__init__(design, world, seed, runs)
        error = design.calibration.error
        self.numbers = (procedure.step, error, procedure.setting, procedure.sigma)

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Simulate some of the runs; if `runs` is 0, only compile."""
        chunk, columns = self.order(first_run, runs, control)
        length = ring(self.longest_wait + 1)
        compile_loop(build)(
            np.empty(SUMS * self.arms),
            np.empty(self.arms),
            np.empty(self.arms),
            *(np.empty(length, np.int64) for _ in range(4)),
            np.empty(length),
            np.empty(length),
            self.arms,
            chunk,
            self.cap,
            source_of(self.world),
            *self.numbers,
            columns,
            self.regrets_of(first_run, runs),
        )


def play_rival(procedure: RivalProcedure, order: Order) -> Runs:
    """Return the runs of a rival rule, ready to be simulated."""
    order.refuse_engine()
    return RivalRuns(order.design, procedure, order.written_out, order.seed, order.runs)
