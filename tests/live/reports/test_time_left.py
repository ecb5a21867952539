"""The range of the time that a test still takes: how often it holds, and what it counts.

`python -m bench.time_left` has more designs and effects.
"""

from __future__ import annotations

import math

import pytest
from bench.time_left import course, covered

import bascule as bs
from bascule.live.reports.time_left import units_range
from bascule.theory.time_left import growth_range


@pytest.mark.parametrize("means", [(0, 0), (0, 0.2), (0, 0.8), (0, 0, 0), (0, 0, 0.4)])
def test_the_range_holds_the_time_in_four_of_five_looks(means: tuple[float, ...]) -> None:
    design = bs.Design(
        ["a", "b", "c"][: len(means)], bs.Gaussian(1), bs.Tilt(3, effect=0.4, power=0.9)
    )
    found = covered(design, means, 20)
    assert found.share >= 0.8 - 2 * found.error


def test_a_test_one_block_before_its_end_may_end_at_once() -> None:
    """What is missing is read from the evidence: the intervals that are shown lie on a grid."""
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3, effect=0.4, power=0.9))
    for seed in range(5):
        found = course(design, (0.0, 0.0, 0.4), seed)
        left = units_range(design, found[-2])
        assert left is not None
        assert left[0] <= found[-1].units - found[-2].units + (design.procedure.largest_block or 0)


def test_a_range_without_a_horizon_is_given_once_it_means_something() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    found = course(design, (0.0, 0.5), 1)
    assert units_range(design, found[4]) is None
    shown = covered(design, (0.0, 0.5), 30)
    assert shown.share >= 0.8 - 3 * shown.error


def test_the_range_shrinks_from_quarter_to_quarter_of_a_test() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3, effect=0.4, power=0.9))
    widths = []
    for seed in range(12):
        found = course(design, (0.0, 0.2), seed)
        quarters = [found[len(found) * part // 4 - 1] for part in (1, 2, 3, 4)]
        ranges = [units_range(design, statistics) for statistics in quarters[:3]]
        widths.append([one.high - one.low for one in ranges if one is not None])
        assert all(one.low <= one.median <= one.high for one in ranges if one is not None)
    first, second, third = (sum(row[at] for row in widths if len(row) == 3) for at in range(3))
    assert first > second > third > 0.0


def test_a_lead_near_its_line_takes_less_time() -> None:
    far, near = growth_range(1.0, 2.5, flat=True, most=3.0), growth_range(2.4, 2.5, True, 3.0)
    assert far is not None
    assert near is not None
    assert near[0] <= far[0]
    assert near[1] < far[1]
    assert near[2] < far[2] <= 3.0
    assert growth_range(0.0, 3.5, flat=False, most=math.inf) is None


def test_the_days_are_those_until_the_windows_close(store: bs.Store, clock: bs.ManualClock) -> None:
    """Units arrive once an hour, and count a week later: 168 have not counted."""
    rule = bs.Tilt(1, effect=0.3, power=0.9, baseline=0.2)
    week = bs.Measure("7d", "any")
    test = store.create("waits", bs.Design(["a", "b"], bs.Bernoulli(), rule, measure=week))
    for i in range(400):
        arm = test.evaluate(i)
        if arm.enrolled and i % (3 if arm.arm == "b" else 5) == 0:
            test.record(i, 1)
        clock.advance("1h")
        status = test.status()
        if status.decision is not None or not status.is_open:
            break
        if status.time_left is not None:
            left = status.time_left
            assert left.low_days is not None
            assert left.high_days is not None
            assert 0.0 <= left.low_days <= left.high_days
            if status.waiting is not None and left.high_units > status.waiting.units:
                assert left.high_days >= 7.0
    assert status.matured > 20


def test_the_calendar_is_in_the_range(store: bs.Store, clock: bs.ManualClock) -> None:
    rule = bs.Tilt(1, effect=0.3, power=0.9, baseline=0.2)
    day = bs.Measure("1d", "any")
    design = bs.Design(["a", "b"], bs.Bernoulli(), rule, measure=day, whole_weeks=True)
    test = store.create("weeks", design)
    for i in range(60):
        test.assign(i)
        if i % 4 == 0:
            test.record(i, 1)
        clock.advance("1h")
    left = test.status().time_left
    assert left is not None
    assert left.low_days is not None
    assert left.high_days is not None
    passed = 60 / 24
    assert (left.low_days + passed) % 7 == pytest.approx(0.0, abs=1e-6)
    assert (left.high_days + passed) % 7 == pytest.approx(0.0, abs=1e-6)
    assert "left" in test.status().headline
