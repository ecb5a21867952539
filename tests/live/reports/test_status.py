"""What a status says of the time left: nothing that two outcomes could not tell."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

import bascule as bs

COINS = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
WEEKLY = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("7d", "any"))


def sales(arms: list[str]) -> list[float]:
    """Of each arm every tenth unit buys, of b every fifth, whoever is dealt which."""
    came: Counter[str] = Counter()
    found = []
    for arm in arms:
        found.append(float(came[arm] % (5 if arm == "b" else 10) == 0))
        came[arm] += 1
    return found


def test_one_unit_waits_in_the_singular() -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("waiting", COINS)
        test.assign("user-42")
        clock.advance("2h")
        waiting = test.status().waiting
    assert waiting is not None
    assert waiting.words == "1 unit has not counted, and has not reported for 2 hours"
    assert waiting.complete_words == "Enrolment is complete: waiting for 1 unit"


def test_units_that_have_not_counted_are_told_and_few_outcomes_forecast_nothing() -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("waiting", COINS)
        test.assign_many(range(1000))
        test.record_many([(0, 1.0), (1, 0.0)])
        clock.advance("1h")
        status = test.status()
    assert status.time_left is None
    waits = "998 units have not counted; the oldest has not reported for 1 hour"
    assert status.headline == f"Waiting: {waits}"
    assert status.to_dict()["waiting"]["units"] == 998


def test_with_a_window_a_test_says_until_when_its_oldest_unit_waits() -> None:
    with bs.open(":memory:", clock=bs.ManualClock()) as store:
        test = store.create("waiting", WEEKLY)
        test.assign_many(range(1000))
        assert test.status().headline == (
            "Keep running: 1,000 units are in their conversion window, the oldest until "
            "2026-01-08 00:00 UTC"
        )


def test_units_under_way_need_not_come_again() -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        rule = bs.Tilt(3, effect=0.1, power=0.9, baseline=0.1)
        test = store.create("week", replace(WEEKLY, rule=rule))
        for day in range(8):
            units = [f"{day} {i}" for i in range(40)]
            arms = test.assign_many(units)
            test.record_many(zip(units, sales(arms), strict=True))
            clock.advance("1d")
        status = test.status()
    left = status.time_left
    assert left is not None
    assert left.days is not None
    pending = status.units - status.matured
    assert pending > 200
    # Forty come a day, and the last of them takes a week to count.
    assert left.units > pending
    assert abs(left.days - ((left.units - pending) / 40 + 7)) < 0.2


def test_arms_are_active_or_dropped() -> None:
    with bs.open(":memory:") as store:
        test = store.create(
            "parts", bs.Design(["a", "b", "c"], bs.Bernoulli(), bs.Tilt(3), reports="always")
        )
        test.drop_arm("c")
        status = test.status()
    assert [arm.part for arm in status.arms] == ["active", "active", "dropped"]


def test_under_a_trend_forecast_and_cost_go_by_the_differences_that_are_shown() -> None:
    clock, chance = bs.ManualClock(), random.Random(5)
    store = bs.open(":memory:", clock=clock, shuffle=random.Random(1).shuffle)
    rule = bs.Tilt(8, effect=0.2, power=0.9)
    design = bs.Design(["c", "g"], bs.Gaussian(1), rule, reports="always")
    test = store.create("falling", design)
    for unit in range(901):
        better = 0.25 if test.assign(unit) == "g" else 0.0
        test.record(unit, chance.gauss(better - unit / 150, 1))
        clock.advance(86400 / 50)
    status = test.status()
    (contrast,) = status.contrasts
    control, green = status.arms
    # More of the control's units came early, when outcomes were high: its average is higher.
    assert (green.mean or 0.0) < (control.mean or 0.0)
    assert status.leader == "g"
    assert status.cost == pytest.approx(control.units * contrast.difference)
    assert status.even_cost == pytest.approx(status.units / 2 * contrast.difference)
    # By the averages it would be years.
    assert status.time_left is not None
    assert status.time_left.days is not None
    assert status.time_left.days < 60


def test_no_time_is_forecast_while_a_guardrail_of_the_leader_is_undecided() -> None:
    chance, store = random.Random(2), bs.open(":memory:", shuffle=random.Random(1).shuffle)
    plain = bs.Design(["c", "g"], bs.Gaussian(1), bs.Tilt(3), reports="always")
    speed = bs.Metric("speed", bs.Gaussian(30), margin=3)
    alone = store.create("alone", plain)
    guarded = store.create("guarded", replace(plain, metrics=[speed]))
    for unit in range(61):
        for test in (alone, guarded):
            test.record(unit, chance.gauss(0.5 if test.assign(unit) == "g" else 0.0, 1))
        guarded.record(unit, chance.gauss(0, 30), metric="speed")
    status = guarded.status()
    assert alone.status().time_left is not None
    assert alone.forecast([3.0])
    assert (status.leader, status.time_left) == ("g", None)
    assert guarded.forecast([3.0]) == ()
    assert status.headline == (
        "Keep running: g leads; no time is forecast while it is not shown to stay within the "
        "margin of speed"
    )


def test_an_interval_of_everything_that_is_possible_is_no_part_of_the_way() -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        design = bs.Design(["a", "b", "c"], bs.Bernoulli(), bs.Tilt(3))
        test = store.create("first", design, measure=bs.Measure("1d", "any"))
        arms = {test.assign(unit): unit for unit in ("u0", "u1", "u2")}
        for arm, unit in arms.items():
            test.record(unit, float(arm == "a"))
        clock.advance(2 * 86_400.0)
        status = test.status()
    assert [effect.high for effect in status.effects][:1] == pytest.approx([1.0])
    assert status.evidence == 0.0
    assert "No arm is ahead yet." in str(status)
