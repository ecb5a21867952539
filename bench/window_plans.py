"""`python -m bench.window_plans`: plans with conversion windows beside live tests under a clock.

Each plan is that of a small test. Its design is simulated as a plan does, and played through live
stores, in which units arrive evenly, convert within their windows, and are settled as they mature.
A row has days and conversions lost, planned and live, each with the difference in standard errors.
`--stores` says how many live stores each plan has, and `--processes` how many plans are played at
once; the stores of another `--seed` are other ones.
"""

from __future__ import annotations

import argparse
import math
import random
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

import bascule as bs
from bascule.core.calendar import DAY
from bascule.planning.forecast import Forecast, design_of, forecast_of, played_design
from bascule.planning.search.stages import stages
from bascule.simulation import Estimate

START = datetime(2026, 1, 5, tzinfo=UTC)
RUNS = 1000

REQUESTS: list[dict[str, Any]] = [
    {"baseline": baseline, "lift": lift, "window": window, "units_per_day": daily, **more}
    for baseline, lift in ((0.2, 0.25), (0.4, 0.25))
    for window, daily in (("12h", 30), ("2d", 30), ("4d", 20), ("6d", 40))
    for more in ({}, {"whole_weeks": True})
] + [
    {"baseline": 0.2, "lift": 0.3, "window": "2d", "units_per_day": 30, "min_days": 10},
    {"baseline": 0.2, "lift": 0.3, "window": "3d", "units_per_day": 30, "sides": 1},
    {"baseline": 0.3, "lift": -0.25, "window": "2d", "units_per_day": 25},
    {"baseline": 0.2, "lift": [0.15, 0.4], "window": "2d", "units_per_day": 40},
]
"""Twenty plans: 0/1 outcomes, windows of 12 hours to 6 days, with and without a calendar."""


class Compared(NamedTuple):
    """Days and cost of a design, as planned and as live tests had them."""

    design: bs.Design
    planned: Forecast
    days: Estimate
    cost: Estimate
    stores: int

    @property
    def apart(self) -> tuple[float, float]:
        """How many standard errors days and cost are apart.

        The spread is that of the simulated tests: few live ones, which last one week or two, do not
        show it.
        """
        more = math.sqrt(1.0 + self.planned.runs / self.stores)
        pairs = ((self.days, self.planned.days), (self.cost, self.planned.cost))
        days, cost = ((a.mean - b.mean) / max(1e-9, more * b.se) for a, b in pairs)
        return days, cost


def live(design: bs.Design, request: bs.PlanRequest, seed: int) -> tuple[float, float]:
    """Return the days that a live test takes, and the conversions that its units lose."""
    clock, draws = bs.ManualClock(START), random.Random(seed)
    store = bs.Store(":memory:", clock=clock, shuffle=draws.shuffle)
    test, best = store.create("test", design), max(request.means)
    lost, unit, gap = 0.0, 0, DAY * request.traffic.days_until(1.0).item()
    while test.state == "running":
        served = test.evaluate(unit)
        if served.enrolled and test.state == "running":
            mean = request.means[design.arms.index(served.arm)]
            lost += best - mean
            if draws.random() < mean:
                test.record(unit, 1.0)
        unit += 1
        clock.advance(gap)
    taken = clock.now() - START.timestamp()
    store.close()
    return taken / DAY, lost


def compared(parts: dict[str, Any], stores: int, runs: int = RUNS, seed: int = 0) -> Compared:
    """Plan a test, simulate its design as the plan does, and play it through live stores."""
    request = bs.PlanRequest(**{"deadline_days": 84, **parts})
    rule = next(stages(request, threads=1)).rule
    design = design_of(request, rule)
    played = played_design(request, design)
    result = bs.simulate(played, runs=runs, seed=seed + 1, world=request.world, threads=1)
    shown = np.array([live(design, request, seed * stores + store) for store in range(stores)])
    days, cost = (Estimate.of(column) for column in shown.T)
    return Compared(design, forecast_of(result, request), days, cost, stores)


def main() -> None:
    """Print a row for each plan."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", type=int, default=60)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    asked, beyond = parser.parse_args(), 0
    requests = REQUESTS[asked.first :]
    print("plan; rule; days planned, live, s.e. apart; lost planned, live, s.e. apart")
    with ProcessPoolExecutor(asked.processes) as pool:
        jobs = [pool.submit(compared, parts, asked.stores, RUNS, asked.seed) for parts in requests]
        for parts, job in zip(requests, jobs, strict=True):
            one = job.result()
            days, cost = one.apart
            beyond += max(abs(days), abs(cost)) > 3.0
            words = " ".join(f"{name}={value}" for name, value in parts.items())
            print(
                f"{words:75s} {one.design.rule.label:38s} {one.planned.days!s:>14s} "
                f"{one.days!s:>12s} {days:5.1f}   {one.planned.cost!s:>14s} {one.cost!s:>12s} "
                f"{cost:5.1f}",
                flush=True,
            )
    print(f"{beyond} of {len(requests)} plans differ by more than 3 standard errors")


if __name__ == "__main__":
    main()
