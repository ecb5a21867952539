"""What a live test shows never contradicts what it decides, whatever the evidence is made of."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bascule as bs

pytestmark = pytest.mark.slow

GUARD = [bs.Metric("latency", bs.Gaussian(1), goal="decrease", margin=1.0)]
KINDS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "known spread": (bs.Gaussian(1), bs.Tilt(3), {}),
    "planned effect": (bs.Gaussian(1), bs.Tilt(3, effect=0.8), {}),
    "horizon": (bs.Gaussian(1), bs.Tilt(3, effect=0.8, power=0.9, futility=0.2), {}),
    "horizon, normal": (
        bs.Gaussian(1),
        bs.Tilt(3, effect=0.8, power=0.9, guarantee="gaussian"),
        {},
    ),
    "bets": (bs.Bernoulli(), bs.Tilt(3), {}),
    "bets at a planned effect": (bs.Bernoulli(), bs.Tilt(3, effect=0.4, baseline=0.3), {}),
    "bets to a horizon": (bs.Bernoulli(), bs.Tilt(3, effect=0.4, baseline=0.3, power=0.9), {}),
    "estimated spread": (bs.Numeric(), bs.Tilt(3), {}),
    "covariate": (bs.Numeric(), bs.Tilt(3), {"covariates": [bs.Covariate("x")]}),
    "ratio": (bs.Ratio(at=0.0), bs.Tilt(3), {}),
    "guardrail": (bs.Gaussian(1), bs.Tilt(3), {"metrics": GUARD}),
    "lower is better": (bs.Gaussian(1), bs.Tilt(3), {"goal": "decrease"}),
    "no difference": (bs.Gaussian(1), bs.Tilt(3), {"min_effect": 0.6}),
    "mixture on differences": (bs.Gaussian(1), bs.ETC(stop="mixture"), {}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arms", [3, 5])
def test_intervals_agree_with_the_decision(kind: str, arms: int) -> None:
    outcome, rule, more = KINDS[kind]
    names = [f"arm {i}" for i in range(arms)]
    design = bs.Design(names, outcome, rule, error=0.2, reports="always", **more)
    ends = set()
    for seed in range(4):
        order = random.Random(seed)
        with bs.open(":memory:", shuffle=order.shuffle) as store:
            ends.add(play(store.create("test", design), np.random.default_rng(seed), seed % 2 == 1))
    assert ends & {"decided", "over"}


def play(test: bs.Experiment, rng: np.random.Generator, meddles: bool) -> str:
    """Play a test of at most twelve batches, and check what it shows after each of them."""
    design, removed = test.design, set[str]()
    arms = len(design.arms)
    means = rng.normal(0.0, 0.7, arms)
    for batch in range(12):
        units = [f"{batch}-{i}" for i in range(8 * arms)]
        record(test, units, means, rng)
        shown = look(test)
        check(design, shown, removed)
        if shown.state != "running":
            return str(shown.state)
        if meddles and batch == 3:
            test.knob(**{design.rule.knob.name: 8.0}) if design.rule.knob else None
        if meddles and batch == 5 and not design.metrics and len(shown.active) > 2:
            test.drop_arm(shown.active[-1])
            removed.add(shown.active[-1])
    return "running"


def record(test: bs.Experiment, units: list[str], means: Any, rng: np.random.Generator) -> None:
    design, known = test.design, rng.normal(size=len(units))
    more: dict[str, Any] = {}
    if design.covariates is not None:
        more["covariates"] = [{"x": float(x)} for x in known]
    events: list[Any] = []
    for unit, arm, x in zip(units, test.assign_many(units, **more), known, strict=True):
        mean = float(means[design.arms.index(arm)])
        if design.outcome.binary:
            value = float(rng.random() < min(0.95, max(0.02, 0.3 + 0.4 * mean)))
        else:
            value = float(rng.normal(mean, 1.0)) + (0.5 * float(x) if more else 0.0)
        events.append((unit, (3.0 * value, 3.0) if design.outcome.pairs else value))
        if design.metrics:
            events.append((unit, float(rng.normal()), None, f"{unit}-l", "latency"))
    # A test with a horizon enrols no more units than it needs, and the others have no outcome.
    refused = {receipt.reason for receipt in test.record_many(events) if not receipt.accepted}
    assert refused <= ({"unknown unit"} if design.procedure.has_horizon else set())


def look(test: bs.Experiment) -> Any:
    """What a test shows: its status once it has ended, and before that without the forecasts."""
    test.settle()
    if test.state != "running":
        status = test.status()
        active = [arm.name for arm in status.arms if arm.part in ("active", "paused")]
        beaten = [arm.name for arm in status.arms if arm.part == "beaten"]
        ended = (status.decision, status.effects, status.headline)
        names = ("decision", "effects", "headline")
        return SimpleNamespace(
            state=status.state, active=active, beaten=beaten, **dict(zip(names, ended, strict=True))
        )
    with test.store.reading() as connection:
        seen: Any = test.store.load(connection, test.id, test.name).state.statistics
    arms, effects = test.design.arms, bs.progress.effects(test.design, seen)
    active = [name for i, name in enumerate(arms) if i not in seen.out]
    beaten = [arms[i] for i in seen.dropped]
    return SimpleNamespace(
        state="running", decision=None, effects=effects, active=active, beaten=beaten, headline=""
    )


def check(design: bs.Design, shown: Any, removed: set[str]) -> None:
    """No interval is empty; winners are above all others, and beaten arms below one of them."""
    sign = -1.0 if design.goal == "decrease" else 1.0
    ends = {}
    for effect in shown.effects:
        low, high = sorted((sign * effect.low, sign * effect.high))
        assert effect.low <= effect.high
        ends[effect.first, effect.second] = (low, high)
        ends[effect.second, effect.first] = (-high, -low)
    for arm in shown.beaten:
        assert any(ends[arm, other][1] <= 1e-12 for other in design.arms if other != arm)
    decision = shown.decision
    if decision is None:
        return
    if decision.arm is not None:
        for other in set(design.arms) - removed - {decision.name}:
            assert ends[decision.name, other][0] >= -1e-12
        return
    assert design.min_effect is not None
    for arm in shown.active:
        for other in shown.active:
            assert arm == other or ends[arm, other][1] <= design.min_effect + 1e-9
    # An arm that was beaten is not among those of which any may be kept.
    assert not shown.beaten or all(arm in shown.headline for arm in shown.active)
    assert not any(arm in shown.headline for arm in shown.beaten)
