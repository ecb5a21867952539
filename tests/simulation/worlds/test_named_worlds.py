"""Worlds by name: their sizes go by the spread of the outcomes, and stay within limits."""

from __future__ import annotations

from typing import Any

import pytest

import bascule as bs
from bascule.simulation.worlds.named_worlds import NAMED, named_world

PLAIN = bs.worlds.World([0.0, 0.2])


def test_trends_go_by_the_spread() -> None:
    assert named_world("rising", PLAIN, bs.Gaussian(2)).trend == bs.worlds.Trend(
        "fading", -1.0, 2000
    )
    assert named_world("steep", PLAIN, bs.Gaussian(2)).trend == bs.worlds.Trend("fading", -2.0, 500)
    assert named_world("wave", PLAIN, bs.Gaussian(2)).trend == bs.worlds.Trend("wave", 1.0, 1000)


@pytest.mark.parametrize("name", ["rising", "steep", "wave"])
@pytest.mark.parametrize("means", [[0.05, 0.06], [0.93, 0.95], [0.0, 0.4]])
def test_trends_leave_limited_outcomes_within_their_limits(name: str, means: Any) -> None:
    world = named_world(name, bs.worlds.World(means), bs.Bernoulli())
    assert world.trend is not None
    least, most = world.trend.extremes
    assert min(means) + least >= 0
    assert max(means) + most <= 1
    world.for_outcome(bs.Bernoulli(), 2)


def test_a_change_makes_the_best_arm_as_much_worse_as_it_was_better() -> None:
    changed = named_world("change", PLAIN, bs.Gaussian(2))
    assert changed.end == pytest.approx((0.0, -0.2))
    assert changed.change is not None
    assert changed.change.at == 1000
    assert named_world("change", bs.worlds.World([0.5, 0.5]), bs.Gaussian(1)).end[0] < 0.5
    assert named_world("change", bs.worlds.World([0.01, 0.5]), bs.Bernoulli()).end == (0.01, 0.0)


def test_heavy_tails_have_the_same_spread_and_need_outcomes_without_limits() -> None:
    assert named_world("heavy-tails", PLAIN, bs.Gaussian(2)).noise == bs.worlds.StudentT(3, 2)
    with pytest.raises(bs.InputError, match="without limits"):
        named_world("heavy-tails", bs.worlds.World([0.1, 0.2]), bs.Bernoulli())


def test_null_makes_the_arms_alike() -> None:
    assert named_world("null", bs.worlds.World([0.3, 0.5]), bs.Gaussian(1)).start == (0.3, 0.3)
    discrete = bs.worlds.World(noise=bs.worlds.Discrete([0, 1], [[0.5, 0.5], [0.4, 0.6]]))
    assert named_world("null", discrete, bs.Gaussian(1)).start == (0.5, 0.5)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("outcome", [bs.Gaussian(3), bs.Bernoulli(), bs.Bounded(0, 2)])
def test_every_name_gives_a_world_that_fits(name: str, outcome: Any) -> None:
    if name == "heavy-tails" and not isinstance(outcome, bs.Gaussian):
        return
    world = named_world(name, bs.worlds.World([0.4, 0.5]), outcome)
    world.for_outcome(outcome, 2)
    assert (world == bs.worlds.World([0.4, 0.5])) == (name == "steady")


def test_names_can_be_put_together() -> None:
    both = named_world("null+steep", PLAIN, bs.Gaussian(1))
    assert both == bs.worlds.World([0.0, 0.0], trend=bs.worlds.Trend("fading", -1.0, 500))


def test_a_name_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(bs.InputError, match="choose from steady, rising"):
        named_world("risng", PLAIN, bs.Gaussian(1))
