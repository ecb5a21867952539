"""Guardrails with a shorter window than their units: they count, and go back, before these do."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import bascule as bs

WEEK, HOUR = bs.Measure("7d"), bs.Measure("1h")
SOON = bs.Metric("soon", bs.Ratio(), margin=0.05, measure=HOUR)
QUALITY = bs.Metric("quality", bs.Ratio(), margin=0.05, measure=WEEK)


def design(*arms: str) -> bs.Design:
    return bs.Design(
        [*arms],
        bs.Ratio(),
        bs.Tilt(1),
        goal="decrease",
        measure=WEEK,
        metrics=[QUALITY, SOON],
        decides="guardrails",
    )


def play(
    test: bs.Experiment,
    clock: bs.ManualClock,
    good: dict[str, float],
    days: float,
    seed: int = 1,
    alike: bool = False,
) -> None:
    """Six times a day 40 users come, ask within the hour, and once more days later."""
    rng = np.random.default_rng(seed)
    for step in range(int(6 * days)):
        if test.state != "running":
            return
        users = [f"{step}-{i}" for i in range(40)]
        events: list[tuple[Any, ...]] = []
        for user, arm in zip(users, test.assign_many(users), strict=True):
            share = (float(rng.binomial(4, good[arm])), 4.0)
            for metric in ("quality", "soon"):
                if not alike:
                    share = (float(rng.binomial(4, good[arm])), 4.0)
                events.append((user, share, None, f"{user}-r", metric))
            events.append((user, (0.002, 1.0), None, f"{user}-r", None))
        test.record_many(events)
        clock.advance(4 * 3600.0)


def test_a_bad_arm_goes_back_hours_after_it_shows_although_units_count_after_a_week() -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock, shuffle=random.Random(1).shuffle) as store:
        test = store.create("models", design("a", "b"))
        play(test, clock, {"a": 0.9, "b": 0.6}, days=6)
        status = test.status()
        assert status.decision is not None
        assert (status.decision.name, status.decision.harm) == ("a", ("soon",))
        assert status.matured == 0
        assert status.headline == "Keep a: every other arm was found harmful (soon)"
        assert status.promise.startswith("the control stays because every other arm was found")
        text = str(status)
        assert "Decided by a guardrail with a short window" in text
        assert "soon (guardrail, margin" in text
        assert "Intervals: each bound fails with probability at most 5 %" in text
        assert [arm.part for arm in status.arms] == ["active", "harmful"]
        assert dict(zip(("quality", "soon"), status.metrics, strict=True))["soon"].standings == (
            "harmed",
        )
        assert test.verify().agrees


def test_one_of_three_arms_is_removed_ahead_and_the_other_is_shipped_by_all_windows() -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock, shuffle=random.Random(1).shuffle) as store:
        test = store.create("models", design("a", "b", "c"))
        play(test, clock, {"a": 0.9, "b": 0.5, "c": 0.9}, days=4)
        status = test.status()
        assert status.matured == 0
        assert {arm.name: arm.part for arm in status.arms}["b"] == "harmful"
        assert test.verify().agrees
        play(test, clock, {"a": 0.9, "b": 0.5, "c": 0.9}, days=20, seed=2)
        status = test.status()
        assert status.decision is not None
        assert status.decision.name == "c"
        assert test.verify().agrees


def test_metrics_that_count_ahead_end_as_they_would_with_their_units() -> None:
    """Of the same events in both windows: the same means, bounds and standings in the end."""
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock, shuffle=random.Random(1).shuffle) as store:
        test = store.create("models", design("a", "b"))
        play(test, clock, {"a": 0.8, "b": 0.8}, days=1, alike=True)
        early = test.status().metrics
        assert early[0].means == (None, None)
        assert None not in early[1].means
        clock.advance("7d")
        later, soon = test.status().metrics
        assert (later.means, later.contrasts, later.standings) == (
            *(soon.means, soon.contrasts, soon.standings),
        )
        # The last users came four hours before: all have counted ahead by then.
        assert early[1].contrasts == soon.contrasts
        assert test.record("0-0", (1.0, 1.0), metric="soon").reason == "late"
        assert test.verify().agrees


def test_events_of_a_short_window_count_by_it() -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock, shuffle=random.Random(1).shuffle) as store:
        test = store.create("models", design("a", "b"))
        test.assign("ann")
        clock.advance("2h")
        assert test.record("ann", (1.0, 1.0), metric="quality").accepted
        assert test.record("ann", (1.0, 1.0), metric="soon").reason == "late"
        assert test.verify().agrees


def test_a_block_is_complete_ahead_once_its_other_arms_have_counted() -> None:
    """An arm is removed by hand after the units of all other arms have counted in the front."""
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock, shuffle=lambda _: None) as store:
        test = store.create("models", design("a", "b", "c"))
        test.assign_many(["a1", "b1"])
        for unit in ("a1", "b1"):
            test.record(unit, (1.0, 4.0), metric="soon")
        clock.advance("2h")
        test.settle()
        test.drop_arm("c")
        assert [arm.units for arm in test._loaded().state.once.metrics[1].arms] == [1, 1, 0]
        assert test.assign_many(["a2", "b2"]) == ["a", "b"]
        for unit in ("a2", "b2"):
            test.record(unit, (1.0, 4.0), metric="soon")
        clock.advance("2h")
        test.settle()
        assert [arm.units for arm in test._loaded().state.once.metrics[1].arms] == [2, 2, 0]
        assert test.verify().agrees
