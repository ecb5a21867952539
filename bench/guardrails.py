"""`python -m bench.guardrails`: arms at the margin of a guardrail, harmful ones and unchanged ones.

The primary metric has a clear winner; all metrics are normal with spread 1. `python -m
bench.guardrails RUNS TILT ...` simulates some tilts only, `... removal RUNS` a harmful arm among
three, `... ramp RUNS` guarded rollouts, `... speed` compares the compiled player with the one that
calls the core step by step, and `... store RUNS` takes tests and rollouts through a live store. The
tables of docs/research/guardrails.md are what this prints. Seeds are fixed.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Sequence

import numpy as np

import bascule as bs

MARGIN, ERROR, CAP, BATCH = 0.5, 0.05, 2000, 5
RUNS, STORE_RUNS, STORE_CAP = 20_000, 300, 800
WORLDS = {"at the margin": -MARGIN, "unchanged": 0.0, "worse by twice the margin": -2 * MARGIN}
RAMP = [("0d", 0.05), ("1d", 0.2), ("2d", 0.5)]


def design(tilt: float, cap: int = CAP) -> bs.Design:
    """Two arms, one guardrail."""
    return bs.Design(
        ["control", "green"],
        bs.Gaussian(1),
        bs.Tilt(tilt, batch=BATCH),
        sides=1,
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
    digits = 1 if runs < 5000 else 2
    if part in (0.0, 1.0):
        most = abs(100 * part - 100 * (1 - 0.05 ** (1 / runs)))
        return f"{100 * part:.0f} ({'<' if part == 0 else '>'} {most:.{digits}f} %)"
    error = 100 * math.sqrt(part * (1 - part) / runs)
    return f"{100 * part:.{digits}f} ± {error:.{digits}f} %"


def middle(units: np.ndarray) -> str:
    """Return the median of some numbers, and the value that nine of ten do not exceed."""
    if not units.size:
        return "-"
    half, most = np.quantile(units, [0.5, 0.9])
    return f"{half:,.0f} ({most:,.0f})"


def simulated(runs: int = RUNS, *tilts: float) -> None:
    """Print a line for each tilt and world, with the units until the treatment's removal."""
    print("| tilt | the treatment's guardrail | shipped | removed | units | until removal |")
    for tilt in tilts or (1.0, 3.0, 8.0):
        for name, shift in WORLDS.items():
            played = bs.simulate(
                design(tilt), [0.0, 0.5], runs=runs, seed=7, metrics={"guard": [0.0, shift]}
            )
            assert played.guarded is not None
            found = played.guarded.by_harm
            shipped, removed = share(list(played.winner == 1)), share(list(found))
            units = (middle(played.decision_time), middle(played.decision_time[found]))
            cells = (f"{tilt:g}", name, shipped, removed, *units)
            print(f"| {' | '.join(cells)} |", flush=True)


def removals(runs: int = RUNS) -> None:
    """Print what happens to the best of three arms, which is harmful on one of two guardrails."""
    guards = [bs.Metric(name, bs.Gaussian(1), margin=MARGIN, error=ERROR) for name in "xy"]
    three = bs.Design(
        ["control", "green", "blue"],
        bs.Gaussian(1),
        bs.Tilt(3, batch=BATCH),
        sides=1,
        metrics=guards,
        harm_error=ERROR,
        max_units=2 * CAP,
    )
    print("| loss of the best arm | removed | until removal | it is shipped | the next one is |")
    for times in (1.0, 1.5, 2.0, 3.0):
        played = bs.simulate(
            three,
            [0.0, 0.5, 0.8],
            runs=runs,
            seed=9,
            metrics={"x": [0.0, 0.0, -times * MARGIN], "y": [0.0, 0.0, 0.0]},
        )
        assert played.guarded is not None
        at = played.guarded.removed_at[:, 2]
        ships = (share(list(played.winner == arm)) for arm in (2, 1))
        cells = (f"{times:g} margins", share(list(at >= 0)), middle(at[at >= 0]), *ships)
        print(f"| {' | '.join(cells)} |", flush=True)


def speed(runs: int = 40) -> None:
    """Print the processor time of a run, compiled and step by step, and that both are the same."""
    for tilt in (1.0, 3.0, 8.0):
        given = {"seed": 7, "metrics": {"guard": [0.0, -MARGIN]}, "threads": 1}
        bs.simulate(design(tilt), [0.0, 0.5], runs=1, **given)  # type: ignore[arg-type]
        spent, played = [], []
        for engine, some in ((None, 50 * runs), ("plain", runs)):
            started = time.process_time()
            found = bs.simulate(design(tilt), [0.0, 0.5], runs=some, engine=engine, **given)  # type: ignore[arg-type]
            spent.append((time.process_time() - started) / some)
            played.append(found)
        quick, plain = played
        same = bool((quick.decision_time[:runs] == plain.decision_time).all())
        same = same and bool((quick.winner[:runs] == plain.winner).all())
        print(
            f"tilt {tilt:g}: {1e6 * spent[0]:.0f} µs a run compiled, {1e3 * spent[1]:.0f} ms step "
            f"by step, {spent[1] / spent[0]:,.0f} times; the same runs: {same}",
            flush=True,
        )


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


def rollout(harm: str, runs: int) -> bs.planning.Rollout:
    """Return the plan of a rollout of six days; `harm` says which versions are rolled back."""
    metric = bs.Metric("guard", bs.Gaussian(1), margin=0.2, harm=harm)  # type: ignore[arg-type]
    return bs.plan_rollout([metric], RAMP, 1000, deadline_days=6, runs=runs, seed=5)


def ramps(runs: int = RUNS) -> None:
    """Print how rollouts end."""
    print("| the new version | rolled back if | rolled out | rolled back | median days |")
    for harm in ("margin", "any"):
        plan = rollout(harm, runs)
        for case in plan.cases:
            ends = (f"{100 * case.shipped:.2f} %", f"{100 * case.rolled_back:.2f} %")
            cells = (case.name, harm, *ends, f"{case.median_days:.2g}")
            print(f"| {' | '.join(cells)} |", flush=True)


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


def stores(runs: int = STORE_RUNS) -> None:
    """Print what a live store did with tests at the margin, and with rollouts."""
    in_store(runs)
    for harm in ("margin", "any"):
        print(f"store, harm={harm}: back {share(ramped_in_store(harm, runs // 3))}", flush=True)


PARTS = {"removal": removals, "ramp": ramps, "speed": speed, "store": stores}


def main(*given: str) -> None:
    """Print all tables, or the one that is asked for."""
    if given and given[0] in PARTS:
        PARTS[given[0]](*map(int, given[1:]))
        return
    simulated(*map(int, given))
    if not given:
        for part in PARTS.values():
            part()


if __name__ == "__main__":
    main(*sys.argv[1:])
