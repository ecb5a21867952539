"""What may be wrong with a log is flagged, and what is right is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest
from bench.peeking import two_arm_scores

from bascule.analysis.allocation import logged_ratio, sample_ratio
from bascule.analysis.checks import (
    covariate_balance,
    drift,
    extremes,
    gaps,
    late_events,
    missing_outcomes,
)
from bascule.analysis.evidence.course import DecisionTerms
from bascule.analysis.reduce.blocks import days_between
from bascule.analysis.reduce.moments import PLACE
from bascule.analysis.reduce.sums import ReducedTable, Sums
from bascule.analysis.request import Valueless
from bascule.analysis.result import Check

DAYS = days_between(date(2026, 1, 1), date(2026, 1, 1) + timedelta(days=13))
ARMS = ("old", "new")


def even(means: np.ndarray) -> Sums:
    """Two weeks with 500 units an arm and day, of which a share `means` converts."""
    units = np.full((14, 2), 500.0)
    hits = np.round(units * means[:, None])
    return Sums(DAYS, units, hits, hits, 0 * units, 0 * units + 1)


def test_squares_that_rounding_made_too_small_do_not_stop_an_analysis() -> None:
    """A day on which nobody of a small arm buys has -3e-14 where outcomes are differences."""
    sums = even(np.full(14, 0.3))
    squares = sums.squares.copy()
    totals = sums.totals.copy()
    totals[6, 0], squares[6, 0] = 0.0, -2.8e-14
    assert len(drift(replace(sums, totals=totals, squares=squares), ARMS, 14)) == 1


def ratio(counts: list[int], weights: list[int] | None) -> Check:
    """The check of units per arm, against weights that did not change."""
    return sample_ratio(ARMS, np.array([counts], float), None if weights is None else [weights])


def test_a_split_is_compared_with_the_weights() -> None:
    assert not ratio([9000, 1000], [9, 1]).flagged
    assert ratio([9000, 1150], [9, 1]).flagged
    lost = ratio([5000, 4600], None)
    assert lost.flagged
    assert lost.message.startswith("arm old has 5,000 units where its weight makes 4,800")


def test_without_weights_a_simple_split_is_assumed_and_said() -> None:
    simple = ratio([9010, 990], None)
    assert simple.made
    assert not simple.flagged
    assert "90:10 was assumed" in simple.message
    assert ratio([180_000, 20_800], None).flagged
    for counts in ([7000, 3000], [1000, 1000, 8000]):
        unknown = ratio(counts, None)
        assert (unknown.made, unknown.flagged) == (False, False)
        assert "give weights" in unknown.message
        assert str(unknown).startswith("? ")


def test_a_fair_coin_is_hardly_ever_flagged_on_any_of_200_days() -> None:
    rng = np.random.default_rng(1)
    tests, flagged = 100, 0
    for _ in range(tests):
        first = np.cumsum(rng.binomial(100, 0.5, 200))[::4]
        sizes = 100 * np.arange(1, 201)[::4]
        flagged += any(
            ratio([int(n), int(size - n)], [1, 1]).flagged
            for n, size in zip(first, sizes, strict=True)
        )
    # 1 % at all looks together, and three standard errors.
    assert flagged <= tests * 0.01 + 3 * (tests * 0.01) ** 0.5


@pytest.mark.parametrize("check", ["trend", "missing", "logged probabilities"])
def test_what_raises_an_alarm_holds_at_all_days_together(check: str) -> None:
    rng = np.random.default_rng(2)
    tests, days, size = 60, 20, 200
    flagged = 0
    for _ in range(tests):
        units = rng.multinomial(size, [0.5, 0.5], days).astype(float)
        hits = rng.binomial(units.astype(int), 0.3).astype(float)
        seen = Sums(
            days_between(DAYS[0], DAYS[0] + timedelta(days=days - 1)),
            units,
            hits,
            hits,
            0 * units,
            0 * units + 1,
        )
        for day in range(1, days + 1):
            if check == "trend":
                made = drift(seen, ARMS, day)
            elif check == "missing":
                so_far = zip(units[:day].sum(axis=0), hits[:day].sum(axis=0), strict=True)
                counts = {i: Valueless(int(n), int(k)) for i, (n, k) in enumerate(so_far)}
                made = missing_outcomes(ARMS, counts, day)
            else:
                chances = np.full((day, 2), 0.5)
                made = [logged_ratio(ARMS, two_arm_scores(units[:day], hits[:day], chances))]
            if any(one.flagged for one in made):
                flagged += 1
                break
    # 1 % at all days together, and three standard errors.
    assert flagged <= tests * 0.01 + 3 * (tests * 0.01) ** 0.5


def test_units_are_compared_with_their_logged_probabilities() -> None:
    chances = np.full((14, 2), [0.2, 0.8])
    units = np.full((14, 2), [200.0, 800.0])
    assert not logged_ratio(ARMS, two_arm_scores(units, 0 * units, chances)).flagged
    units[:, 1] = 700.0
    found = logged_ratio(ARMS, two_arm_scores(units, 0 * units, chances))
    assert found.flagged
    assert "do not agree with the logged probabilities" in found.message


def _missing(first: int, second: int, units: int) -> dict[int, Valueless]:
    return {0: Valueless(units, first), 1: Valueless(units, second)}


def test_values_that_are_missing_in_one_arm_more_often_are_flagged() -> None:
    assert missing_outcomes(ARMS, _missing(0, 0, 1000), days=7) == []
    (alike,) = missing_outcomes(ARMS, _missing(50, 52, 1000), days=7)
    assert not alike.flagged
    assert "102 units have no value (old 5 %, new 5.2 %" in alike.message
    (unlike,) = missing_outcomes(ARMS, _missing(50, 100, 1000), days=7)
    assert unlike.flagged
    (all_missing,) = missing_outcomes(ARMS, _missing(10, 10, 10), days=7)
    assert not all_missing.flagged


def test_what_could_not_be_compared_is_not_a_check_passed() -> None:
    units = np.full((14, 2), 1.0)
    few = Sums(DAYS, units, 0 * units, 0 * units, 0 * units, 0 * units)
    assert [check.made for check in drift(few, ARMS, 14)] == [False]


def test_a_trend_of_the_outcomes_is_seen() -> None:
    rising, level = np.linspace(0.1, 0.2, 14), np.full(14, 0.1)
    assert [check.flagged for check in drift(even(rising), ARMS, 14)] == [True]
    assert not any(check.flagged for check in drift(even(level), ARMS, 14))


def test_days_without_anybody_are_gaps() -> None:
    whole = even(np.full(14, 0.1))
    assert not gaps(whole, "dates").flagged
    assert not gaps(whole, "none").made
    for rows, columns, words in (
        (5, slice(None), "nobody arrived on 2026-01-06"),
        (5, 0, "an arm got nobody on 2026-01-06"),
    ):
        units = whole.units.copy()
        units[rows, columns] = 0.0
        found = gaps(replace(whole, units=units), "dates")
        assert found.flagged
        assert words in found.message
    units = whole.units.copy()
    units[5] = 20.0
    assert "hardly anybody" in gaps(replace(whole, units=units), "dates").message


def test_one_outcome_that_carries_a_difference_is_extreme() -> None:
    sums = even(np.full(14, 0.1))
    effects = DecisionTerms(ARMS, 0.05, "proven").effects_with([(0.0, -0.01, 0.01)])
    assert not extremes(sums, ARMS, effects).flagged
    highs = sums.highs.copy()
    highs[3, 1] = 1e4
    found = extremes(replace(sums, highs=highs), ARMS, effects)
    assert found.flagged
    assert "one unit of new has an outcome of 1e+04" in found.message


def test_much_that_comes_after_the_windows_is_told() -> None:
    table = ReducedTable({}, {}, 100, late=10)
    assert late_events(replace(table, events=20)).flagged
    assert not late_events(replace(table, events=20_000)).flagged


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_covariates_of_rare_buyers_are_rarely_found_unlike(share: float) -> None:
    """With each arm's own variance, one in nine would be flagged where a tenth is treated."""
    rng, flagged, runs, units = np.random.default_rng(0), 0, 400, 400
    none = np.zeros((1, 2))
    for _ in range(runs):
        treated = rng.random(units) < share
        bought = (rng.random(units) < 0.05) * rng.lognormal(3.0, 1.0, units)
        moments = np.zeros((1, 2, len(PLACE)))
        for arm, rows in enumerate((~treated, treated)):
            for degree in range(3):
                moments[0, arm, PLACE[0, 0, degree]] = (bought[rows] ** degree).sum()
        sums = Sums((date(2026, 3, 1),), none, none, none, none, none, moments=moments)
        flagged += covariate_balance(["a", "b"], sums, "bought").flagged
    assert flagged <= 0.01 * runs + 3 * np.sqrt(0.01 * 0.99 * runs)
