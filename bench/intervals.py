"""How wide the intervals of planned tests are, and how often they are wrong.

`python -m bench.intervals` prints the tables of docs/research/horizon.md: medians of the interval
at parts of the horizon beside a fixed-sample 95 % interval, and the share of tests whose interval
is ever wrong, up to the horizon and up to twice as far. `python -m bench.intervals 200 500` sets
the runs of both. It also prints those of the relative lift in docs/research/ends.md, where it
follows from the interval of the difference.
"""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np

import bascule as bs
from bascule.core.evidence.families.estimated_spread import lift_of
from bascule.core.evidence.families.rows import BLOCK_SUM, BLOCK_UNITS, CLOCK
from bascule.core.evidence.horizon import normal_constant, reach_for
from bascule.core.metrics.effects import PART, mean_radius
from bascule.core.procedures.blocks.steps import (
    Scope,
    begin_block,
    clear,
    steps_of,
    units_of_leader,
)
from bascule.core.progress import block_procedure
from bascule.simulation.kernels.compiled import compile_loop

MARKS = np.array((0.1, 0.25, 0.5, 0.75, 0.99))
LOW, HIGH, FIXED_LOW, FIXED_HIGH, UNITS, SUM, SQUARES, LIFT_LOW, LIFT_HIGH = range(9)
BELOW, ABOVE, LATE_BELOW, LATE_ABOVE, AT_DECISION, LIFT_BELOW, LIFT_ABOVE = range(7)


class Cell(NamedTuple):
    """A planned test: its outcome, its rule, the control's mean, and the effect."""

    name: str
    outcome: bs.design.Outcome
    rule: bs.Tilt
    base: float
    effect: float


def planned(effect: float, **options: Any) -> bs.Tilt:
    """Return the rule of a planned test."""
    return bs.Tilt(3, effect=effect, power=0.9, **options)


FLAT = planned(0.1, guarantee="gaussian")
CELLS = (
    Cell("0/1, 5 % and 6 %", bs.Bernoulli(), planned(0.01, baseline=0.05), 0.05, 0.01),
    Cell("0/1, 12 % and 13.8 %", bs.Bernoulli(), planned(0.018, baseline=0.12), 0.12, 0.018),
    Cell("normal, 0 and 0.1", bs.Gaussian(1), planned(0.1), 0.0, 0.1),
    Cell("normal, flat boundary", bs.Gaussian(1), FLAT, 0.0, 0.1),
    Cell("`Numeric`, 0 and 0.1", bs.Numeric(), planned(0.1), 0.0, 0.1),
)
LIFTED = (
    Cell("`Numeric`, horizon, 1 and 1.1", bs.Numeric(), planned(0.1), 1.0, 0.1),
    Cell("`Numeric`, horizon, 0.25 and 0.35", bs.Numeric(), planned(0.1), 0.25, 0.1),
    Cell("`Numeric`, endless, 1 and 1.1", bs.Numeric(), bs.Tilt(3), 1.0, 0.1),
    Cell("`Numeric`, endless, 0.25 and 0.35", bs.Numeric(), bs.Tilt(3), 0.25, 0.1),
    Cell("normal, endless, 1 and 1.1", bs.Gaussian(1), bs.Tilt(3), 1.0, 0.1),
    Cell("normal, endless, 0.25 and 0.35", bs.Gaussian(1), bs.Tilt(3), 0.25, 0.1),
)


