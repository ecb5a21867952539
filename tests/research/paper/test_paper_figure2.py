from __future__ import annotations

import pytest

import bascule as bs
from bascule.research.paper.figures.figure2 import RULE, draw, moments, table
from bascule.research.paper.iid import MEANS, design

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_decision_intervals_overlap_before_and_part_at_the_decision(seed: int) -> None:
    before, after = moments(seed)
    for moment, parted in ((before, False), (after, True)):
        worse, better = sorted(moment.intervals, key=lambda each: each.mean)
        assert (better.low > worse.high) is parted
        widest = max(each.radius for each in moment.intervals)
        assert abs(moment.indices[0] - moment.indices[1]) < widest


def test_the_moments_are_a_third_of_the_run_and_its_end() -> None:
    before, after = moments(0)
    whole = bs.simulate(design(RULE, 12), MEANS, runs=1, seed=0)
    assert after.statistics.units == whole.decision_time[0]
    assert before.statistics.units == whole.decision_time[0] // 3


def test_the_table_holds_what_is_drawn() -> None:
    seen = moments(0)
    rows = table(seen)
    assert [(row["moment"], row["arm"]) for row in rows] == [
        ("before", "A"),
        ("before", "B"),
        ("decision", "A"),
        ("decision", "B"),
    ]
    for row, interval in zip(rows, [*seen[0].intervals, *seen[1].intervals], strict=True):
        assert row["mean"] == interval.mean
        assert row["radius"] == interval.radius
        assert row["alpha"] == RULE.alpha
    for first in (0, 2):
        assert (
            int(rows[first]["units"]) + int(rows[first + 1]["units"]) == rows[first]["units_total"]
        )


def test_both_panels_share_their_scale() -> None:
    left, right = draw(moments(0)).axes
    assert left.get_ylim() == right.get_ylim()
    assert len(right.child_axes) == 1
