"""`python -m bench.guardrails`: guardrails at their margin, at a harm, and without one.

The primary metric has a clear winner; all metrics are normal with spread 1. `python -m
bench.guardrails RUNS TILT ...` simulates some tilts only, `... store RUNS` takes tests through a
live store, and `... ramp RUNS` takes guarded rollouts through the planner and a live store. The
tables of docs/explanation/guardrails.md are what this prints. Seeds are fixed.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence
from statistics import median

import bascule as bs

MARGIN, ERROR, CAP, BATCH = 0.5, 0.05, 2000, 5
RUNS, STORE_RUNS, STORE_CAP, RAMP_RUNS = 2000, 300, 800, 4000
WORLDS = {"at the margin": -MARGIN, "unchanged": 0.0, "worse by twice the margin": -2 * MARGIN}
RAMP = [("0d", 0.05), ("1d", 0.2), ("2d", 0.5)]


def design(tilt: float, cap: int = CAP) -> bs.Design:
    """Two arms, one guardrail."""
    return bs.Design(
        ["control", "green"],
        bs.Gaussian(1),
        bs.Tilt(tilt, batch=BATCH),
        metrics=[bs.Metric("guard", bs.Gaussian(1), margin=MARGIN, error=ERROR)],
        harm_error=ERROR,
        max_units=cap,
    )


def share(found: Sequence[bool]) -> str:
    """Return a share in percent with its standard error, or the most it can be if it is 0 or 1.

    >>> share([True] * 5 + [False] * 95), share([False] * 100)
    ('5.0 ± 2.2 %', '0 (< 3.0 %)')
    """
    runs, part = len(found), sum(found) / len(found)
    if part in (0.0, 1.0):
        most = 100 * (1 - 0.05 ** (1 / runs))
        return f"{100 * part:.0f} ({'<' if part == 0 else '>'} {abs(100 * part - most):.1f} %)"
    return f"{100 * part:.1f} ± {100 * math.sqrt(part * (1 - part) / runs):.1f} %"


def simulated(runs: int, *tilts: float) -> None:
    """Print a line for each tilt and world; at the margin with four times the runs."""
    print("| tilt | the treatment's guardrail | shipped | removed | median units | runs |")
    for tilt in tilts or (1.0, 3.0, 8.0):
        for name, shift in WORLDS.items():
            some = runs if shift == -MARGIN else runs // 4
            played = bs.simulate(
                design(tilt), [0.0, 0.5], runs=some, seed=7, metrics={"guard": [0.0, shift]}
            )
            assert played.guarded is not None
            shipped, removed = share(list(played.winner == 1)), share(list(played.guarded.by_harm))
            units = f"{median(played.decision_time.tolist()):.0f}"
            cells = (f"{tilt:g}", name, shipped, removed, units, f"{some:,}")
            print(f"| {' | '.join(cells)} |", flush=True)


def in_store(runs: int = STORE_RUNS, tilt: float = 3.0) -> None:
    """Print what a live store did with a treatment exactly at the margin."""
    ends = []
    for run in range(runs):
        chance = random.Random(run)
        with bs.open(":memory:") as store:
            test = store.create("margin", design(tilt, STORE_CAP), reports="always")
            for first in range(0, STORE_CAP, 100):
                units = range(first, first + 100)
                arms = [arm == "green" for arm in test.assign_many(list(map(str, units)))]
                test.record_many(
                    (str(unit), chance.gauss(mean * is_green, 1.0), None, None, name)
                    for unit, is_green in zip(units, arms, strict=True)
                    for name, mean in (("primary", 0.5), ("guard", -MARGIN))
                )
                if test.state != "running":
                    break
            reached = test.status().decision
            ends.append((reached is not None and reached.name, bool(reached and reached.harm)))
    shipped, removed = (name == "green" for name, _ in ends), (harm for _, harm in ends)
    print(f"store, tilt {tilt:g}, {runs} tests at the margin, at most {STORE_CAP} units:")
    print(f"  shipped {share(list(shipped))}, removed {share(list(removed))}")


def rollout(harm: str, runs: int) -> bs.Rollout:
    """Return the plan of a rollout of six days; `harm` says which versions are rolled back."""
    metric = bs.Metric("guard", bs.Gaussian(1), margin=0.2, harm=harm)  # type: ignore[arg-type]
    return bs.plan_rollout([metric], RAMP, 1000, deadline_days=6, runs=runs, seed=5)


def ramps(runs: int = RAMP_RUNS, store_runs: int = 100) -> None:
    """Print how rollouts end, by the planner, and false rollbacks over the ramp in a store."""
    for harm in ("margin", "any"):
        for case in rollout(harm, runs).cases:
            print(f"ramp, harm={harm}, {case.name}: out {100 * case.shipped:.1f} %, ", end="")
            print(f"back {100 * case.rolled_back:.1f} %, {case.median_days:.2g} days", flush=True)
        print(f"store, harm={harm}: back {share(ramped_in_store(harm, store_runs))}", flush=True)


def ramped_in_store(harm: str, runs: int) -> list[bool]:
    """Return which rollouts of a version that is just not harmful a store has rolled back."""
    plan, found = rollout(harm, 1), []
    for run in range(runs):
        chance, clock = random.Random(run), bs.ManualClock()
        mean = -0.2 if harm == "margin" else 0.0
        with bs.open(":memory:", clock=clock) as store:
            test = store.create("ramp", plan.design, audience=plan.audience, reports="always")
            for part in range(24):
                units = [f"{run} {part} {i}" for i in range(250)]
                events = []
                # Outcomes of units that have not got in are excluded by the store.
                for unit, arm in zip(units, test.assign_many(units), strict=True):
                    value = chance.gauss(mean * (arm == "new"), 1.0)
                    events += [(unit, value, None, None, name) for name in ("primary", "guard")]
                test.record_many(events)
                if test.state != "running":
                    break
                clock.advance("6h")
            reached = test.status().decision
            found.append(reached is not None and bool(reached.harm))
    return found


def main(*given: str) -> None:
    """Print all tables, or the one that is asked for."""
    if given and given[0] in ("store", "ramp"):
        {"store": in_store, "ramp": ramps}[given[0]](*map(int, given[1:]))
        return
    runs, *tilts = map(int, given or [RUNS])
    simulated(runs, *tilts)
    if not given:
        in_store()
        ramps()


if __name__ == "__main__":
    main(*sys.argv[1:])
