"""A difference is treatment minus control, whoever is asked and wherever the control stands."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import bascule as bs

Goal = Literal["increase", "decrease"]

SHARES = {"control": 0.2, "green": 0.4}


def outcome(arm: str, chance: np.random.Generator) -> int:
    return int(chance.random() < SHARES[arm])


@pytest.mark.parametrize("arms", [["control", "green"], ["green", "control"]])
@pytest.mark.parametrize("looks", [None, 1])
def test_logs(arms: list[str], looks: Literal[1] | None) -> None:
    chance = np.random.default_rng(1)
    drawn = [arms[i] for i in chance.integers(2, size=2000)]
    log = {
        "unit": range(2000),
        "arm": drawn,
        "bought": [outcome(arm, chance) for arm in drawn],
        "time": [f"2026-03-{1 + i // 200:02}" for i in range(2000)],
    }
    found = bs.analyze(log, "bought", control="control", looks=looks)
    (effect,), (once,), (day, *_) = found.effects, found.once, found.days[-1].effects
    for one in (effect, once, day):
        assert (one.first, one.second, one.name) == ("green", "control", "green - control")
        assert one.difference == pytest.approx(0.2, abs=0.06)
        assert one.low < one.difference < one.high
    assert once.lift == pytest.approx(1.0, abs=0.3)


@pytest.mark.parametrize("arms", [["control", "green"], ["green", "control"]])
@pytest.mark.parametrize("goal", ["increase", "decrease"])
def test_live_tests_and_pure_functions(arms: list[str], goal: Goal) -> None:
    chance = np.random.default_rng(2)
    design = bs.Design(
        arms, bs.Bernoulli(), bs.Tilt(3), control="control", goal=goal, reports="always"
    )
    with bs.open(":memory:") as store:
        test = store.create("button", design)
        for unit in range(200):
            test.record(unit, outcome(test.assign(unit), chance))
        status, history = test.status(), test.history()
    statistics = bs.progress.Statistics.empty(2)
    rates = [SHARES[arm] for arm in arms]
    block = tuple(bs.progress.ArmStatistics(100, 100 * rate, 100 * rate) for rate in rates)
    statistics = bs.progress.fold_block(design, statistics, block)
    for (effect,) in (status.effects, history[-1].effects, bs.progress.effects(design, statistics)):
        assert effect.name == "green - control"
        assert effect.difference > 0.05
    (contrast,) = status.contrasts
    assert contrast.difference == status.effects[0].difference
