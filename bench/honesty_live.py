"""Adversaries of a live test in a store, for `python -m bench.honesty`."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import bascule as bs
from bascule.core.rules import Rule
from bench.honesty_cells import CLOSE, Cell, Play, cell_of, design_of, drawn
from bench.honesty_pure import wrong_pair

GUARD = "guard"
MARGIN = 0.5
SHARE = 0.1

NewTest = Callable[[bs.Design, np.random.Generator], tuple[bs.Experiment, random.Random]]


def _tests_of_one_store() -> NewTest:
    """Return a function that makes a new test in a store in memory, which all tests share."""
    order = random.Random()
    stores: list[bs.Store] = []

    def new_test(
        design: bs.Design, rng: np.random.Generator
    ) -> tuple[bs.Experiment, random.Random]:
        order.seed(int(rng.integers(2**31)))
        if not stores:
            stores.append(bs.open(":memory:", shuffle=order.shuffle))
        (store,) = stores
        return store.create(f"test-{len(store.experiments())}", design), order

    return new_test


def assigned(test: bs.Experiment, units: list[str], rng: np.random.Generator) -> list[float]:
    """Assign units with a covariate, if the design has one, and return what each would give."""
    design = test.design
    known = rng.uniform(0.0, 6.0, len(units))
    more: dict[str, Any] = {}
    if design.covariates is not None:
        more["covariates"] = [{"x": float(x)} for x in known]
    arms = [design.arms.index(arm) for arm in test.assign_many(units, **more)]
    values = [float(drawn(design, rng, arm, 1)[0]) for arm in arms]
    if design.covariates is not None and not design.outcome.binary:
        return [value + 2.0 * float(x) for value, x in zip(values, known, strict=True)]
    return values


def events(design: bs.Design, unit: str, value: float, rng: np.random.Generator) -> list[Any]:
    """Return what is recorded for a unit: its outcome, and one of the guardrail if there is one."""
    if design.outcome.pairs:
        weight = float(rng.integers(1, 4))
        return [(unit, (value * weight, weight))]
    if not design.metrics:
        return [(unit, value)]
    guard = (unit, float(rng.normal()), None, f"{unit}-guard", GUARD)
    return [(unit, value, None, f"{unit}-own"), guard]


def drop_in_a_store(batches: int, each: int) -> Play:
    """Return the adversary of a live test: `drop_arm` after a wrong pair, outcomes in batches."""
    new_test = _tests_of_one_store()

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        test, _ = new_test(design, rng)
        out: set[str] = set()
        for batch in range(batches):
            units = [f"{batch}-{i}" for i in range(each)]
            values = assigned(test, units, rng)
            outcomes = [events(design, *one, rng) for one in zip(units, values, strict=True)]
            test.record_many([event for some in outcomes for event in some])
            seen, decision = _shown(test)
            if decision is None and test.state == "running" and not out:
                pair = wrong_pair(_increasing(design, bs.progress.effects(design, seen)))
                if pair is not None:
                    for name in design.arms:
                        # A removal may be what ends a test with a horizon.
                        needed = design.metrics and name == design.arms[0]
                        if name not in pair and not needed and test.state == "running":
                            test.drop_arm(name)
                            out.add(name)
                    _, decision = _shown(test)
            if decision is not None:
                left = [name for name in design.arms if name not in out]
                return decision != left[0]
            if test.state != "running":
                return False
        return False

    return play


def meddle_in_a_store(batches: int, each: int) -> Play:
    """Return the adversary of a live test that turns the knob, pauses arms and delays outcomes.

    It tilts towards the arm that misleads, pauses the best arm while that is ahead, and holds the
    worse outcomes back for a batch, so that what has come looks better than it is.
    """
    new_test = _tests_of_one_store()

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        test, order = new_test(design, rng)
        best, sign = design.arms[0], -1.0 if design.goal == "decrease" else 1.0
        held: list[Any] = []
        for batch in range(batches):
            units = [f"{batch}-{i}" for i in range(each)]
            outcomes = held
            held = []
            values = assigned(test, units, rng)
            middle = float(np.median(values))
            for unit, value in zip(units, values, strict=True):
                late = sign * (value - middle) < -0.5
                (held if late and batch < batches - 1 else outcomes).append(
                    events(design, unit, value, rng)
                )
            order.shuffle(outcomes)
            test.record_many([event for some in outcomes for event in some])
            seen, decision = _shown(test)
            if decision is not None:
                return decision != best
            if test.state != "running":
                return False
            means = [sign * one.mean if one.units else 0.0 for one in seen.arms]
            misled = max(means) > means[0]
            test.knob(tilt=8.0 if misled else 1.0)
        return False

    return play


def ship_at_the_margin(batches: int, each: int) -> Play:
    """Return tests of an arm that is far better, and worse on a guardrail by just its margin.

    Wrong is that it is shipped.
    """
    new_test = _tests_of_one_store()

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        test, order = new_test(design, rng)
        for batch in range(batches):
            units = [f"{batch}-{i}" for i in range(each)]
            arms = [design.arms.index(arm) for arm in test.assign_many(units)]
            outcomes: list[Any] = []
            for unit, arm in zip(units, arms, strict=True):
                guard = float(rng.normal(-(MARGIN + CLOSE) * arm, 1.0))
                outcomes.append((unit, float(rng.normal(2.0 * arm, 1.0)), None, f"{unit}-own"))
                outcomes.append((unit, guard, None, f"{unit}-guard", GUARD))
            order.shuffle(outcomes)
            test.record_many(outcomes)
            _, decision = _shown(test)
            if decision is not None or test.state != "running":
                return decision == design.arms[1]
        return False

    return play


def ship_requests_at_the_margin(batches: int, each: int) -> Play:
    """Return rollouts of a model whose share of good answers is worse by just its margin.

    Users make different numbers of requests, the most active come first, and 80 % of the present
    model's requests are judged but 25 % of the new one's. Wrong is that it is shipped.
    """
    new_test = _tests_of_one_store()

    def play(design: bs.Design, rng: np.random.Generator) -> bool:
        test, _ = new_test(design, rng)
        activity = np.sort(rng.geometric(0.1, batches * each))[::-1]
        for batch in range(batches):
            units = [str(batch * each + i) for i in range(each)]
            outcomes: list[Any] = []
            for unit, arm in zip(units, test.assign_many(units), strict=True):
                is_new, requests = arm == design.arms[1], int(activity[int(unit)])
                judged = int(rng.binomial(requests, 0.25 if is_new else 0.8))
                good = int(rng.binomial(judged, 0.8 - (SHARE + CLOSE) * is_new))
                outcomes.append((unit, (float(requests), float(requests))))
                outcomes.append((unit, (float(good), float(judged)), None, None, GUARD))
            test.record_many(outcomes)
            _, decision = _shown(test)
            if decision is not None or test.state != "running":
                return decision == design.arms[1]
        return False

    return play


def _increasing(
    design: bs.Design, found: tuple[bs.progress.Effect, ...]
) -> tuple[bs.progress.Effect, ...]:
    """Return differences in which more is better."""
    if design.goal == "increase":
        return found
    return tuple(
        bs.progress.Effect(e.first, e.second, -e.difference, -e.high, -e.low, e.error, e.guarantee)
        for e in found
    )


def _shown(test: bs.Experiment) -> tuple[bs.progress.Statistics, str | None]:
    """Return what a live test has shown and its decision, without the forecasts of a status."""
    test.settle()
    with test.store.reading() as connection:
        state = test.store.load(connection, test.id, test.name).state
    assert isinstance(state.statistics, bs.progress.Statistics)
    return state.statistics, None if state.ending.verdict is None else state.ending.verdict.name


def live_cells(times: Callable[[int], int]) -> list[Cell]:
    """Return the cells of a live store; `times` says how often a cell is played."""
    mode, runs = "live store", times(240)
    removal, batches = "removes arms after looking", "removes arms after looking, in batches"
    meddling = "turns the knob, pauses the best arm, delays outcomes"
    few, many = drop_in_a_store(6, 60), drop_in_a_store(6, 80)

    def of(arms: int, rule: Rule, outcome: Any = None, **more: Any) -> bs.Design:
        return design_of(arms, rule, 0.3, outcome, **more)

    def meddled(arms: int, rule: Rule, outcome: Any = None, **more: Any) -> Cell:
        play = meddle_in_a_store(8, 40 if arms < 5 else 60)
        return cell_of(mode, of(arms, rule, outcome, **more), meddling, play, runs)

    def removed(arms: int, rule: Rule, outcome: Any = None, **more: Any) -> Cell:
        return cell_of(mode, of(arms, rule, outcome, **more), removal, few, runs)

    horizon = bs.Tilt(3, effect=0.8, power=0.9, futility=0.2)
    normal = bs.Tilt(3, effect=0.8, power=0.9, guarantee="gaussian")
    bets = bs.Tilt(3, effect=0.3, baseline=0.3)
    ahead = bs.Tilt(3, effect=0.3, baseline=0.3, power=0.9)
    x, limited = [bs.Covariate("x")], [bs.Covariate("x", 0, 6)]
    guard = bs.Metric(GUARD, bs.Gaussian(1), margin=MARGIN, error=0.3)
    shipped = of(2, bs.Tilt(3), metrics=[guard])
    quality = bs.Metric(GUARD, bs.Ratio(), margin=SHARE, error=0.3)
    kinds: Sequence[tuple[Rule, Any, dict[str, Any]]] = [
        (horizon, None, {}),
        (normal, None, {}),
        (bs.Tilt(3), bs.Bernoulli(), {}),
        (bets, bs.Bernoulli(), {}),
        (ahead, bs.Bernoulli(), {}),
        (bs.Tilt(3), bs.Bounded(0, 10), {}),
        (bs.Tilt(3), bs.Numeric(), {}),
        (bs.Tilt(3), bs.Numeric(), {"covariates": x}),
        (bs.Tilt(3), bs.Bernoulli(), {"covariates": limited}),
        (bs.Tilt(3), bs.Ratio(at=0.5), {}),
        (bs.Tilt(3), None, {"goal": "decrease"}),
        (bs.Tilt(3), None, {"metrics": [guard]}),
    ]
    wide = cell_of(mode, of(20, bs.Tilt(1, batch=5)), removal, drop_in_a_store(6, 400), times(240))
    return [
        removed(4, bs.Tilt(1)),
        cell_of(mode, of(4, bs.Tilt(3, batch=5)), batches, many, runs),
        wide,
        meddled(3, bs.Tilt(3)),
        meddled(5, bs.Tilt(3)),
        *[removed(4, rule, outcome, **more) for rule, outcome, more in kinds],
        *[meddled(3, rule, outcome, **more) for rule, outcome, more in kinds],
        cell_of(
            mode,
            shipped,
            "an arm at the margin of its guardrail is shipped",
            ship_at_the_margin(8, 40),
            runs,
            stated=0.3,
        ),
        cell_of(
            mode,
            of(2, bs.Tilt(1), bs.Ratio(), metrics=[quality], decides="guardrails"),
            "a model at its margin is shipped, judged less often, heavy users first",
            ship_requests_at_the_margin(8, 60),
            runs,
            stated=0.3,
        ),
    ]
