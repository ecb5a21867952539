"""Live tests of metrics that people have, many small ones in a store, for `bench.honesty`.

A test takes its units in large batches, and a store holds many tests, so that hundreds of tests
take a minute. Nobody acts here: the worlds are those in which estimates, guardrails, covariates and
segments are most likely to go wrong.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

import numpy as np

import bascule as bs
from bascule.core.outcomes.noise import Discrete
from bench.honesty_cells import Cell, Play, cell_of
from bench.unknown_spread import noise, normal, rare, spending

MODE, ERROR, RUNS = "live metrics", 0.2, 400
MARGIN, GUARD = 0.5, "guard"
NUMBERS = count()
RAMP = [("0d", 0.05), ("1d", 0.2), ("2d", 0.5)]

Arms = np.ndarray[Any, np.dtype[np.int64]]
Draw = Callable[[np.random.Generator, Arms, np.ndarray], np.ndarray]
"""Outcomes of units in these arms, with these covariates."""


@cache
def shared_store() -> tuple[bs.Store, bs.ManualClock, random.Random]:
    """Return a store in memory for all tests, its clock, and what deals its blocks."""
    clock, order = bs.ManualClock(), random.Random()
    return bs.open(":memory:", clock=clock, shuffle=order.shuffle), clock, order


def new_test(design: bs.Design, rng: np.random.Generator, **more: Any) -> bs.Experiment:
    """Return a new test in the shared store, whose blocks are dealt by the given generator."""
    store, _, order = shared_store()
    seed = int(rng.integers(2**31))
    order.seed(seed)
    # Who gets into a share of the traffic is a hash of the name, so that this has to be the same.
    return store.create(f"test-{seed}", design, **more)


def winner(test: bs.Experiment) -> int | None:
    """Return the arm that has won; the status of a test that runs would forecast its end."""
    reached = test.status().decision if test.state == "decided" else None
    return None if reached is None else reached.arm


def declared(draw: Draw, units: int, batch: int = 500) -> Play:
    """Return tests in a store in which it is wrong to declare the second arm the winner."""

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        test = new_test(design, rng)
        for first in range(0, units, batch):
            names = [str(i) for i in range(first, min(units, first + batch))]
            known = rng.normal(size=len(names))
            more: dict[str, Any] = {}
            if design.covariates is not None:
                more["covariates"] = [{"x": float(x)} for x in known]
            found = test.assign_many(names, **more)
            arms = np.array([design.arms.index(arm) for arm in found])
            test.record_many(zip(names, draw(rng, arms, known).tolist(), strict=True))
            if test.state != "running":
                break
        return winner(test) == 1

    return play


def of_world(world: Discrete) -> Draw:
    """Return how outcomes are drawn that have a distribution for each arm."""
    values, edges = np.array(world.values), np.cumsum(np.array(world.chances), axis=1)[:, :-1]

    def draw(rng: np.random.Generator, arms: Arms, _: np.ndarray) -> np.ndarray:
        places = (rng.random(len(arms))[:, None] >= edges[arms]).sum(axis=1)
        return np.asarray(values[places])

    return draw


def related(correlation: float, drift: float = 0.0) -> Draw:
    """Return how outcomes are drawn that a covariate explains, with a trend that fades."""

    def draw(rng: np.random.Generator, arms: Arms, known: np.ndarray) -> np.ndarray:
        rest = np.sqrt(1.0 - correlation**2) * rng.normal(size=len(arms))
        trend = drift * np.linspace(1.0, 0.0, len(arms)) * rng.random()
        return np.asarray(correlation * known + rest + trend)

    return draw


def guarded(means: tuple[float, float], units: int, batch: int = 250) -> Play:
    """Return tests of an arm with these differences on the primary metric and on its guardrail.

    Wrong is that it is shipped.
    """

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        test = new_test(design, rng)
        for first in range(0, units, batch):
            record(test, [str(i) for i in range(first, first + batch)], means, rng)
            if test.state != "running":
                break
        return winner(test) == 1

    return play


def ramped(means: tuple[float, float], users: int = 200) -> Play:
    """Return rollouts of six days in which it is wrong to roll the new version back."""

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        clock = shared_store()[1]
        audience = {"ramp": [[at, min(1.0, 2 * share)] for at, share in RAMP]}
        test = new_test(design, rng, audience=audience)
        for part in range(12):
            record(test, [f"{part} {i}" for i in range(users // 2)], means, rng)
            if test.state != "running":
                break
            clock.advance("12h")
        return winner(test) == 0

    return play


def record(
    test: bs.Experiment, units: list[str], means: tuple[float, float], rng: np.random.Generator
) -> None:
    """Assign units and record their outcomes; the store excludes those of units not let in."""
    treated = [arm == test.arms[1] for arm in test.assign_many(units)]
    values = np.outer(treated, means) + rng.normal(size=(len(units), 2))
    test.record_many(
        (unit, value, None, None, name)
        for unit, its in zip(units, values.tolist(), strict=True)
        for name, value in zip((None, GUARD), its, strict=True)
    )


def in_any_segment(design: bs.Design, units: int) -> Play:
    """Return tests with segments in which it is wrong to declare the second arm anywhere."""
    segments = list(design.by_segment)

    def play(_: bs.Design, rng: np.random.Generator) -> bool:
        store, _clock, order = shared_store()
        order.seed(int(rng.integers(2**31)))
        test = store.create_segmented(f"segmented-{next(NUMBERS)}", design)
        for first in range(0, units * len(segments), 500):
            names = [str(i) for i in range(first, min(units * len(segments), first + 500))]
            test.assign_many(names, segments=[segments[int(i) % len(segments)] for i in names])
            test.record_many(zip(names, rng.normal(size=len(names)).tolist(), strict=True))
        return any(winner(one) == 1 for one in test.tests.values())

    return play


def metric_cells(times: Callable[[int], int]) -> list[Cell]:
    """Return the cells; `times` says how often one is played."""
    runs, both = times(RUNS), ["arm00", "arm01"]

    def of(rule: bs.Tilt, outcome: Any, **more: Any) -> bs.Design:
        return bs.Design(both, outcome, rule, ERROR, **{"reports": "always", **more})

    def cell(design: bs.Design, about: str, play: Play) -> Cell:
        return cell_of(MODE, design, about, play, runs, stated=ERROR)

    bought = spending(0.2)
    mean = sum(value * weight for value, weight in bought.items())
    # The second arm is the one that looks better for as long as the first has not shown its tail.
    worlds = {
        "normal, spreads 3 and 1": noise(normal(3.0), normal(1.0)),
        "100 or nothing against spending": noise(rare(100.0, mean), bought),
        "300 or nothing against spending": noise(rare(300.0, mean), bought),
    }
    numeric = of(bs.Tilt(8, batch=4), bs.Numeric())
    x = of(bs.Tilt(3, batch=4), bs.Numeric(), covariates=[bs.Covariate("x")])
    guard = bs.Metric(GUARD, bs.Gaussian(1), margin=MARGIN, error=ERROR)
    watch = bs.Metric(GUARD, bs.Gaussian(1), margin=MARGIN, error=ERROR, harm="any")
    given: dict[str, Any] = {"harm_error": ERROR, "decides": "guardrails"}
    unchanged = of(bs.Tilt(1, batch=2), bs.Gaussian(1), metrics=[watch], **given)
    places = bs.Segments("place", ["s0", "s1"])
    parted = of(bs.Tilt(3, batch=2), bs.Gaussian(1), segments=places)
    return [
        *[cell(numeric, name, declared(of_world(one), 1500)) for name, one in worlds.items()],
        cell(x, "a useless covariate", declared(related(0.0), 1000)),
        *[
            cell(
                of(bs.Tilt(tilt, batch=4), bs.Gaussian(1), metrics=[guard], harm_error=ERROR),
                "an arm at its margin is shipped",
                guarded((0.5, -MARGIN), 500),
            )
            for tilt in (1, 3, 8)
        ],
        cell(unchanged, "an unchanged rollout is rolled back", ramped((0.0, 0.0))),
        cell(
            parted.by_segment["s0"],
            "2 segments, a wrong winner in any",
            in_any_segment(parted, 200),
        ),
    ]