def build(
    leader: Any, fold: Any, interval: Any, verdict: Any, remaining: Any, family: Any, digest: str
) -> Any:
    """Return the loop that plays tests of two arms and looks at the interval after each block."""
    observe, shared = family

    def loop(
        seed: int,
        steps: float,
        means: Any,
        binary: bool,
        tilt: float,
        endless: float,
        trend: float,
        params: Any,
        arms: Any,
        pairs: Any,
        sums: Any,
        squares: Any,
        units: Any,
        past: float,
        marks: Any,
        shown: Any,
        wrong: Any,
    ) -> int:
        np.random.seed(seed)
        truth = (means[0] - means[1]) * params.precision
        for run in range(shown.shape[0]):
            clear(arms, pairs, 2, arms.shape[1], pairs.shape[1])
            for i in range(2):
                sums[i] = squares[i] = units[i] = 0.0
            mark, decided, part, end, step = 0, False, 0.0, 0.0, -1.0
            lowest, highest, level = -math.inf, math.inf, 0.0
            while part < past:
                front, ahead = leader(arms, pairs, 2, params)
                begin_block(arms, 2, front, units_of_leader(ahead, tilt), 1)
                for i in range(2):
                    for _ in range(int(arms[i, BLOCK_UNITS])):
                        if binary:
                            value = 1.0 if np.random.random() < means[i] else 0.0
                        else:
                            value = means[i] * (1.0 + trend * part) + np.random.normal()
                        observe(arms[i], value)
                        sums[i] += value
                        squares[i] += value * value
                    units[i] += arms[i, BLOCK_UNITS]
                theirs = arms[1, BLOCK_UNITS] / (arms[0, BLOCK_UNITS] + arms[1, BLOCK_UNITS])
                level += theirs * arms[0, BLOCK_SUM] * params.precision
                fold(arms, pairs, 2, params)
                clock = units[0] * units[1] / (units[0] + units[1])
                left = remaining(pairs[0], arms[0], arms[1], shared(arms, 2, params), 0.0, params)
                if left > 0.0 and left < math.inf:
                    end = clock / (pairs[0, CLOCK] / (pairs[0, CLOCK] + left))
                end = endless if endless > 0.0 else end
                part = clock / end if end > 0.0 else 0.0
                middle, low, high = interval(arms, pairs, 2, 0, 1, params)
                won = verdict(pairs[0], arms[0], arms[1], params) != 0.0
                # As a live test keeps it: when the units have grown by 1 %, and at the decision.
                before, step = step, math.floor(steps * math.log(units[0] + units[1]))
                if steps > 0.0 and (won or step > before):
                    lowest, highest = max(lowest, low), min(highest, high)
                if steps > 0.0:
                    low, high = lowest, highest
                base = level / clock
                least, most = lift_of(base, base - middle, -high, -low)
                lift = means[1] / means[0] - 1.0 if means[0] > 0.0 else 0.0
                if least > lift or (least >= 0.0 and lift <= 0.0):
                    wrong[run, LIFT_BELOW] = 1.0
                if most < lift or (most <= 0.0 and lift >= 0.0):
                    wrong[run, LIFT_ABOVE] = 1.0
                late = 2 if part > 1.0 else 0
                if low > truth or (low >= 0.0 and truth <= 0.0):
                    wrong[run, BELOW + late] = 1.0
                if high < truth or (high <= 0.0 and truth >= 0.0):
                    wrong[run, ABOVE + late] = 1.0
                if won and not decided:
                    decided = True
                    wrong[run, AT_DECISION] = 1.0 if low > truth or high < truth else 0.0
                while mark < marks.size and part >= marks[mark]:
                    first, second = sums[0] / units[0], sums[1] / units[1]
                    noise = (squares[0] / units[0] - first * first) / units[0]
                    noise += (squares[1] / units[1] - second * second) / units[1]
                    raw, radius = second - first, 1.959964 * math.sqrt(noise)
                    shown[run, mark, LOW], shown[run, mark, HIGH] = -high, -low
                    shown[run, mark, FIXED_LOW] = (raw - radius) * params.precision
                    shown[run, mark, FIXED_HIGH] = (raw + radius) * params.precision
                    shown[run, mark, UNITS], shown[run, mark, SUM] = units[0], sums[0]
                    shown[run, mark, SQUARES] = squares[0]
                    shown[run, mark, LIFT_LOW], shown[run, mark, LIFT_HIGH] = least, most
                    mark += 1
        return len(digest)

    return loop  # fmt: skip


def play(
    cell: Cell, error: float, true: float, runs: int, past: float, trend: float = 0.0
) -> tuple[Any, Any]:
    """Return intervals at the marks, and whether each run's interval was ever wrong.

    Means grow by the fraction `trend` up to the horizon; a test without one has the marks of a test
    with the same effect and a power of 0.9.
    """
    design = bs.Design(["a", "b"], cell.outcome, cell.rule, error=error)
    procedure = block_procedure(design)
    family = procedure.evidence
    steps = steps_of(family, Scope(two_arms=True, intervals=True, horizon=procedure.has_horizon))
    loop = compile_loop(
        build, steps.leader, steps.fold, steps.interval, family.verdict, family.remaining,
        (family.observe, family.shared),
    )  # fmt: skip
    params = procedure.params._replace(floors=np.zeros(len(procedure.params.floors)))
    shown, wrong = np.full((runs, MARKS.size, 9), np.nan), np.zeros((runs, 7))
    means = np.array((cell.base, cell.base + true))
    steps_kept = procedure.steps_kept if procedure.keeps_bounds else 0.0
    reach = 0.0 if procedure.horizon else reach_for(0.9, normal_constant(error / 2.0))
    loop(
        3, steps_kept, means, cell.outcome.binary, procedure.tilt,
        (reach / cell.effect) ** 2, trend, params,
        np.empty((2, family.arm_columns)), np.empty((1, family.pair_columns)), *np.zeros((3, 2)),
        past, MARKS, shown, wrong,
    )  # fmt: skip
    return shown, wrong


