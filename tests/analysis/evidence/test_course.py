"""Decisions day by day: what stands behind them, and that they stand."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from bench.peeking import two_arm_scores

import bascule as bs
from bascule.analysis.evidence.course import DecisionTerms, Judge, course_of
from bascule.analysis.evidence.pairs import (
    bounded_days,
    estimated_days,
    normal_days,
    scored_days,
)
from bascule.analysis.reduce.blocks import days_between
from bascule.analysis.reduce.sums import Sums

DAYS = days_between(date(2026, 1, 1), date(2026, 1, 1) + timedelta(days=29))


def coins(rates: list[float], each: int, seed: int, days: int = 30) -> Sums:
    """Days of 0/1 outcomes, with `each` units in every arm."""
    rng = np.random.default_rng(seed)
    units = np.full((days, len(rates)), float(each))
    hits = rng.binomial(each, rates, (days, len(rates))).astype(float)
    return Sums(DAYS[:days], units, hits, hits, 0 * units, 0 * units + 1, cubes=hits)


def log(rates: list[float], each: int, seed: int, days: int = 30) -> Any:
    """The same as a log."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    arms = np.tile(np.repeat(np.arange(len(rates)), each), days)
    day = np.repeat(np.arange(days), each * len(rates))
    return pd.DataFrame(
        {
            "unit": np.arange(len(arms)),
            "arm": np.array(list("abcdef"))[arms],
            "value": (rng.random(len(arms)) < np.array(rates)[arms]).astype(int),
            "time": pd.Timestamp("2026-01-01 09:00") + pd.to_timedelta(day, unit="D"),
        }
    )


def test_a_difference_is_found_and_the_day_of_the_decision_stands() -> None:
    found = bs.analyze(log([0.1, 0.15], 200, seed=1), assigned=bs.Assigned(weights=[1, 1]))
    assert found.decision is not None
    assert (found.decision.name, found.guarantee) == ("b", "proven")
    days = [day.decision for day in found.days]
    first = days.index("b")
    assert days == [None] * first + ["b"] * (30 - first)
    assert found.decided == found.days[first].date
    assert found.days[first].effects[0].low >= 0.0 > found.days[first - 1].effects[0].low
    means = [arm.mean or 0.0 for arm in found.arms]
    assert found.cost == pytest.approx(6000 * (means[1] - means[0]))
    assert found.saved == pytest.approx((29 - first) * 200 * (means[1] - means[0]))
    assert not found.flagged


def test_the_expected_days_left_are_those_of_a_test_that_goes_on_alike() -> None:
    # Every day is like the first, so what is expected can be counted.
    units, hits = np.full((30, 2), 300.0), np.tile([30.0, 39.0], (30, 1))
    sums = Sums(DAYS, units, hits, hits, 0 * units, 0 * units + 1)
    terms = DecisionTerms(("a", "b"), 0.05, "proven")
    whole = course_of(terms, sums, bounded_days(sums, bs.Bernoulli()), DAYS)
    assert whole.decided is not None
    needed = (date.fromisoformat(whole.decided) - DAYS[0]).days + 1
    cut = Sums(DAYS[:5], units[:5], hits[:5], hits[:5], 0 * units[:5], 0 * units[:5] + 1)
    early = course_of(terms, cut, bounded_days(cut, bs.Bernoulli()), DAYS[:5])
    assert early.times is not None
    assert 5 * early.times == pytest.approx(needed, rel=0.1)


def test_without_a_difference_there_are_few_decisions() -> None:
    terms = DecisionTerms(("a", "b"), 0.05, "proven")
    wrong = 0
    for seed in range(100):
        sums = coins([0.1, 0.1], 200, seed)
        wrong += (
            course_of(terms, sums, bounded_days(sums, bs.Bernoulli()), DAYS).decision is not None
        )
    # Each of two arms may win with probability 0.05; three standard errors more.
    assert wrong <= 100 * 0.10 + 3 * 3


def test_three_arms_are_dropped_one_after_the_other() -> None:
    found = bs.analyze(log([0.1, 0.4, 0.3], 100, seed=2))
    assert found.decision is not None
    assert found.decision.name == "b"
    assert len(found.effects) == 3
    assert found.effects[0].error == pytest.approx(0.0125)


