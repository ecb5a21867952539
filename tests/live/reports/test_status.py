"""What a status says of the time left: nothing that two outcomes could not tell."""

from __future__ import annotations

from collections import Counter

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


def test_units_that_have_not_counted_are_told_and_few_outcomes_forecast_nothing() -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("waiting", COINS)
        test.assign_many(range(1000))
        test.record_many([(0, 1.0), (1, 0.0)])
        clock.advance("1h")
        status = test.status()
    assert (status.left, status.days_left) == (None, None)
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
        test = store.create("week", WEEKLY)
        for day in range(8):
            units = [f"{day} {i}" for i in range(40)]
            arms = test.assign_many(units)
            test.record_many(zip(units, sales(arms), strict=True))
            clock.advance("1d")
        status = test.status()
    assert status.left is not None
    assert status.days_left is not None
    pending = status.units - status.matured
    assert pending > 200
    # Forty come a day, and the last of them takes a week to count.
    assert abs(status.days_left - (max(0.0, status.left - pending) / 40 + 7)) < 0.1


def test_arms_are_active_paused_or_dropped_and_plain_data_keep_the_first_words_too() -> None:
    with bs.open(":memory:") as store:
        test = store.create(
            "parts", bs.Design(["a", "b", "c", "d"], bs.Bernoulli(), bs.Tilt(3), reports="always")
        )
        test.pause_arm("b")
        test.drop_arm("c")
        status = test.status()
    assert [arm.part for arm in status.arms] == ["active", "paused", "dropped", "active"]
    plain = [(arm["state"], arm["part"]) for arm in status.to_dict()["arms"]]
    assert plain[0:3] == [("active", "in"), ("paused", "paused"), ("dropped", "taken out")]
