"""Several metrics and many tests: e-values at the end of a log, and which differences stand."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.evidence.pairs import bounded_days, estimated_days
from bascule.analysis.evidence.several import from_p_value, standing
from bascule.analysis.reduce.blocks import days_between
from bascule.analysis.reduce.sums import Sums

pd = pytest.importorskip("pandas")

DAYS = days_between(date(2026, 3, 2), date(2026, 3, 15))


def equal_arms(rng: np.random.Generator, rate: float = 0.2) -> Sums:
    """Two equal arms with 0/1 outcomes, 60 units of each a day."""
    units = np.full((len(DAYS), 2), 60.0)
    totals = rng.binomial(60, rate, units.shape).astype(float)
    ones = np.ones(units.shape)
    return Sums(DAYS, units, totals, totals, 0.0 * ones, ones, cubes=totals)


def test_the_evidence_at_the_end_is_an_e_value() -> None:
    rng, logs = np.random.default_rng(1), 500
    ends, estimated = np.empty(logs), np.empty(logs)
    for log in range(logs):
        sums = equal_arms(rng)
        *_, (pair,) = bounded_days(sums, bs.Bernoulli())
        ends[log] = np.exp(pair.log_e_value)
        *_, (pair,) = estimated_days(sums)
        estimated[log] = np.exp(pair.log_e_value)
    for values in (ends, estimated):
        assert values.mean() <= 1.0 + 3.0 * values.std() / np.sqrt(logs)


@pytest.mark.slow
def test_e_bh_holds_the_share_of_false_ones() -> None:
    """Twenty tests, five of them with a difference; the equal ones share their days."""
    rng, runs, shares = np.random.default_rng(2), 150, []
    for _ in range(runs):
        null = equal_arms(rng)
        values = []
        for test in range(20):
            sums = equal_arms(rng) if test % 3 else null
            if test < 5:
                totals = sums.totals + np.array([0.0, 1.0]) * rng.binomial(60, 0.25, (14, 1))
                sums = Sums(DAYS, sums.units, totals, totals, sums.lows, sums.highs, cubes=totals)
            *_, (pair,) = bounded_days(sums, bs.Bernoulli())
            values.append(float(np.exp(pair.log_e_value)))
        stand = standing(values)
        assert all(stand[:5])
        shares.append(sum(stand[5:]) / max(sum(stand), 1))
    assert np.mean(shares) <= 0.05 + 3.0 * np.std(shares) / np.sqrt(runs)


def test_calibrated_p_values_have_a_mean_of_one() -> None:
    p_values = (np.arange(10_000) + 0.5) / 10_000
    assert np.mean([np.exp(from_p_value(p)) for p in p_values]) == pytest.approx(1.0, abs=0.01)


def test_scores_say_which_metrics_stand() -> None:
    rng, n = np.random.default_rng(3), 6000
    arm = rng.integers(2, size=n)
    log = pd.DataFrame(
        {
            "user_id": np.arange(n),
            "variant": np.take(["a", "b"], arm),
            "day": np.arange(n) % 10,
            "bought": (rng.random(n) < 0.2 + 0.12 * arm).astype(int),
            "shared": (rng.random(n) < 0.2).astype(int),
        }
    )
    found = bs.analyze(log, ["bought", "shared"])
    assert [score.stands for score in found.scores] == [True, False]
    assert found.scores[0].e_value is not None
    assert found.scores[0].e_value > 40.0
    assert "at most 5 % are false in expectation" in str(found)
    many = pd.concat([log.assign(test=name) for name in ("x", "y")])
    rows = bs.analyze_each(many, "shared", test="test").rows
    assert [row.stands for row in rows] == [False, False]
    assert all(row.savings is not None for row in rows)
