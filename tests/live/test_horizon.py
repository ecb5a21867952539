"""Live tests with a horizon: they end undecided, say why, and can be computed again."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import bascule as bs
from bascule.live.clock import ManualClock


def run(
    rule: bs.Tilt, outcomes: Any, most: int = 400, model: Any = None
) -> tuple[bs.Experiment, bs.Store]:
    """A test whose k-th unit of each arm gives the k-th of its outcomes."""
    store = bs.open(":memory:", clock=ManualClock())
    design = bs.Design(["a", "b"], model or bs.Gaussian(1), rule, reports="always")
    test = store.create("test", design)
    values = {name: itertools.cycle(outcomes[name]) for name in ("a", "b")}
    for i in range(most):
        test.record(f"unit {i}", next(values[test.assign(f"unit {i}")]))
        if test.state != "running":
            break
    return test, store


ALIKE = {"a": [1.0, -1.0], "b": [-1.0, 1.0]}


@pytest.mark.parametrize(
    ("guarantee", "model"),
    [("proven", bs.Gaussian(1)), ("gaussian", bs.Gaussian(1)), (None, bs.Numeric())],
)
def test_a_test_of_equal_arms_ends_at_its_horizon(guarantee: Any, model: Any) -> None:
    rule = bs.Tilt(1, effect=0.8, power=0.8, guarantee=guarantee)
    test, store = run(rule, ALIKE, model=model)
    with store:
        status = test.status()
        assert (test.state, status.decision, status.ended_by) == ("over", None, "horizon")
        assert status.headline == "The test has ended undecided: it has reached its horizon"
        # The reach, in standard errors of the effect, at a quarter of a unit each; an estimated
        # variance is a little above 1.
        procedure: Any = test.design.procedure
        variance = 26 / 25 if model.estimated else 1.0
        information = (procedure.horizon.reach / 0.8) ** 2
        assert status.matured == pytest.approx(4 * information * variance, abs=3)
        (effect,) = status.effects
        assert -1.0 < effect.low < 0.0 < effect.high < 1.0
        assert test.verify().differences == ()


def test_a_futile_test_ends_sooner_or_says_so() -> None:
    rule = bs.Tilt(1, effect=0.8, power=0.8, futility=0.3)
    test, store = run(rule, ALIKE)
    with store:
        assert test.status().ended_by == "futility"
        assert "unlikely to find the planned difference" in test.status().headline
        assert test.status().matured < 45
        assert test.verify().differences == ()
    advised = bs.Tilt(1, effect=0.8, power=0.8, futility=0.3, on_futility="advise")
    test, store = run(advised, ALIKE, most=44)
    with store:
        assert (test.state, test.status().futile) == ("running", True)
        assert test.status().headline.startswith("Consider ending the test")


def test_lifts_agree_with_differences_between_the_looks_of_a_batch() -> None:
    """Intervals of four arms are stored at some looks; bets also win in the middle of a batch."""
    rule = bs.Tilt(3, effect=0.4, baseline=0.3, power=0.9, batch=3)
    design = bs.Design([*"abcd"], bs.Bernoulli(), rule, error=0.4, reports="always")
    chance, decided = random.Random(2), 0
    with bs.open(":memory:", shuffle=chance.shuffle) as store:
        test = store.create("test", design)
        while test.state == "running":
            unit = f"unit {test.status().units}"
            test.record(unit, float(chance.random() < (0.5 if test.assign(unit) == "c" else 0.2)))
            for contrast in test.status().contrasts:
                if contrast.lift is not None:
                    assert (contrast.lift_low >= 0.0) == (contrast.low >= 0.0)
                    assert (contrast.lift_high <= 0.0) == (contrast.high <= 0.0)
                    decided += contrast.high <= 0.0 or contrast.low >= 0.0
    assert decided
