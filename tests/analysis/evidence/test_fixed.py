"""One look: the numbers of other tools, and the label that goes with them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.evidence.fixed import Mean, one_look
from bascule.core.diagnostics.result import student_quantile, student_tail


@pytest.fixture(scope="module")
def spend() -> Any:
    import pandas as pd

    rng = np.random.default_rng(8)
    arm = rng.integers(3, size=900)
    return pd.DataFrame(
        {
            "unit": np.arange(900),
            "arm": np.array(["a", "b", "c"])[arm],
            "spend": np.round(rng.exponential(2.0 + 0.5 * arm), 2),
            "bought": (rng.random(900) < 0.2 + 0.1 * arm).astype(int),
        }
    )


def test_students_t_is_that_of_scipy() -> None:
    from scipy import stats

    for degrees in (1.0, 2.5, 30.0, 101.3, 1e6):
        for value in (-2.0, 0.01, 1.7, 8.0):
            wanted = stats.t.sf(value, degrees)
            assert student_tail(value, degrees) == pytest.approx(wanted, rel=1e-10)
        for tail in (0.2, 0.025, 1e-6):
            wanted = stats.t.isf(tail, degrees)
            assert student_quantile(tail, degrees) == pytest.approx(wanted, rel=1e-10)


def test_means_agree_with_tea_tasting(spend: Any) -> None:
    import tea_tasting as tt

    two = spend[spend.arm != "c"]
    (one,) = bs.analyze(two, "spend", looks=1).once
    mean = tt.Mean("spend", confidence_level=0.95)
    (wanted,) = tt.Experiment({"m": mean}, variant="arm").analyze(two, control="a").values()
    assert one.difference == pytest.approx(wanted.effect_size, rel=1e-9)
    assert one.low == pytest.approx(wanted.effect_size_ci_lower, rel=1e-9)
    assert one.high == pytest.approx(wanted.effect_size_ci_upper, rel=1e-9)
    assert one.lift == pytest.approx(wanted.rel_effect_size, rel=1e-9)
    assert one.lift_low == pytest.approx(wanted.rel_effect_size_ci_lower, rel=1e-9)
    assert one.lift_high == pytest.approx(wanted.rel_effect_size_ci_upper, rel=1e-9)
    assert one.p_value == pytest.approx(wanted.pvalue, rel=1e-9)


def test_shares_are_compared_by_the_score_test(spend: Any) -> None:
    from scipy.stats import chi2_contingency

    two = spend[spend.arm != "c"]
    (one,) = bs.analyze(two, "bought", looks=1).once
    table = two.groupby(["arm", "bought"]).size().unstack().to_numpy()
    assert one.p_value == pytest.approx(chi2_contingency(table, correction=False).pvalue, rel=1e-9)
    assert one.test == "the score test"
    # The ends are the differences that the test at 5 % just does not refute, checked by hand.
    n, x = table.sum(axis=1), table[:, 1]
    for end in (one.low, one.high):
        shares = np.linspace(max(0.0, -end), min(1.0, 1.0 - end), 200_001)[1:-1]
        fit = x[0] * np.log(shares) + (n[0] - x[0]) * np.log1p(-shares)
        fit += x[1] * np.log(shares + end) + (n[1] - x[1]) * np.log1p(-shares - end)
        p = shares[fit.argmax()]
        variance = p * (1 - p) / n[0] + (p + end) * (1 - p - end) / n[1]
        assert abs(one.difference - end) / math.sqrt(variance) == pytest.approx(1.959964, abs=1e-3)


def test_one_look_is_narrower_and_labelled(spend: Any) -> None:
    once, always = bs.analyze(spend, "spend", looks=1), bs.analyze(spend, "spend")
    assert always.once == once.once
    assert once.guarantee == "asymptotic"
    assert (
        once.headline
        == "c is the best arm by one look (Welch's t-test, error 2.5 %); valid for one look only"
    )
    for narrow, wide in zip(once.effects, always.effects, strict=True):
        assert 1.3 < (wide.high - wide.low) / (narrow.high - narrow.low) < 2.3
    assert once.effects[0].error == pytest.approx(0.0125)
    assert "If this is the only look" in str(always)
    assert "however often" not in once.html()
    with pytest.raises(bs.InputError, match="looks must be 1"):
        bs.analyze(spend, "spend", looks=2)  # type: ignore[arg-type]


def test_an_adaptive_log_has_no_fixed_sample(spend: Any) -> None:
    with pytest.raises(bs.InputError, match="split without regard to outcomes"):
        bs.analyze(
            spend[spend.arm != "c"].assign(p=0.5),
            bs.LogMetric("spend", outcome=bs.Bounded(0, 500)),
            looks=1,
            assigned=bs.Assigned(probability="p"),
        )


def test_there_is_no_lift_where_a_mean_may_be_zero() -> None:
    near, far = Mean(200, 0.4, 64.0), Mean(200, 2.2, 64.0)
    (one,) = one_look(["a", "b"], [near, far], 0.025, binary=False)
    assert np.isnan([one.lift, one.lift_low, one.lift_high]).all()
    (one,) = one_look(["a", "b"], [far, Mean(200, 2.0, 1.0)], 0.025, binary=False)
    assert one.lift_low < one.lift < one.lift_high


def test_a_lift_shows_both_ends_or_none() -> None:
    value = [9 * (i % 20 in (0, 1)) for i in range(60)]
    log = {"unit": range(60), "arm": ["a", "b"] * 30, "value": value}
    found = bs.analyze(log)
    (contrast,) = found.contrasts
    assert np.isinf([contrast.lift_low, contrast.lift_high]).all()
    assert "\u2212100 %" not in str(found)
    twice = bs.analyze(log, ["value", bs.LogMetric("value", aggregate="any")], looks=1)
    assert "at one look" in str(twice)
    assert "at any time" not in str(twice)
