"""`python -m bench.headlines`: headlines of plans with guardrails, beside live tests under a clock.

Each plan is made as anybody makes it; its headline has the days until an arm can be shipped, and
what they cost. Its design is played through live stores, in which units arrive evenly and the
outcomes of all metrics of a unit are recorded when its window closes. A row has days and cost,
planned and live, and by how many per cent live tests differ. `--stores` says how many live stores
each plan has; the stores of another `--seed` are other ones.
"""

from __future__ import annotations

import argparse
import math
import random
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

import bascule as bs
from bascule.core.calendar import DAY
from bascule.core.outcomes import Outcome
from bascule.live.api import Event
from bascule.simulation import Estimate
from bench.window_plans import START

SLOW = bs.Metric("latency", bs.Gaussian(1), goal="decrease", margin=0.6, baseline=5.0)
"""A guardrail that takes longer than the primary metric."""

FAST = bs.Metric("latency", bs.Gaussian(1), goal="decrease", margin=3.0, baseline=5.0)
"""One that is clear at once."""

FAILED = bs.Metric("failed", bs.Bernoulli(), goal="decrease", margin=0.15, baseline=0.1)

AMOUNT: dict[str, Any] = {
    "outcome": bs.Gaussian(1),
    "baseline": 10.0,
    "lift": 0.8,
    "units_per_day": 20,
    "deadline_days": 84,
}
SHARE: dict[str, Any] = {
    "outcome": bs.Bernoulli(),
    "baseline": 0.2,
    "lift": 0.1,
    "units_per_day": 30,
    "deadline_days": 84,
}

PLANS: list[dict[str, Any]] = [
    {**AMOUNT, "metrics": [SLOW]},
    {**AMOUNT, "metrics": [FAST]},
    {**AMOUNT, "metrics": [SLOW], "min_days": 10},
    {**AMOUNT, "metrics": [SLOW], "whole_weeks": True},
    {**AMOUNT, "metrics": [SLOW, FAILED], "arms": 3},
    {**AMOUNT, "metrics": [SLOW], "lift": -0.8, "goal": "decrease"},
    {**SHARE, "metrics": [FAILED]},
    {**SHARE, "metrics": [FAILED], "min_days": 10},
    {**SHARE, "metrics": [FAILED], "sides": 1, "error": 0.1},
    {**SHARE, "metrics": [SLOW], "window": "2d"},
]
"""Ten plans: one and two guardrails, two and three arms, calendars, a window."""


def drawn(outcome: Outcome, mean: float, draws: random.Random) -> float:
    """Return an outcome with this mean."""
    if isinstance(outcome, bs.Gaussian):
        return draws.gauss(mean, outcome.sigma)
    return float(draws.random() < mean)


def live(design: bs.Design, request: bs.PlanRequest, seed: int) -> tuple[float, float, bool]:
    """Return the days that a live test takes, what its units lose, and whether it has a winner."""
    if design.measure is None:
        design = replace(design, reports="always")
    clock, draws = bs.ManualClock(START), random.Random(seed)
    store = bs.Store(":memory:", clock=clock, shuffle=draws.shuffle)
    test = store.create("test", design)
    best = request.best
    lost, unit, gap = 0.0, 0, DAY * request.traffic.days_until(1.0).item()
    window = request.window_days * DAY
    waiting: list[tuple[float, list[Event]]] = []
    while test.state == "running":
        served = test.evaluate(unit)
        if served.enrolled and test.state == "running":
            mean = request.means[design.arms.index(served.arm)]
            lost += abs(best - mean)
            events = [Event(str(unit), drawn(design.outcome, mean, draws))]
            events += [
                Event(str(unit), drawn(one.outcome, one.baseline or 0.0, draws), metric=one.name)
                for one in design.metrics
            ]
            waiting.append((clock.now() + 0.99 * window, events))
        while waiting and waiting[0][0] <= clock.now() and test.state == "running":
            test.record_many(waiting.pop(0)[1])
        unit += 1
        clock.advance(gap)
    taken = clock.now() - START.timestamp()
    has_winner = test.status().decision is not None
    store.close()
    return taken / DAY, lost, has_winner


def lives(plan: bs.planning.Plan, first: int, stores: int) -> list[Any]:
    """Return what `live` returns for consecutive seeds."""
    return [live(plan.design, plan.request, seed) for seed in range(first, first + stores)]


def made(parts: dict[str, Any]) -> bs.planning.Plan:
    """Return a plan."""
    return bs.plan(threads=1, progress=False, **parts)


def main() -> None:
    """Print a row for each plan."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", type=int, default=60)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="*", default=range(len(PLANS)))
    asked = parser.parse_args()
    print("plan; rule; days planned, live, per cent; cost planned, live, per cent; shipped")
    with ProcessPoolExecutor(asked.processes) as pool:
        chosen = [PLANS[at] for at in asked.only]
        plans = list(pool.map(made, chosen))
        part = max(1, asked.stores // 20)
        jobs = [
            [
                pool.submit(lives, plan, asked.seed * asked.stores + first, part)
                for first in range(0, asked.stores, part)
            ]
            for plan in plans
        ]
        for at, plan, some in zip(asked.only, plans, jobs, strict=True):
            shown = np.array([row for job in some for row in job.result()], float)
            planned, row = plan.shipping, f"{at} {plan.rule.label} {plan.guarded is not None}"
            pairs = ((planned.days, shown[:, 0]), (planned.cost, shown[:, 1]))
            for mean, column in pairs:
                seen = Estimate.of(column)
                off = 100 * (seen.mean / mean.mean - 1)
                doubt = 100 * math.hypot(seen.se / seen.mean, mean.se / mean.mean)
                row += f"; {mean} {seen} {off:+.1f} +- {doubt:.1f} %"
            print(f"{row}; {planned.decided} {shown[:, 2].mean():.3f}", flush=True)


if __name__ == "__main__":
    main()
