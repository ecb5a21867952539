"""The computed passage against the laws that are known in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bascule.core.types import FloatArray
from bascule.theory.prediction.passage import ALMOST_SURE, GRID, Flat, Passage, first_passage


def normal_cdf(x: FloatArray) -> FloatArray:
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in x])


def mean_clock(passage: Passage) -> float:
    return float(passage.middles @ passage.leaving / passage.leaving.sum())


def still_inside(passage: Passage) -> FloatArray:
    return 1.0 - np.cumsum(passage.leaving)


@pytest.mark.parametrize(("drift", "height"), [(0.1, 50.0), (0.02, 200.0), (1.0, 8.0)])
def test_a_walk_up_to_a_line_takes_an_inverse_gaussian_time(drift: float, height: float) -> None:
    passage = first_passage(drift, Flat(height), 0.01 / drift**2, 0.0)
    root = np.sqrt(passage.clocks)
    # The lower side is far away; it is reached by as many as a line there would be.
    inside = normal_cdf((height - drift * passage.clocks) / root) - math.exp(
        2 * drift * height
    ) * normal_cdf((-height - drift * passage.clocks) / root)
    assert passage.below.sum() == pytest.approx(math.exp(-2 * drift * height), rel=0.02)
    assert np.abs(still_inside(passage) - inside).max() < 0.006
    assert mean_clock(passage) == pytest.approx(height / drift, rel=0.006)


@pytest.mark.parametrize("slope", [-0.02, 0.02, 0.05])
def test_a_line_that_moves_away_is_reached_when_the_walk_has_caught_up(slope: float) -> None:
    passage = first_passage(0.1, lambda clocks: 60.0 + slope * clocks, 1.0, 0.0)
    assert mean_clock(passage) == pytest.approx(60.0 / (0.1 - slope), rel=0.006)


@pytest.mark.parametrize("height", [5.0, 10.0, 20.0])
def test_between_two_lines_the_wrong_one_is_reached_with_its_known_probability(
    height: float,
) -> None:
    passage = first_passage(0.1, Flat(height), 0.1, 0.0)
    wrong = 1 / (1 + math.exp(2 * 0.1 * height))
    assert passage.below.sum() == pytest.approx(wrong, rel=0.02, abs=1e-4)
    assert mean_clock(passage) == pytest.approx(height * (1 - 2 * wrong) / 0.1, rel=0.015)


@pytest.mark.parametrize("look", [0.0, 1.0, 30.0])
def test_nothing_gets_lost(look: float) -> None:
    passage = first_passage(0.05, lambda clocks: 3 * np.sqrt(clocks + 10), 1.0, look)
    assert 1 - ALMOST_SURE <= passage.leaving.sum() <= 1 + 1e-9
    assert passage.is_sure
    assert (passage.above >= 0).all()
    assert (passage.below >= 0).all()


def test_a_walk_that_is_seen_now_and_then_leaves_as_late_as_in_simulation() -> None:
    drift, height, look, runs = 0.3, 12.0, 2.0, 20_000
    steps = np.random.default_rng(1).normal(drift * look, math.sqrt(look), (runs, 200))
    seen = np.abs(np.cumsum(steps, axis=1)) >= height
    clocks = look * (1 + np.argmax(seen, axis=1))
    assert seen.any(axis=1).all()
    passage = first_passage(drift, Flat(height), look, look)
    # Half a look lies beyond the clock at which the survivors are counted.
    found = mean_clock(passage) + look / 2
    error = float(clocks.std()) / math.sqrt(runs)
    assert found == pytest.approx(float(clocks.mean()), abs=3 * error + 0.005 * found)
    assert found > height / drift + 0.5 * math.sqrt(look) / drift


def test_wider_slower_and_seldom_seen_walks_stay_longer() -> None:
    base = mean_clock(first_passage(0.1, Flat(20.0), 1.0, 1.0))
    assert mean_clock(first_passage(0.1, Flat(22.0), 1.0, 1.0)) > base
    assert mean_clock(first_passage(0.09, Flat(20.0), 1.0, 1.0)) > base
    assert mean_clock(first_passage(0.1, Flat(20.0), 1.0, 4.0)) > base


def test_only_the_drift_per_root_of_the_clock_matters() -> None:
    one = first_passage(0.1, lambda clocks: 10 + np.sqrt(clocks), 1.0, 1.0)
    other = first_passage(0.01, lambda clocks: 100 + np.sqrt(clocks), 100.0, 100.0)
    assert other.clocks == pytest.approx(100 * one.clocks)
    assert other.leaving == pytest.approx(one.leaving, abs=1e-12)


def test_without_a_drift_both_sides_are_alike() -> None:
    passage = first_passage(0.0, lambda clocks: 2 * np.sqrt(clocks + 4), 1.0, 1.0)
    assert passage.above.sum() == pytest.approx(passage.below.sum(), rel=0.01)


def test_nothing_leaves_while_nothing_can() -> None:
    passage = first_passage(1.0, lambda clocks: np.where(clocks < 50, math.inf, 5.0), 1.0, 1.0)
    assert passage.leaving[passage.clocks < 50].sum() == 0
    assert passage.leaving[np.argmax(passage.clocks >= 50)] > 0.9


def test_a_corridor_that_widens_too_fast_keeps_the_walk() -> None:
    assert not first_passage(0.1, lambda clocks: 10 + 0.2 * clocks, 1.0, 1.0).is_sure


def test_what_is_spent_by_the_clock_is_the_clock() -> None:
    passage = first_passage(
        0.1, Flat(20.0), 2.0, 1.0, lambda clocks: np.ones((len(clocks), 2, len(GRID)))
    )
    spent = passage.spent[:, 0]
    assert spent == pytest.approx((passage.middles - 2.0) * passage.leaving, abs=1e-9)
    assert passage.spent[:, 1] == pytest.approx(spent)


def test_what_is_spent_depends_on_where_the_walk_has_been() -> None:
    def above(clocks: FloatArray) -> FloatArray:
        return (GRID + 0.1 * np.sqrt(clocks)[:, None] > 0).astype(np.float64)[:, None]

    passage = first_passage(0.1, Flat(20.0), 0.01, 0.0, above)
    alone = first_passage(0.1, Flat(20.0), 0.01, 0.0)
    share = passage.spent[:, 0].sum() / mean_clock(alone)
    # A walk with this drift is above 0 most of the time, the early leavers more than the others.
    assert 0.7 < share < 1.0
    by_step = passage.spent[:, 0] / np.maximum(passage.leaving * passage.middles, 1e-300)
    typical = passage.leaving > 0.005
    assert by_step[typical][0] > by_step[typical][-1]
