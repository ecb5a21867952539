"""Requests of users who keep their arm: shipped, went back or open, through a store.

    python -m bench.requests --tests 200 --processes 16 --seed 0 --out requests.json
    python -m bench.requests --page requests.json

The first command plays the tests and prints the table, the second one writes it into
docs/research/guardrails.md. B is as good as A, 1 point worse or 4 points worse; 25, 50 or 80 % of
the requests are judged, or 80 % of A and 25 % of B; users come in any order, or the most active
first. Users differ: 2 % of the variance of a judgement is between them. The margin is 2 points of
quality and 5 of the share that is judged, and errors are 5 %: B may be shipped in 5 % of the tests
at most where it is 4 points worse or judged less often, and go back in 5 % at most where it is
neither. In the last coverage the share that is judged is shown only and has no margin. A test takes
about half a second of one core.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import bascule as bs

WORLDS = {"equal": 0.0, "1 point worse": 0.01, "4 points worse": 0.04}
COVERAGE = {
    "25 %": (0.25, 0.25),
    "50 %": (0.5, 0.5),
    "80 %": (0.8, 0.8),
    "80 and 25 %": (0.8, 0.25),
    "80 and 25 %, no margin": (0.8, 0.25),
}
NO_MARGIN = "80 and 25 %, no margin"
ORDERS = ("any", "most active first")
ENDS = ("ship", "back", "open")
GOOD = 0.82
ALIKE = 0.02
USERS = 4000
A_DAY = 400
SHARD = 10
PAGE = Path("docs/research/guardrails.md")
FIRST, LAST = "<!-- begin requests -->", "<!-- end requests -->"

Row = dict[str, Any]
"""A cell of the table: world, judged, order, tests, how many ended how, days, CPU seconds."""


def played(world: str, covered: str, order: str, seed: int) -> tuple[str, int]:
    """Return how a test ends, "ship", "back" or "open", and after how many days."""
    day, loss, coverage = bs.Measure("1d"), WORLDS[world], COVERAGE[covered]
    quality = bs.Metric("quality", bs.Ratio(), margin=0.02, measure=day)
    if covered == NO_MARGIN:
        judged_share = bs.Metric("judged", bs.Ratio(), role="secondary", measure=day)
    else:
        judged_share = bs.Metric("judged", bs.Ratio(), margin=0.05, measure=day)
    design = bs.Design(
        *(["a", "b"], bs.Ratio(), bs.Tilt(1, batch=20)),
        goal="decrease",
        measure=day,
        metrics=[quality, judged_share],
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
                outcomes.append((user, (requests * (0.002 if is_b else 0.005), requests)))
                outcomes.append((user, (judged, requests), None, None, "judged"))
                if judged:
                    good = int(rng.binomial(judged, GOOD - loss * is_b + taste[int(user)]))
                    outcomes.append((user, (good, judged), None, None, "quality"))
            test.record_many(outcomes)
            clock.advance(86_400.0)
            decision = test.status().decision
            if decision is not None:
                days = 1 + first // A_DAY
                return ("ship" if decision.name == "b" else "back"), days
    return "open", USERS // A_DAY


def shard(cell: tuple[str, str, str], seeds: range) -> Row:
    """Return what some tests of a cell add to it; its days are summed."""
    began = time.process_time()
    endings = [played(*cell, seed) for seed in seeds]
    counts = {end: sum(one == end for one, _ in endings) for end in ENDS}
    spent = time.process_time() - began
    return counts | {"tests": len(seeds), "days": sum(days for _, days in endings), "cpu": spent}


def measured(tests: int, processes: int, seed: int) -> list[Row]:
    """Return the cells of the table, each played in shards by some processes."""
    cells = list(product(WORLDS, COVERAGE, ORDERS))
    starts = range(seed, seed + tests, SHARD)
    jobs = [(cell, range(i, min(i + SHARD, seed + tests))) for cell in cells for i in starts]
    with ProcessPoolExecutor(processes) as workers:
        parts = list(workers.map(shard, *zip(*jobs, strict=True)))
    rows = []
    for cell in cells:
        mine = [part for (its, _), part in zip(jobs, parts, strict=True) if its == cell]
        sums = {name: sum(part[name] for part in mine) for name in mine[0]}
        sums |= {"days": round(sums["days"] / sums["tests"], 2), "cpu": round(sums["cpu"], 1)}
        rows.append(dict(zip(("world", "judged", "order"), cell, strict=True)) | sums)
    return rows


def table(rows: Sequence[Row]) -> list[str]:
    """Return the lines of the table, and how many of the tests are errors."""
    by_cell = {(row["world"], row["judged"], row["order"]): row for row in rows}
    tests, tail = rows[0]["tests"], ["shipped", "went back", "open", "days"]
    lines = [["the new model is", "judged", *tail, *tail], ["---"] * 10]
    for world, judged in product(WORLDS, COVERAGE):
        both = [by_cell[world, judged, order] for order in ORDERS]
        figures = [[*(str(row[end]) for end in ENDS), f"{row['days']:.1f}"] for row in both]
        lines.append([world, judged, *figures[0], *figures[1]])
    harmful, harmless = [0, 0], [0, 0]
    for row in rows:
        is_harmful = row["judged"] == "80 and 25 %" or row["world"] == "4 points worse"
        counts, end = (harmful, "ship") if is_harmful else (harmless, "back")
        counts[0] += row[end]
        counts[1] += row["tests"]
    words = (
        f"Each line has {tests} tests in any order, and as many with the most active users first. "
        "Errors are shipments of a model that is 4 points worse, or judged less often than the "
        f"margin allows, {harmful[0]} of {harmful[1]:,} tests, and going back where it is neither, "
        f"{harmless[0]} of {harmless[1]:,}."
    )
    return [*(f"| {' | '.join(line)} |" for line in lines), "", words]


def main() -> None:
    """Play the tests and print the table, or write a measured one into the page."""
    asked = argparse.ArgumentParser(description="Tests of requests through a store.")
    asked.add_argument("--tests", type=int, default=200, help="tests of each of the 30 cells")
    asked.add_argument("--processes", type=int, help="as many as there are cores, if left out")
    asked.add_argument("--seed", type=int, default=0, help="seed of the first test of a cell")
    asked.add_argument("--out", type=Path, help="write the cells to this file, as JSON")
    asked.add_argument("--page", type=Path, help="write the table of such a file into the page")
    given = asked.parse_args()
    if given.page is not None:
        lines = table(json.loads(given.page.read_text(encoding="utf-8")))
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(FIRST)
        after = rest.partition(LAST)[2]
        made = "\n".join([f"{before}{FIRST}", "", *lines, "", f"{LAST}{after}"])
        PAGE.write_text(made, encoding="utf-8")
        return
    rows = measured(given.tests, given.processes, given.seed)
    if given.out is not None:
        given.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