def widths(runs: int) -> None:
    """Print the medians of both ends at parts of the horizon, in planned effects."""
    parts = [f"{part:.0%}".replace("%", " %") for part in MARKS]
    print(f"| test | {' | '.join(parts)} | width over a fixed one |")
    print("|---" * (len(parts) + 2) + "|")
    for cell in CELLS:
        shown, _ = play(cell, 0.05, cell.effect, runs, 1.0)
        ends = np.nanmedian(shown, axis=0) / cell.effect
        ratios = (ends[:, HIGH] - ends[:, LOW]) / (ends[:, FIXED_HIGH] - ends[:, FIXED_LOW])
        print(
            f"| {cell.name} | {' | '.join(f'{row[LOW]:.2f} to {row[HIGH]:.2f}' for row in ends)} | "
            f"{', '.join(f'{ratio:.2f}' for ratio in ratios)} |"
        )
    fixed = (f"{row[FIXED_LOW]:.2f} to {row[FIXED_HIGH]:.2f}" for row in ends)
    print(f"\nFixed-sample 95 % intervals of the last row: {', '.join(fixed)}.")


def coverage(runs: int) -> None:
    """Print how often an end is ever wrong where 10 % is allowed, up to two horizons."""
    print("| test | no difference | the planned effect | twice that | wrong at the decision |")
    print("|---|---|---|---|---|")
    for cell in CELLS:
        played = [play(cell, 0.2, times * cell.effect, runs, 2.0)[1] for times in (0.0, 1.0, 2.0)]
        ever = [np.maximum(wrong[:, :2], wrong[:, 2:4]).mean(axis=0) for wrong in played]
        # Of equal arms every decision is wrong.
        at = ", ".join(f"{100 * wrong[:, AT_DECISION].mean():.1f}" for wrong in played[1:])
        shares = " | ".join(f"{100 * above:.1f}, {100 * below:.1f} %" for below, above in ever)
        print(f"| {cell.name} | {shares} | {at} % |")


def lifts(runs: int, wrong_runs: int) -> None:
    """Print the widths of the lift's interval over a fixed-sample one, and how often it is wrong.

    First with an interval of the control's mean, then from the interval of the difference.
    """
    kinds = "with an interval of the control | from the difference"
    print(f"| test | {kinds} | no lift | lift | twice | trend |")
    print("|---" * 7 + "|")
    for cell in LIFTED:
        shown, _ = play(cell, 0.05, cell.effect, runs, 1.0)
        means, own = shown[..., SUM] / shown[..., UNITS], shown[..., LIFT_HIGH]
        squares = shown[..., SQUARES] / shown[..., UNITS]
        radii = mean_radii(cell, shown, 0.05 * PART)
        with np.errstate(all="ignore"):
            low, high = shown[..., LOW], shown[..., HIGH]
            least, most = means - radii, means + radii
            below = np.where(least > 0.0, low / np.where(low >= 0.0, most, least), -np.inf)
            above = np.where(least > 0.0, high / np.where(high >= 0.0, least, most), np.inf)
            # The delta method: half the width of the difference, and the control's own noise.
            middle = 0.5 * (shown[..., FIXED_LOW] + shown[..., FIXED_HIGH])
            noise = (0.5 * (shown[..., FIXED_HIGH] - shown[..., FIXED_LOW]) / 1.959964) ** 2
            spread = (squares - means * means) / shown[..., UNITS]
            ratio = 1.0 + middle / means
            fixed = 2.0 * 1.959964 * np.sqrt(noise + (ratio**2 - 1.0) * spread) / means
        columns = []
        for ends in ((below, above), (shown[..., LIFT_LOW], own)):
            width = np.median(ends[1], axis=0) - np.median(ends[0], axis=0)
            columns.append(", ".join(f"{each:.2f}" for each in width / np.median(fixed, axis=0)))
        for times, trend in ((0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (1.0, 1.0)):
            wrong = play(cell, 0.2, times * cell.effect, wrong_runs, 2.0, trend)[1].mean(axis=0)
            columns.append(f"{100 * wrong[LIFT_BELOW]:.1f}, {100 * wrong[LIFT_ABOVE]:.1f} %")
        print(f"| {cell.name} | {' | '.join(columns)} |".replace("inf", "endless"), flush=True)


def mean_radii(cell: Cell, shown: Any, level: float) -> Any:
    """Return the radius of the control's mean at every mark of every run."""
    sums = np.stack([shown[..., UNITS], shown[..., SUM], shown[..., SQUARES]], axis=-1)
    # Normal outcomes have no skewness: cubes that follow from the mean and the variance.
    means = sums[..., 1] / sums[..., 0]
    cubes = 3.0 * means * sums[..., 2] - 2.0 * means**2 * sums[..., 1]
    radii = [
        mean_radius(cell.outcome, bs.progress.ArmStatistics(int(n), total, square, cube), level)
        for (n, total, square), cube in zip(sums.reshape(-1, 3), cubes.ravel(), strict=True)
    ]
    return np.array(radii).reshape(shown.shape[:2])


if __name__ == "__main__":
    widths(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
    print()
    coverage(int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
    print()
    lifts(
        int(sys.argv[1]) if len(sys.argv) > 1 else 400,
        int(sys.argv[2]) if len(sys.argv) > 2 else 2000,
    )
