"""Live tests of metrics that people have, many small ones in a store, for `bench.honesty`.

A test takes its units in large batches, and a store holds many tests. Nobody acts here: the worlds
are those in which estimates, guardrails and covariates are most likely to go wrong. Most
tests have a horizon, by which they spend all of their error, and every cell is also played by a
rule that stops at 1.5 times its error: the page shows whether the cell would see such a rule.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any

import numpy as np

import bascule as bs
from bascule.core.outcomes.noise import Discrete
from bench.honesty_cells import LOOSE, Cell, Play, cell_of
from bench.unknown_spread import largest_spread, mean_of, noise, normal, rare, spending

MODE, ERROR, RUNS, SLICE, TOGETHER = "live metrics", 0.2, 400, 25, 4
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
    return store.create(f"test-{seed}-{design.error}", design, **more)


def winner(test: bs.Experiment) -> int | None:
    """Return the arm that has won; the status of a test that runs would forecast its end."""
    reached = test.status().decision if test.state == "decided" else None
    return None if reached is None else reached.arm


def declared(draw: Draw, batch: int = 200) -> Play:
    """Return tests with a horizon in which it is wrong to declare the second arm the winner."""

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        test = new_test(design, rng)
        for first in count(0, batch):
            names = [str(i) for i in range(first, first + batch)]
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


def ramped(means: tuple[float, float], users: int = 400) -> Play:
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


def loosened(design: bs.Design) -> bs.Design:
    """Return the design with `LOOSE` times every error."""
    metrics = [replace(one, error=LOOSE * one.error) for one in design.metrics]
    assert design.error is not None
    harm = LOOSE * design.harm_error if metrics else design.harm_error
    return replace(design, error=LOOSE * design.error, metrics=metrics, harm_error=harm)


def named_cells(times: Callable[[int], int]) -> dict[str, Cell]:
    """Return the cells by their names; `times` says how often one is played."""
    both = ["arm00", "arm01"]

    def of(rule: bs.Tilt, outcome: Any, **more: Any) -> bs.Design:
        return bs.Design(both, outcome, rule, ERROR, **{"reports": "always", "sides": 1, **more})

    def cell(design: bs.Design, about: str, play: Play) -> Cell:
        made = times(RUNS)
        return cell_of(MODE, design, about, play, made, stated=ERROR, loose=loosened(design))

    def numeric(about: str, arms: tuple[Any, Any], tilt: float, effect: float) -> Cell:
        """A null world of `Numeric()`, with an effect in standard deviations of the wider arm."""
        world = noise(*arms)
        rule = bs.Tilt(tilt, batch=4, effect=round(effect * largest_spread(world), 2), power=0.9)
        return cell(of(rule, bs.Numeric()), about, declared(of_world(world)))

    def at_margin(tilt: float) -> Cell:
        guard = bs.Metric(GUARD, bs.Gaussian(1), margin=MARGIN, error=ERROR)
        rule = bs.Tilt(tilt, batch=4)
        design = of(rule, bs.Gaussian(1), metrics=[guard], harm_error=ERROR)
        return cell(design, "an arm at its margin is shipped", guarded((1.0, -MARGIN), 1000))

    one, three, bought = normal(1.0), normal(3.0), spending(0.2)
    mean = mean_of(bought)
    planned = bs.Tilt(3, batch=4, effect=0.3, power=0.9)
    x = of(planned, bs.Numeric(), covariates=[bs.Covariate("x")])
    watch = bs.Metric(GUARD, bs.Gaussian(1), margin=MARGIN, error=ERROR, harm="any")
    given: dict[str, Any] = {"harm_error": ERROR, "decides": "guardrails"}
    unchanged = of(bs.Tilt(1, batch=2), bs.Gaussian(1), metrics=[watch], **given)
    # Of two unlike arms the second one looks better while the first has not shown its tail.
    return {
        "normal": numeric("normal", (one, one), 8, 0.3),
        "spreads-1-3": numeric("normal, spreads 1 and 3", (one, three), 8, 0.3),
        "spreads-3-1": numeric("normal, spreads 3 and 1", (three, one), 8, 0.3),
        "spending": numeric("spending, equal arms", (bought, bought), 8, 0.1),
        "100-or-nothing": numeric(
            "100 or nothing against spending", (rare(100.0, mean), bought), 8, 0.1
        ),
        "300-or-nothing": numeric(
            "300 or nothing against spending", (rare(300.0, mean), bought), 1, 0.07
        ),
        "useless-covariate": cell(x, "a useless covariate", declared(related(0.0))),
        "covariate-trend": cell(x, "correlation .7, a trend", declared(related(0.7, 1.0))),
        **{f"margin-tilt-{tilt}": at_margin(tilt) for tilt in (1, 3, 8)},
        "rollout": cell(unchanged, "an unchanged rollout is rolled back", ramped((0.0, 0.0))),
    }


def metric_cells(times: Callable[[int], int]) -> list[Cell]:
    """Return the cells; `times` says how often one is played."""
    return list(named_cells(times).values())
