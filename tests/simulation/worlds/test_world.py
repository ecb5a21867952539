"""Worlds as values: written down and read again, and refused where they make no sense."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import bascule as bs
from bascule.simulation.api import world_of
from bascule.simulation.worlds.named_worlds import named_world
from bascule.simulation.worlds.world import Change, Delay, Trend, World

DISCRETE = bs.worlds.Discrete([0, 1, 5], [[0.6, 0.3, 0.1], [0.5, 0.3, 0.2]])
WORLDS = (
    bs.worlds.World([0.0, 0.1]),
    bs.worlds.World(
        [0, 1], noise=bs.worlds.StudentT(3, 2), trend=bs.worlds.Trend("fading", -0.5, 2000)
    ),
    bs.worlds.World(
        [0, 1], trend=bs.worlds.Trend("wave", 0.5, 100), change=bs.worlds.Change(1, -2.0, 50)
    ),
    bs.worlds.World([0.1, 0.2], noise=bs.worlds.Coin(), batch=50, missing=0.1),
    bs.worlds.World([1, 2], noise=bs.worlds.Beta(4, 0, 5), delay=bs.worlds.Delay(20)),
    bs.worlds.World([0, 1], delay=bs.worlds.Delay(20, "random", high_outcomes=5, window=100)),
    bs.worlds.World(noise=DISCRETE),
)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.words)
def test_a_world_survives_being_written_down(world: bs.worlds.World) -> None:
    assert bs.worlds.World.from_dict(json.loads(json.dumps(world.to_dict()))) == world


def test_a_world_in_words() -> None:
    assert bs.worlds.World([0, 1]).words == "steady"
    assert WORLDS[5].words == (
        "random delay of 20 units, 5 times as long for high outcomes, awaited for 100 units"
    )
    assert WORLDS[3].words == "outcomes 0 or 1; batches of 50; 10 % of outcomes missing"


def test_means_in_force_change_with_the_unit_at_which_they_do() -> None:
    world = bs.worlds.World([0, 1], change=bs.worlds.Change(0, by=3, at=10))
    assert world.at(10) == world.start == (0.0, 1.0)
    assert world.at(11) == world.end == (3.0, 1.0)


def test_a_world_is_plain_if_the_design_expects_nothing_else() -> None:
    assert bs.worlds.World([0, 1]).plain_for(bs.Gaussian(2))
    assert bs.worlds.World([0, 1], noise=bs.worlds.Normal(2)).plain_for(bs.Gaussian(2))
    assert not bs.worlds.World([0, 1], noise=bs.worlds.Normal(1)).plain_for(bs.Gaussian(2))
    for world in WORLDS[1:]:
        assert not world.plain_for(bs.Gaussian(1))


@pytest.mark.parametrize(
    ("make", "field", "words"),
    [
        (bs.worlds.World, "means", "missing"),
        (lambda: bs.worlds.World("ab"), "means", "list of numbers"),  # type: ignore[arg-type]
        (lambda: bs.worlds.World([0, float("nan")]), "means", "must be a number"),
        (lambda: bs.worlds.World([0, 2], noise=DISCRETE), "means", "follow from the weights"),
        (lambda: bs.worlds.World([0, 1], change=bs.worlds.Change(2, 1, 5)), "arm", "at most 1"),
        (lambda: bs.worlds.World([0, 1], batch=0), "batch", "at least 1"),
        (lambda: bs.worlds.World([0, 1], missing=1.0), "missing", "at least 0 and below 1"),
        (lambda: bs.worlds.World([0, 1], missing=-0.1), "missing", "at least 0 and below 1"),
        (lambda: bs.worlds.World([0, 1], noise=5), "noise", "Normal or StudentT"),  # type: ignore[arg-type]
        (lambda: bs.worlds.World([0, 1], delay=5), "delay", "delay must be Delay"),  # type: ignore[arg-type]
        (lambda: bs.worlds.Trend("up", 1, 1), "kind", '"fading" or "wave"'),  # type: ignore[arg-type]
        (lambda: bs.worlds.Trend("wave", 1, 0), "span", "above 0"),
        (lambda: bs.worlds.Delay(-1), "mean", "at least 0"),
        (lambda: bs.worlds.Delay(1, "slow"), "kind", '"fixed" or "random"'),  # type: ignore[arg-type]
        (lambda: bs.worlds.Delay(1e6, "random"), "delay", "set a window"),
        (lambda: bs.worlds.Delay(1, window=-1), "window", "at least 0"),
        (lambda: bs.worlds.Change(-1, 0.5, 10), "arm", "at least 0"),
        (lambda: bs.worlds.World.from_dict({"means": [0, 1], "colour": 1}), "colour", "remove it"),
        (
            lambda: bs.worlds.World.from_dict({"means": [0, 1], "noise": {}}),
            "kind",
            "missing from the world's noise",
        ),
        (
            lambda: bs.worlds.World.from_dict({"means": [0, 1], "trend": {}}),
            "kind",
            "missing from the",
        ),
        (lambda: bs.worlds.World.from_dict([1]), "world", "world must be an object"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], Any], field: str, words: str) -> None:
    with pytest.raises(bs.InputError, match=words) as caught:
        make()
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


def test_a_long_delay_is_fine_with_a_window() -> None:
    assert bs.worlds.Delay(1e6, "random", window=500).longest == 500


@pytest.mark.parametrize(
    ("outcome", "world", "field", "words"),
    [
        (bs.Bernoulli(), bs.worlds.World([0.1, 1.2]), "means", "between 0 and 1"),
        (bs.Bernoulli(), bs.worlds.World([0.1, 0.2], noise=bs.worlds.Normal()), "noise", "0 or 1"),
        (
            bs.Bernoulli(),
            bs.worlds.World([0.1, 0.2], change=bs.worlds.Change(0, -0.2, 10)),
            *("means", "between 0 and 1"),
        ),
        (
            bs.Bernoulli(),
            bs.worlds.World([0.1, 0.2], trend=bs.worlds.Trend("wave", 0.3, 100)),
            *("trend", "where the arms are alike"),
        ),
        (
            bs.Gaussian(1),
            bs.worlds.World([0.1, 1.2], noise=bs.worlds.Coin()),
            "means",
            "as the outcomes do",
        ),
        (bs.Bounded(0, 5), bs.worlds.World([1, 6]), "means", "between 0 and 5"),
        (
            bs.Bounded(0, 5),
            bs.worlds.World(noise=DISCRETE, trend=bs.worlds.Trend("wave", 0.1, 10)),
            *("noise", "cannot follow a trend"),
        ),
        (bs.Gaussian(1), bs.worlds.World([0, 1, 2]), "means", "2 arms, but 3 means"),
    ],
)
def test_a_world_has_to_fit_the_design(
    outcome: Any, world: bs.worlds.World, field: str, words: str
) -> None:
    design = bs.Design(["a", "b"], outcome, bs.Tilt(3), sides=1)
    with pytest.raises(bs.InputError, match=words) as caught:
        bs.simulate(design, world=world)
    assert caught.value.field == field


def test_means_and_worlds_may_be_given_in_several_ways_but_once() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(2), bs.Tilt(3), sides=1)
    batches = bs.worlds.World([0, 1], batch=50)
    assert world_of(design, [0, 1]) == bs.worlds.World([0, 1])
    assert world_of(design, (0.0, 1.0), {"batch": 50}) == batches
    assert world_of(design, None, {"means": [0, 1], "batch": 50}) == batches
    assert world_of(design, None, batches) == batches
    assert world_of(design, [0, 1], "steady") == bs.worlds.World([0, 1])
    for means, world in (([0, 1], batches), ([0, 1], {"means": [0, 1]})):
        with pytest.raises(bs.InputError, match="means are given twice"):
            world_of(design, means, world)
    for name in (None, "rising"):
        with pytest.raises(bs.InputError, match="means are missing"):
            world_of(design, None, name)
    with pytest.raises(bs.InputError, match="a World, a dict or a name"):
        world_of(design, [0, 1], 5)  # type: ignore[arg-type]


def test_a_reflected_world_is_turned_round_once_and_back_again() -> None:
    world = World(
        [0.25, 0.5],
        trend=Trend("wave", 0.1, 50),
        change=Change(1, by=-0.25, at=10),
        delay=Delay(10, "random", high_outcomes=4.0),
    )
    turned = world.reflected(bs.Bernoulli())
    assert turned.start == (0.75, 0.5)
    assert turned.end == (0.75, 0.75)
    assert turned.delay == Delay(40, "random", high_outcomes=0.25, event="low")
    assert turned.reflected(bs.Bernoulli()) == world


def test_the_change_of_a_test_for_the_lowest_mean_is_one_of_the_lowest() -> None:
    base = World([0.25, 0.5])
    assert named_world("change", base, bs.Bernoulli()).change.arm == 1  # type: ignore[union-attr]
    made = named_world("change", base, bs.Bernoulli(), lowest=True)
    assert made.end == (0.75, 0.5)
