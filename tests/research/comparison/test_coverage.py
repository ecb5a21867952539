"""Which worlds a guarantee covers, one proof after the other (docs/research/coverage.md)."""

from __future__ import annotations

from typing import Any

import pytest

import bascule as bs
from bascule.research.comparison.coverage import promised_error, why_not_covered

pytestmark = pytest.mark.slow

WAITING = (bs.Tilt(3), bs.ETC(), bs.ETCPrime())
EVERY = (*WAITING, bs.UCB(2))
MEANS = [0.0, 0.1]


def reason(rule: Any, outcome: Any = None, **parts: Any) -> str | None:
    design = bs.Design(["a", "b"], outcome or bs.Gaussian(1), rule, sides=1)
    return why_not_covered(design, bs.worlds.World(**{"means": MEANS, **parts}))


@pytest.mark.parametrize("rule", EVERY)
def test_batches_delays_and_missing_outcomes_are_covered(rule: Any) -> None:
    for parts in (
        {},
        {"batch": 50},
        {"delay": bs.worlds.Delay(20)},
        {"delay": bs.worlds.Delay(20, "random", window=30)},
        {"missing": 0.3},
    ):
        assert reason(rule, **parts) is None


def test_delays_that_tell_are_covered_for_rules_that_wait() -> None:
    telling = bs.worlds.Delay(20, "random", high_outcomes=5)
    for rule in WAITING:
        assert reason(rule, delay=telling) is None
        # With a window, what tells is what is missing.
        cut = bs.worlds.Delay(20, "random", high_outcomes=5, window=50)
        assert "count as missing" in str(reason(rule, delay=cut))
    assert "does not wait" in str(reason(bs.UCB(2), delay=telling))


def test_trends_are_covered_in_blocks_if_they_are_slow() -> None:
    slow, quick = bs.worlds.Trend("fading", -0.5, 2000), bs.worlds.Trend("wave", 0.5, 20)
    assert reason(bs.Tilt(3), trend=slow) is None
    assert "within one block" in str(reason(bs.Tilt(3), trend=quick))
    assert "within one block" in str(reason(bs.Tilt(3, batch=100), trend=slow))
    for rule in (bs.UCB(2), bs.ETC()):
        assert "looks like a difference" in str(reason(rule, trend=slow))


def test_bets_hold_under_every_trend() -> None:
    quick = bs.worlds.Trend("wave", 0.05, 20)
    assert reason(bs.Tilt(3), bs.Bernoulli(), means=[0.1, 0.2], trend=quick) is None


@pytest.mark.parametrize("rule", EVERY)
def test_a_change_is_covered_while_the_best_arm_stays_the_best(rule: Any) -> None:
    assert reason(rule, change=bs.worlds.Change(1, 1.0, 50)) is None
    assert reason(rule, change=bs.worlds.Change(0, 0.05, 50)) is None
    assert "becomes the best" in str(reason(rule, change=bs.worlds.Change(1, -0.2, 50)))
    assert "becomes the best" in str(reason(rule, change=bs.worlds.Change(0, 0.1, 50)))


@pytest.mark.parametrize(
    ("noise", "covered"),
    [
        (bs.worlds.Normal(1.0), True),
        (bs.worlds.Normal(0.5), True),
        (bs.worlds.Normal(1.1), False),
        (bs.worlds.Beta(4, -1, 1), True),
        (bs.worlds.Beta(4, -2, 1), False),
        (bs.worlds.StudentT(30, 0.1), False),
    ],
)
def test_sigma_covers_what_is_sub_gaussian_with_it(noise: Any, covered: bool) -> None:
    for rule in EVERY:
        assert (reason(rule, noise=noise) is None) == covered


def test_a_delta_that_proves_nothing_covers_nothing() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.9)
    assert "nothing is proven" in str(why_not_covered(design, bs.worlds.World(MEANS)))


def test_without_a_best_arm_twice_the_error_is_promised() -> None:
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3), error=0.05, sides=1)
    assert promised_error(design, bs.worlds.World([0, 0, 1])) == 0.05
    assert promised_error(design, bs.worlds.World([0, 1, 1])) == 0.1
