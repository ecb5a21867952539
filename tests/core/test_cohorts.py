"""Statistics of units that merge, and the three estimators that are made of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bascule as bs
from bascule.core.procedures.recurrent import (
    mean_of_means,
    outcome_weight,
    precision_mean,
    precision_weight,
    total_mean,
    weighted,
)

UNITS = st.lists(st.tuples(st.integers(1, 20), st.floats(-50, 50)), min_size=1, max_size=30)
SPREADS = st.tuples(st.floats(0.01, 10), st.floats(0.01, 10))


@given(UNITS, st.integers(0, 30))
def test_halves_of_the_units_add_up_to_the_whole(units: list[tuple[int, float]], cut: int) -> None:
    whole = bs.progress.ArmCohorts.of(units)
    sum_of_halves = bs.progress.ArmCohorts.of(units[:cut]) + bs.progress.ArmCohorts.of(units[cut:])
    assert [(c.outcomes, c.units) for c in sum_of_halves.cohorts] == [
        (c.outcomes, c.units) for c in whole.cohorts
    ]
    for mine, theirs in zip(sum_of_halves.cohorts, whole.cohorts, strict=True):
        assert mine.total == pytest.approx(theirs.total, abs=1e-9)
    assert whole.units == len(units)
    assert whole.outcomes == sum(outcomes for outcomes, _ in units)


@given(UNITS, SPREADS)
def test_cohorts_say_as_much_as_the_units_themselves(
    units: list[tuple[int, float]], spreads: tuple[float, float]
) -> None:
    arm = bs.progress.ArmCohorts.of(units)
    outcomes = np.array([count for count, _ in units], float)
    totals = np.array([total for _, total in units])
    assert mean_of_means(arm) == pytest.approx(np.mean(totals / outcomes), abs=1e-9)
    assert total_mean(arm) == pytest.approx(totals.sum() / outcomes.sum(), abs=1e-9)
    precisions = 1 / (spreads[0] ** 2 + spreads[1] ** 2 / outcomes)
    expected = (precisions * totals / outcomes).sum() / precisions.sum()
    assert precision_mean(arm, *spreads) == pytest.approx(expected, abs=1e-9)


@given(UNITS)
def test_the_precision_mean_bridges_the_other_two(units: list[tuple[int, float]]) -> None:
    arm = bs.progress.ArmCohorts.of(units)
    assert precision_mean(arm, 1.0, 0.0) == pytest.approx(mean_of_means(arm), abs=1e-9)
    assert precision_mean(arm, 0.0, 1.0) == pytest.approx(total_mean(arm), abs=1e-9)


@given(st.integers(1, 1000), SPREADS, st.sampled_from([0.5, 4.0, 1024.0]))
def test_a_clock_has_no_unit(outcomes: int, spreads: tuple[float, float], scale: float) -> None:
    weight = precision_weight(outcomes, *spreads)
    assert weight == pytest.approx(precision_weight(outcomes, *(scale * s for s in spreads)))
    variance = spreads[0] ** 2 + spreads[1] ** 2 / outcomes
    assert weight == pytest.approx(max(spreads) ** 2 / variance)


def test_the_total_mean_forgets_all_but_the_oldest_units() -> None:
    """Units that arrive ever more rarely: however many, as good as three."""
    ages = [2**k for k in range(20)]
    weights = np.array([outcome_weight(age, 1.0, 1.0) for age in ages])
    assert weights.sum() ** 2 / (weights**2).sum() == pytest.approx(3, rel=1e-5)


def test_the_sums_of_an_arm() -> None:
    arm = bs.progress.ArmCohorts.of([(1, 3.0), (4, 8.0), (4, 4.0)])
    total, clock = weighted(arm, precision_weight, 1.0, 1.0)
    assert (total, clock) == pytest.approx((0.5 * 3 + 0.8 * 3, 0.5 + 2 * 0.8))


def test_statistics_merge_arm_by_arm() -> None:
    one = bs.progress.CohortStatistics(
        (bs.progress.ArmCohorts.of([(2, 1.0)]), bs.progress.ArmCohorts()),
        stage=2,
        dropped=frozenset({1}),
    )
    two = bs.progress.CohortStatistics(
        (bs.progress.ArmCohorts.of([(2, 2.0)]), bs.progress.ArmCohorts.of([(1, 5.0)])), 2
    )
    both = one + two
    assert both.arms[0].cohorts == (bs.progress.Cohort(2, 2, 3.0),)
    assert both.units == 3
    assert both.dropped == {1}
    with pytest.raises(bs.InputError, match="same stage"):
        one + replace(two, stage=3)


def test_what_is_no_cohort_is_refused() -> None:
    with pytest.raises(bs.InputError, match="outcomes must be at least 1"):
        bs.progress.Cohort(0, 1, 0.0)
    with pytest.raises(bs.InputError, match="units must be at least 1"):
        bs.progress.Cohort(1, 0, 0.0)
    with pytest.raises(bs.InputError, match="total must be"):
        bs.progress.Cohort(1, 1, math.nan)
    with pytest.raises(bs.InputError, match="the same number of outcomes"):
        bs.progress.Cohort(1, 1, 0.0) + bs.progress.Cohort(2, 1, 0.0)


def test_an_arm_without_units_has_mean_0() -> None:
    nobody = bs.progress.ArmCohorts()
    assert mean_of_means(nobody) == total_mean(nobody) == 0
    assert precision_mean(nobody, 1.0, 1.0) == 0
