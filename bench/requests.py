"""Requests of users who keep their arm: shipped, went back or open, through a store.

    python -m bench.requests --tests 200 --seed 0

B is as good as A, 1 point worse or 4 points worse; 25, 50 or 80 % of the requests are judged, or
80 % of A and 25 % of B; users come in any order, or the most active first. Users differ: 2 % of the
variance of a judgement is between them. A margin of 2 points and an error of 5 %: B may be shipped
in 5 % of the tests at most where it is 4 points worse, and go back in 5 % at most where it is not.
A test takes about half a second of one core.
"""

from __future__ import annotations

import argparse
import json
from itertools import product
from typing import Any

import numpy as np

import bascule as bs

WORLDS = {"equal": 0.0, "1 point worse": 0.01, "4 points worse": 0.04}
COVERAGE = {
    "25 %": (0.25, 0.25),
    "50 %": (0.5, 0.5),
    "80 %": (0.8, 0.8),
    "80 and 25 %": (0.8, 0.25),
}
ORDERS = ("any", "most active first")
GOOD = 0.82
ALIKE = 0.02
USERS = 4000
A_DAY = 400


def played(loss: float, coverage: tuple[float, float], order: str, seed: int) -> tuple[str, int]:
    """Return how a test ends, "ship", "back" or "open", and after how many days."""
    day = bs.Measure("1d")
    quality = bs.Metric("quality", bs.Ratio(), margin=0.02, measure=day)
    design = bs.Design(
        *(["a", "b"], bs.Ratio(), bs.Tilt(1, batch=20)),
        goal="decrease",
        measure=day,
        metrics=[quality],
        decides="guardrails",
    )
    rng, clock = np.random.default_rng(seed), bs.ManualClock()
    activity = rng.geometric(0.05, USERS)
    between = np.sqrt(ALIKE * GOOD * (1.0 - GOOD))
    taste = between * rng.choice((-1.0, 1.0), USERS)
    if order == "most active first":
        activity = np.sort(activity)[::-1]
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("models", design)
        for first in range(0, USERS, A_DAY):
            users = [str(user) for user in range(first, first + A_DAY)]
            outcomes: list[tuple[Any, ...]] = []
            for user, arm in zip(users, test.assign_many(users), strict=True):
                is_b = arm == "b"
                requests = int(activity[int(user)])
                judged = int(rng.binomial(requests, coverage[is_b]))
                good = int(rng.binomial(judged, GOOD - loss * is_b + taste[int(user)]))
                outcomes.append((user, (requests * (0.002 if is_b else 0.005), requests)))
                outcomes.append((user, (good, judged), None, None, "quality"))
            test.record_many(outcomes)
            clock.advance(86_400.0)
            decision = test.status().decision
            if decision is not None:
                days = 1 + first // A_DAY
                return ("ship" if decision.name == "b" else "back"), days
    return "open", USERS // A_DAY


def main() -> None:
    """Print a line for each world, coverage and order, as JSON."""
    asked = argparse.ArgumentParser(description="Tests of requests through a store.")
    asked.add_argument("--tests", type=int, default=200)
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    for (world, loss), (judged, coverage), order in product(
        WORLDS.items(), COVERAGE.items(), ORDERS
    ):
        ends = [played(loss, coverage, order, given.seed + i) for i in range(given.tests)]
        found = {how: sum(one == how for one, _ in ends) for how in ("ship", "back", "open")}
        days = float(np.mean([days for _, days in ends]))
        row = {"world": world, "judged": judged, "order": order, **found, "days": round(days, 1)}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