def test_an_arm_that_was_beaten_beats_nobody_any_more() -> None:
    terms = DecisionTerms(("a", "b", "c"), 0.05, "proven")
    judge = Judge(terms)
    open_end, above, below = (0.0, -1.0, 1.0), (1.0, 0.5, 1.5), (-1.0, -1.5, -0.5)
    assert judge.see(terms.effects_with([above, open_end, open_end])) is None
    assert judge.beaten == {"b"}
    assert judge.see(terms.effects_with([open_end, open_end, above])) is None
    decided = judge.see(terms.effects_with([open_end, below, open_end]))
    assert decided is not None
    assert decided.name == "c"
    assert judge.see(terms.effects_with([above, above, open_end])) is decided


def test_no_difference_that_matters_is_a_decision() -> None:
    found = bs.analyze(log([0.2, 0.2], 400, seed=3), bs.LogMetric(min_effect=0.05))
    assert found.decision is not None
    assert found.decision.name == "no difference that matters"
    assert found.saved is None


def test_segments_share_the_error() -> None:
    both = log([0.1, 0.3], 100, seed=5)
    both["country"] = np.where(both.unit % 3 == 0, "fr", "de")
    found = bs.analyze(both, error=0.04, segment="country")
    assert found.decision is None
    assert [part.segment for part in found.segments] == ["de", "fr"]
    for part in found.segments:
        alone = bs.analyze(both[both.country == part.segment], error=0.02)
        assert (part.error, part.effects, part.decision) == (0.01, alone.effects, alone.decision)
    assert found.units == 6000


def test_mixtures_and_bets_agree_where_both_hold() -> None:
    sums = coins([0.5, 0.55], 2000, seed=1)
    *_, (bets,) = bounded_days(sums, bs.Bernoulli())
    *_, (normal,) = normal_days(sums, bs.Gaussian(0.5))
    *_, (estimated,) = estimated_days(sums)
    assert bets.difference == pytest.approx(normal.difference)
    for pair in (bets, estimated):
        assert pair.reach(3.0) == pytest.approx(normal.reach(3.0), rel=0.03)


def test_a_day_with_another_split_and_another_level_does_no_harm() -> None:
    # Everyone converts more on the second day, when most are in b: the raw difference is large.
    units = np.array([[900.0, 100.0], [100.0, 900.0]])
    hits = units * np.array([[0.1], [0.5]])
    sums = Sums(DAYS[:2], units, hits, hits, 0 * units, 0 * units + 1)
    *_, (pair,) = bounded_days(sums, bs.Bernoulli())
    assert pair.difference == pytest.approx(0.0, abs=1e-12)


def test_scores_undo_a_tilt_of_the_allocation() -> None:
    rng = np.random.default_rng(7)
    days, each = 30, 1000
    chance = np.linspace(0.2, 0.8, days)
    units = np.empty((days, 2))
    units[:, 1] = rng.binomial(each, chance)
    units[:, 0] = each - units[:, 1]
    rates = np.column_stack([np.linspace(0.1, 0.3, days), np.linspace(0.15, 0.35, days)])
    hits = rng.binomial(units.astype(int), rates).astype(float)
    p = np.column_stack([1 - chance, chance])
    sums = Sums(
        DAYS,
        units,
        hits,
        hits,
        0 * units,
        0 * units + 1,
        scores=two_arm_scores(units, hits, p),
    )
    *_, (pair,) = scored_days(sums, bs.Bernoulli())
    assert pair.difference == pytest.approx(-0.05, abs=0.01)
    assert pair.difference + pair.reach(3.0) < 0.0


def test_a_rule_that_holds_for_any_split_keeps_its_own_intervals() -> None:
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.UCB(2), error=0.05)
    found = bs.analyze(log([0.1, 0.3], 100, seed=1), design=design)
    arms = tuple(
        bs.progress.ArmStatistics(3000, 3000 * (a.mean or 0), 3000 * (a.mean or 0))
        for a in found.arms
    )
    (wanted,) = bs.progress.effects(design, bs.progress.Statistics(arms))
    assert found.effects[0].low == pytest.approx(wanted.low, rel=1e-9)


def test_the_answer_as_plain_data_and_as_a_frame() -> None:
    found = bs.analyze(log([0.1, 0.3], 50, seed=1))
    data = found.to_dict()
    assert data["decision"]["name"] == "b"
    assert data["design"]["outcome"] == {"kind": "bernoulli"}
    assert len(data["days"]) == 30
    frame = found.to_frame(days=True)
    assert frame.shape == (30, 7)
    assert {"contrast", "effect", "effect_low", "effect_high"} <= set(frame.columns)
    assert "b is the best arm" in str(found)
