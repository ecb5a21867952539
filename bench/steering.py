"""Steered tests in simulations: days, conversions lost, and wrong decisions.

python -m bench.steering [--runs 400] prints the row of the table in docs/research/steering.md, and
the share of false winners among equal arms whose level changes with weekdays and a trend.

A run is the loop of `bascule steer` without its files: shares for a day, units counted when their
windows have closed, rounds folded by the same functions, compiled.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

import bascule as bs
from bascule.core.ending import cap_met
from bascule.core.evidence.families.rows import ACTIVE
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.steps import GOES_ON
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import NOBODY, FloatArray
from bascule.simulation.kernels.blocks import compiled_params
from bascule.simulation.kernels.compiled import compile_loop
from bascule.steering.evidence import Stand, in_rounds, next_shares, rounds_loop

DAY = 86_400.0
LONGEST = 200

Level = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Run:
    """How a simulated test ended: the winner, its days, and conversions lost until then."""

    winner: int
    days: float
    lost: float


def steered(
    design: bs.Design, chances: tuple[float, float], per_day: int, seed: int, level: Level
) -> Run:
    """Steer one test of two arms daily, with 0/1 outcomes that are known when a window closes.

    `level` is added to both chances, by the day as a number with the time of day as its fraction.
    """
    procedure = cast("BlockProcedure", design.procedure)
    params, family = compiled_params(procedure), procedure.evidence
    loop = compile_loop(rounds_loop, family, True)
    rng = np.random.default_rng(seed)
    assert design.measure is not None
    window = math.ceil(design.measure.matures(0.0) / DAY)
    lists = procedure.rows(procedure.empty())
    arms, pairs = (np.array(rows) for rows in lists)
    statistics, shares = Statistics.empty(2), 0.5
    waiting: list[list[np.ndarray]] = []
    lost, gap = 0.0, max(chances) - np.array(chances)
    for day in range(LONGEST):
        times = day + rng.random(per_day)
        joined = (rng.random(per_day) < shares).astype(int)
        levels = level(times)
        won = (rng.random(per_day) < np.array(chances)[joined] + levels).astype(float)
        waiting.append([won[joined == arm] for arm in (0, 1)])
        lost += float(gap[joined].sum())
        if day + 1 < window + 1:
            continue
        block = [rng.permutation(arm) for arm in waiting.pop(0)]
        if not all(map(len, block)):
            continue
        number, powers = in_rounds(block)
        play = cast(
            "Stand", loop(arms, pairs, 2, procedure.margin, params, number, np.array(powers))
        )
        units, totals, squares, cubes = (power[: play.rounds].sum(axis=0) for power in powers)
        sums = tuple(
            before
            + ArmStatistics(round(units[i]), float(totals[i]), float(squares[i]), float(cubes[i]))
            for i, before in enumerate(statistics.arms)
        )
        out = frozenset(i for i in (0, 1) if arms[i][ACTIVE] == 0.0)
        statistics = Statistics(sums, dropped=out, pairs=tuple(map(tuple, pairs.tolist())))
        if play.winner != NOBODY or play.ended != GOES_ON or cap_met(design, statistics):
            return Run(int(play.winner), day + 1.0, lost)
        shares = next_shares(design, statistics)[design.arms[1]]
    return Run(NOBODY, float(LONGEST), lost)


WORLDS = ((0.06, "1d"), (0.055, "1d"), (0.055, "7d"))
"""Chances of the better arm, against 5 %, and conversion windows."""

PER_DAY = 5000


def design_of(better: float, window: str) -> bs.Design:
    """Return the design that is planned for a world, with tilt 8."""
    rule = bs.Tilt(8, better - 0.05, power=0.9, baseline=0.05, futility=0.2)
    measure = bs.Measure(window, "any")
    return bs.Design(["control", "variant"], bs.Bernoulli(), rule, measure=measure)


def weekdays_and_trend(time: FloatArray) -> FloatArray:
    """Return the level of a world with better weekends, evenings and a slow fall."""
    weekend = np.where(time.astype(int) % 7 >= 5, 0.02, 0.0)
    return weekend + 0.01 * np.sin(2.0 * np.pi * time) - 0.0005 * np.minimum(time, 40.0)


def steady(time: FloatArray) -> FloatArray:
    """Return the level of a world that does not change."""
    return np.zeros_like(time)


def ties(runs: int, seed: int = 1) -> int:
    """Return how many tests of equal arms have a winner."""
    design = design_of(0.06, "1d")
    played = (
        steered(design, (0.06, 0.06), PER_DAY, seed + run, weekdays_and_trend)
        for run in range(runs)
    )
    return sum(run.winner >= 0 for run in played)


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Return the mean of some numbers, and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    for better, window in WORLDS:
        design = design_of(better, window)
        played = [steered(design, (0.05, better), PER_DAY, k, steady) for k in range(runs)]
        days, lost = ([getattr(one, name) for one in played] for name in ("days", "lost"))
        right = sum(one.winner == 1 for one in played) / runs
        wrong = sum(one.winner == 0 for one in played)
        parts = [f"{mean:.2f} ± {error:.2f}" for mean, error in map(mean_and_error, (days, lost))]
        print(f"5 to {100 * better:g} %, window {window}: days {parts[0]}, lost {parts[1]}, "
              f"right {100 * right:.1f} %, wrong {wrong}", flush=True)  # fmt: skip
    print(f"false winners of equal arms: {ties(runs)} of {runs}")


if __name__ == "__main__":
    main()
