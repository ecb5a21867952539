"""Drift in tests whose guarantee needs steady means: the status shows it beside the decision."""

from __future__ import annotations

import random

import pytest

import bascule as bs

RECURRING = bs.Design(
    ["a", "b"],
    bs.Recurrent(1, 1),
    bs.UCB(2, radius="mixture"),
    error=0.3,
    measure=bs.Measure(period="1d"),
)


def played(trend: float, joiners: float, seed: int) -> bs.live.Status:
    """Return the status of a test of equal arms, with four new units a day until it ends."""
    clock, chance = bs.ManualClock(), random.Random(seed)
    with bs.open(":memory:", clock=clock, shuffle=chance.shuffle) as store:
        test, means = store.create("equal", RECURRING), dict[str, float]()
        for day in range(20):
            for unit in (f"{day}-{i}" for i in range(4)):
                test.assign(unit)
                means[unit] = chance.gauss(joiners * day, 1)
            clock.advance("1h")
            test.record_many(
                (unit, mean + trend * day + chance.gauss(0, 1), None, f"{unit}/{day}")
                for unit, mean in means.items()
            )
            clock.advance("23h")
            test.settle()
            if test.state != "running":
                break
        return test.status()


@pytest.mark.parametrize(("trend", "joiners"), [(0.4, 0.0), (0.0, 0.2)])
def test_a_trend_is_found_and_shown_beside_the_decision(trend: float, joiners: float) -> None:
    statuses = [played(trend, joiners, seed) for seed in range(5)]
    flagged = [one for one in statuses if any(check.flagged for check in one.diagnostics or ())]
    assert len(flagged) >= 4
    assert all("if means do not change in time" in one.promise for one in statuses)
    assert all("units that joined late differ" in one.report().question for one in flagged)


def test_steady_outcomes_raise_no_alarm() -> None:
    for seed in range(5):
        status = played(0.0, 0.0, seed)
        assert [check.name for check in status.diagnostics or ()] == ["trend"]
        assert not any(check.flagged for check in status.diagnostics or ())
