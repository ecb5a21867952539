"""`python -m bench.time_left`: how often the range of the time left holds the true time.

Each test is looked at eight times, evenly spread over its length. A range that is not given yet is
not counted among those that hold; the table has its share. `--tests` says how many tests there are,
`--seed` which is the first of them, and `--processes` how many rows are computed at once.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

import bascule as bs
from bascule.core.ending import end_reason
from bascule.core.progress import decision, fold_block, next_block
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.live.reports.time_left import units_range

LOOKS = 8

PLANNED = bs.Tilt(3, effect=0.4, power=0.9)
CONVERSIONS = bs.Tilt(3, effect=0.1, power=0.9, baseline=0.1)

CELLS: Sequence[tuple[str, Any, Any, Sequence[Sequence[float]]]] = [
    ("normal, horizon, tilt 3", PLANNED, bs.Gaussian(1), [(0, 0), (0, 0.2), (0, 0.4), (0, 0.8)]),
    ("normal, horizon, tilt 1", bs.Tilt(1, effect=0.4, power=0.9), bs.Gaussian(1), [(0, 0.4)]),
    (
        "normal, horizon, tilt 8",
        bs.Tilt(8, effect=0.4, power=0.9),
        bs.Gaussian(1),
        [(0, 0), (0, 0.4)],
    ),
    ("normal, no horizon, tilt 3", bs.Tilt(3), bs.Gaussian(1), [(0, 0.4), (0, 0.8)]),
    ("0/1, horizon, tilt 3", CONVERSIONS, bs.Bernoulli(), [(0.1, 0.1), (0.1, 0.2), (0.1, 0.3)]),
    (
        "normal, horizon, futility",
        bs.Tilt(1, effect=0.4, power=0.9, futility=0.2),
        bs.Gaussian(1),
        [(0, 0), (0, 0.4)],
    ),
    ("three arms, horizon", PLANNED, bs.Gaussian(1), [(0, 0, 0), (0, 0, 0.4), (0, 0.2, 0.6)]),
    ("five arms, horizon", PLANNED, bs.Gaussian(1), [(0, 0, 0, 0, 0.4), (0, 0, 0.2, 0.2, 0.4)]),
    (
        "three arms, estimated spread",
        PLANNED,
        bs.Numeric(),
        [(0, 0, 0.4)],
    ),
]


class Covered(NamedTuple):
    """The share of looks in which a range holds the true number of units left.

    `error` is the standard error of the share over tests, `given` the share of looks with a range,
    and `width` the median of its upper bound over its lower one.
    """

    share: float
    error: float
    given: float
    width: float


def course(design: bs.Design, means: Sequence[float], seed: int) -> list[Statistics]:
    """Return the statistics of a test after every block, up to its end."""
    draws, seen, found = np.random.default_rng(seed), Statistics.empty(len(means)), []
    while decision(design, seen) is None and end_reason(design, seen) is None:
        block = []
        for units, mean in zip(next_block(design, seen).units, means, strict=True):
            values = mean + draws.standard_normal(units)
            if design.outcome.binary:
                values = (draws.random(units) < mean).astype(np.float64)
            block.append(ArmStatistics(units, float(values.sum()), float((values**2).sum())))
        seen = fold_block(design, seen, block)
        found.append(seen)
    return found


def covered(design: bs.Design, means: Sequence[float], tests: int, seed: int = 0) -> Covered:
    """Return in which share of looks the range holds the true number, and its standard error.

    Tests have the seeds from `seed` on. The last block, of `slack` units at the most, may end
    beyond a bound.
    """
    shares, widths, given, looks = [], [], 0, 0
    slack = design.procedure.largest_block or 0
    for number in range(seed, seed + tests):
        found = course(design, means, number)
        at = np.linspace(min(5, len(found) - 1), max(0, len(found) - 2), LOOKS).astype(int)
        ranges = [(units_range(design, found[i]), found[-1].units - found[i].units) for i in at]
        shown = [(*one, left) for one, left in ranges if one is not None]
        looks, given = looks + len(ranges), given + len(shown)
        widths += [(high + slack) / (low + slack) for low, _, high, _ in shown]
        if shown:
            shares.append(np.mean([a - slack <= left <= b + slack for a, _, b, left in shown]))
    error = float(np.std(shares) / math.sqrt(len(shares)))
    return Covered(float(np.mean(shares)), error, given / looks, float(np.median(widths)))


def main() -> None:
    """Print a row for each design and effect."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    rows = []
    with ProcessPoolExecutor(asked.processes) as pool:
        for name, rule, outcome, truths in CELLS:
            for means in truths:
                design = bs.Design([f"arm {i}" for i in range(len(means))], outcome, rule)
                job = pool.submit(covered, design, means, asked.tests, asked.seed)
                rows.append((name, means, job))
        print("design, true means, share of ranges that hold ± s.e., looks with one, upper/lower")
        for name, means, job in rows:
            share, error, given, width = job.result()
            shown = f"{share:6.1%} ± {error:.1%} {given:8.0%} {width:6.1f}"
            print(f"{name:28s} {means!s:18s} {shown}", flush=True)


if __name__ == "__main__":
    main()
