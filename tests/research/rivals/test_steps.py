"""What rivals compute at a look, in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bascule.core.types import NOBODY, FloatArray
from bascule.research.rivals import steps

pytestmark = pytest.mark.slow


def sums_of(*arms: tuple[float, float, float]) -> FloatArray:
    """Sums for arms with these units, means and variances, assigned evenly."""
    units, means, variances = (np.array(column) for column in zip(*arms, strict=True))
    squares = (units - 1) * variances + units * means**2
    weight = len(arms)
    return np.concatenate(
        [units, units * means, squares, weight * units * means, weight**2 * squares]
    )


def shares(kind: int, sums: FloatArray, arms: int, knob: float = 0.0) -> FloatArray:
    found = np.empty(arms)
    steps.write_shares(kind, sums, arms, knob, 0.0, found)
    return found


def test_units_are_shared_evenly_at_first() -> None:
    sums = sums_of((steps.FIRST - 1, 5.0, 1.0), (50, 0.0, 1.0))
    for kind in range(5):
        assert shares(kind, sums, 2, 0.01).tolist() == [0.5, 0.5]


def test_two_arms_are_tracked_by_their_spread() -> None:
    found = shares(steps.TRACK, sums_of((100, 0.0, 4.0), (100, 0.5, 1.0)), 2)
    assert found == pytest.approx([2 / 3, 1 / 3], rel=1e-6)


def test_equal_rivals_are_tracked_with_the_known_optimum() -> None:
    sums = sums_of((100, 1.0, 1.0), (100, 0.0, 1.0), (100, 0.0, 1.0), (100, 0.0, 1.0))
    found = shares(steps.TRACK, sums, 4)
    # With K - 1 equal rivals the leader gets sqrt(K - 1) times as much as each of them.
    assert found[0] / found[1] == pytest.approx(math.sqrt(3), rel=1e-6)


@pytest.mark.parametrize("arms", [2, 3, 5])
def test_chances_to_win_add_up_to_one(arms: int) -> None:
    sums = sums_of(*((40 + 10 * arm, 0.1 * arm, 1.0 + arm) for arm in range(arms)))
    chances = [steps.chance_to_win(sums, arms, arm, 0.0) for arm in range(arms)]
    assert sum(chances) == pytest.approx(1.0, abs=1e-3)
    assert chances == sorted(chances)


def test_thompson_sampling_keeps_its_floor() -> None:
    found = shares(steps.THOMPSON, sums_of((100, 0.0, 1.0), (100, 2.0, 1.0)), 2, 0.01)
    assert found == pytest.approx([0.01, 0.99])


def test_top_two_gives_the_leader_its_part() -> None:
    found = shares(steps.TOP_TWO, sums_of((100, 0.0, 1.0), (100, 2.0, 1.0)), 2, 0.8)
    assert found == pytest.approx([0.2, 0.8], abs=1e-6)


def test_track_and_stop_ends_at_its_threshold() -> None:
    # 400 units: log((1 + log 400) / 0.05) = 4.942, which a gap g passes at 200 g^2 / 4.
    level = math.log((1 + math.log(400)) / 0.05)
    gap = math.sqrt(4 * level / 200)
    for factor, winner in ((0.99, NOBODY), (1.01, 1)):
        sums = sums_of((200, 0.0, 1.0), (200, factor * gap, 1.0))
        assert steps.winner_of(steps.TRACK, sums, 2, 0.05, 0.0) == winner


def test_weighted_interval_covers_a_small_difference_only() -> None:
    near, far = (
        sums_of((500, 0.0, 1.0), (500, 0.05, 1.0)),
        sums_of((500, 0.0, 1.0), (500, 1.0, 1.0)),
    )
    assert steps.winner_of(steps.MIXTURE, near, 2, 0.05, 0.0) == NOBODY
    assert steps.winner_of(steps.MIXTURE, far, 2, 0.05, 0.0) == 1


def test_top_two_is_what_two_draws_give() -> None:
    chances = np.array([0.5, 0.3, 0.2])
    found = chances.copy()
    steps.top_two(found, 3, 0.6)
    drawn = [
        sum(chances[i] * chances[j] / (1 - chances[i]) for i in range(3) if i != j)
        for j in range(3)
    ]
    assert found == pytest.approx(0.6 * chances + 0.4 * np.array(drawn))
