"""Ratios, covariates, clusters and rates: the numbers of tea-tasting, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.call import call_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shop() -> Any:
    """One row per unit: sessions, revenue that follows them, and what was spent before."""
    import pandas as pd

    rng = np.random.default_rng(4)
    units = 2400
    arm = rng.integers(2, size=units)
    before = rng.gamma(2.0, 3.0, units)
    sessions = 1 + rng.poisson(2.0, units)
    revenue = sessions * (1.0 + 0.15 * arm + 0.4 * before) + rng.normal(0.0, 1.0, units)
    return pd.DataFrame(
        {
            "user_id": np.arange(units),
            "variant": np.array(["a", "b"])[arm],
            "ts": pd.Timestamp("2026-03-01") + pd.to_timedelta(np.arange(units) % 12, unit="D"),
            "sessions": sessions,
            "revenue": revenue,
            "spend_before": before,
            "shop": np.arange(units) // 20,
        }
    )


METRICS: dict[str, Any] = {
    "ratio": ({"per": "sessions"}, ("RatioOfMeans", ("revenue", "sessions"), {})),
    "cuped": ({"covariate": "spend_before"}, ("Mean", ("revenue", "spend_before"), {})),
    "both": (
        {"per": "sessions", "covariate": "spend_before"},
        ("RatioOfMeans", ("revenue", "sessions"), {"numer_covariate": "spend_before"}),
    ),
}


@pytest.mark.parametrize("name", METRICS)
def test_one_look_agrees_with_tea_tasting(shop: Any, name: str) -> None:
    import tea_tasting as tt

    options, (kind, columns, more) = METRICS[name]
    metric = getattr(tt, kind)(*columns, **more, confidence_level=0.95)
    result = tt.Experiment({"metric": metric}, variant="variant").analyze(shop, control="a")
    wanted = result["metric"]
    (one,) = bs.analyze(**call_of(shop, value="revenue", looks=1, **options)).once
    for mine, theirs in (
        (one.difference, wanted.effect_size),
        (one.low, wanted.effect_size_ci_lower),
        (one.high, wanted.effect_size_ci_upper),
        (one.lift, wanted.rel_effect_size),
        (one.lift_low, wanted.rel_effect_size_ci_lower),
        (one.lift_high, wanted.rel_effect_size_ci_upper),
        (one.p_value, wanted.pvalue),
    ):
        assert mine == pytest.approx(theirs, rel=1e-9)


def test_clusters_are_adjusted_by_the_covariates_of_their_units() -> None:
    """With clusters of one size it is CUPED on their means; sizes that differ change nothing much.

    Adding a number to all covariates changes nothing at all.
    """
    import pandas as pd
    import tea_tasting as tt

    rng = np.random.default_rng(9)
    size = {"even": np.full(60, 8), "uneven": rng.integers(2, 30, 60)}
    for name, sizes in size.items():
        shop = np.repeat(np.arange(60), sizes)
        before = rng.normal(0, 3, 60)[shop] + rng.normal(0, 2, len(shop))
        pupils = pd.DataFrame(
            {
                "pupil_id": np.arange(len(shop)),
                "school": shop,
                "arm": np.array(["a", "b"])[shop % 2],
                "before": before,
                "score": 50 + before + rng.normal(0, 1, 60)[shop] + rng.normal(0, 2, len(shop)),
            }
        )
        asked: dict[str, Any] = {"value": "score", "cluster": "school", "looks": 1}
        (plain,) = bs.analyze(**call_of(pupils, **asked)).once
        (one,) = bs.analyze(**call_of(pupils, covariate="before", **asked)).once
        moved = pupils.assign(before=pupils.before + 100.0)
        (other,) = bs.analyze(**call_of(moved, covariate="before", **asked)).once
        assert other.low == pytest.approx(one.low, rel=1e-6)
        assert one.high - one.low < 0.6 * (plain.high - plain.low)
        if name == "even":
            means = pupils.groupby(["school", "arm"], as_index=False)[["score", "before"]].mean()
            metric = tt.Mean("score", "before", confidence_level=0.95)
            result = tt.Experiment({"metric": metric}, variant="arm").analyze(means, control="a")
            wanted = result["metric"]
            assert one.difference == pytest.approx(wanted.effect_size, rel=1e-9)
            assert one.high == pytest.approx(wanted.effect_size_ci_upper, rel=1e-9)
    pupils.loc[3, "before"] = np.nan
    with pytest.raises(bs.InputError, match="covariate is missing for 1 unit"):
        bs.analyze(**call_of(pupils, covariate="before", **asked))


def width(analysis: bs.analysis.Analysis) -> float:
    return analysis.effects[0].high - analysis.effects[0].low


def test_a_covariate_narrows_what_holds_at_any_time(shop: Any) -> None:
    plain = bs.analyze(shop, "revenue")
    sharper = bs.analyze(shop, "revenue", covariate="spend_before")
    correlation = np.corrcoef(shop.revenue, shop.spend_before)[0, 1]
    assert width(sharper) / width(plain) == pytest.approx(np.sqrt(1 - correlation**2), rel=0.05)
    assert sharper.guarantee == "asymptotic"
    assert len(sharper.days) == 12
    assert sharper.arms[0].mean == pytest.approx(shop[shop.variant == "a"].revenue.mean())
    assert "covariate spend_before" in str(sharper)
    useless = bs.analyze(shop.assign(noise=shop.user_id % 7), "revenue", covariate="noise")
    assert width(useless) == pytest.approx(width(plain), rel=0.01)


def test_lifts_at_any_time_and_at_one_look_are_relative_to_an_adjusted_mean(shop: Any) -> None:
    """The covariate is skewed and the control small, so that adjusting moves its mean.

    At any time the slope is that within arms; at one look it is that of all units, as in other
    tools.
    """
    rng = np.random.default_rng(3)
    before = rng.lognormal(0.0, 2.0, len(shop))
    spent = before * rng.lognormal(0.0, 0.5, len(shop)) + 2.0
    arms = rng.choice(["a", "b", "c"], len(shop), p=[0.1, 0.45, 0.45])
    log = shop.assign(variant=arms, revenue=spent, spend_before=before)
    options: tuple[dict[str, Any], ...] = ({}, {"per": "sessions"})
    for more in options:
        found = bs.analyze(**call_of(log, value="revenue", covariate="spend_before", **more))
        raw = found.arms[0].mean
        assert raw is not None
        looks = [one for one in found.once if one.second == "a"]
        for ever, once in zip(found.contrasts, looks, strict=True):
            assert (ever.treatment, ever.control) == (once.first, once.second)
            assert ever.lift is not None
            at_any_time, at_one_look = ever.difference / ever.lift, once.difference / once.lift
            assert at_one_look != pytest.approx(raw, rel=1e-4)
            assert abs(at_any_time - at_one_look) < 0.01 * abs(at_any_time - raw)
            if not more:
                pair = log[log.variant.isin(["a", ever.treatment])]
                wanted = [_adjusted_control(pair, within=within) for within in (True, False)]
                assert [at_any_time, at_one_look] == pytest.approx(wanted, rel=1e-9)


def _adjusted_control(pair: Any, *, within: bool) -> float:
    """The control's mean revenue at the covariate's mean of both arms of a pair."""
    columns = pair[["spend_before", "revenue"]]
    centres = columns.groupby(pair.variant).transform("mean") if within else columns.mean()
    x, y = (columns - centres).to_numpy().T
    control = columns[pair.variant == "a"].mean()
    beyond = control.spend_before - columns.spend_before.mean()
    return float(control.revenue - (x @ y) / (x @ x) * beyond)


def test_a_covariate_that_the_treatment_has_moved_is_flagged(shop: Any) -> None:
    """Sessions after assignment would take away the effect that they carry."""
    before = bs.analyze(shop, "revenue", covariate="spend_before")
    (balance,) = (check for check in before.checks if check.name == "covariate balance")
    assert not balance.flagged
    start = "no difference of spend_before between arms was found (p = "
    assert balance.message.startswith(start)
    assert " however often you look; p = " in balance.message
    once = bs.analyze(shop.drop(columns="ts"), "revenue", covariate="spend_before")
    (alone,) = (check for check in once.checks if check.name == "covariate balance")
    assert alone.message.startswith(start)
    moved = shop.assign(visits=shop.spend_before + (shop.variant == "b"))
    after = bs.analyze(moved, "revenue", covariate="visits")
    (balance,) = (check for check in after.flagged if check.name == "covariate balance")
    assert "if it was measured after assignment" in balance.message
    assert any("outcomes are adjusted by visits" in note for note in after.notes)
    assert "! covariate balance" in str(after)


def test_a_ratio_is_that_of_the_sums(shop: Any) -> None:
    found = bs.analyze(shop, bs.LogMetric("revenue", per="sessions"))
    sums = shop.groupby("variant")[["revenue", "sessions"]].sum()
    assert [arm.mean for arm in found.arms] == pytest.approx(
        list(sums.revenue / sums.sessions), rel=1e-9
    )
    assert found.cost is None
    (effect,) = found.effects
    assert effect.low < effect.difference < effect.high
    # Its lift is divided by the control's ratio, and has the spread of ratios, not of numerators.
    (lift,), (once,) = found.contrasts, found.once
    assert once.lift_low is not None
    assert once.lift_high is not None
    wider = (lift.lift_high - lift.lift_low) / (once.lift_high - once.lift_low)
    plain = (lift.high - lift.low) / (once.high - once.low)
    assert plain < wider < 1.3 * plain
    # Events of a unit add up to the same, and are looked at as they stand.
    twice = bs.analyze(
        shop.loc[shop.index.repeat(2)].assign(
            revenue=lambda f: f.revenue / 2, sessions=lambda f: f.sessions / 2
        ),
        bs.LogMetric("revenue", per="sessions"),
    )
    assert twice.once[0].p_value == pytest.approx(found.once[0].p_value, rel=1e-9)
    assert len(twice.days) == 1


def test_equal_arms_have_a_winner_no_more_often_than_stated() -> None:
    rng = np.random.default_rng(1)
    runs, units = 120, 1200
    size = rng.gamma(1.5, 2.0, runs * units)
    log = {
        "test": np.repeat(np.arange(runs), units),
        "unit": np.arange(runs * units),
        "arm": rng.choice(["a", "b"], runs * units),
        "value": size * rng.exponential(1.0, runs * units),
        "views": size + 0.1,
        "time": np.tile([f"2026-03-{1 + i // 100:02}" for i in range(units)], runs),
    }
    decided = bs.analyze_each(log, bs.LogMetric(per="views"), test="test").decided
    # 5 % of equal arms may have a winner; three standard errors above that.
    assert decided <= runs * 0.05 + 3 * np.sqrt(runs * 0.05 * 0.95)


RATIO_WORLDS = {
    "equal ratios, one arm with twice the denominators, a bad third": ((0.2, 0.2, 0.05), (2, 4, 2)),
    "the better arm has half the denominators": ((0.2, 0.19, 0.05), (2, 4, 2)),
    "two arms, different denominators": ((0.2, 0.3), (2, 4)),
    "judged requests: a quarter, and four fifths": ((0.5, 0.5), (0.25, 0.8)),
    "an effect on the denominator alone": ((0.3, 0.3), (1, 3)),
}


@pytest.mark.parametrize("world", RATIO_WORLDS)
@pytest.mark.parametrize("heavy_first", [False, True])
def test_every_arm_is_compared_by_its_own_ratio(world: str, heavy_first: bool) -> None:
    """A worse arm never wins, and intervals cover, whatever the denominators of the arms are."""
    ratios, sizes = RATIO_WORLDS[world]
    runs, units, worse, missed = 4, 8000, 0, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        arm = rng.integers(len(ratios), size=units)
        heavy = np.linspace(3.0, 0.2, units) if heavy_first else np.ones(units)
        per = rng.poisson(np.take(sizes, arm) * heavy)
        log = {
            "unit": np.arange(units),
            "arm": np.array(["a", "b", "c"])[arm],
            "value": rng.binomial(per, np.take(ratios, arm)),
            "requests": per,
            "time": [f"2026-03-{1 + i * 10 // units:02}" for i in range(units)],
        }
        found = bs.analyze(log, bs.LogMetric("value", per="requests"))
        best = [name for name, r in zip("abc", ratios, strict=False) if r == max(ratios)]
        worse += found.decision is not None and found.decision.name not in best
        effect = found.effects[0]
        missed += not effect.low <= ratios[1] - ratios[0] <= effect.high
        (once, *_) = found.once
        assert effect.difference == pytest.approx(once.difference, abs=0.2 * (once.high - once.low))
    assert worse == 0
    # 10 % of intervals may miss; at most 2 of 4 by chance, in all but 1 in 250 of such tests.
    assert missed <= 2


def test_a_split_that_changed_while_ratios_did_makes_no_difference_of_equal_arms() -> None:
    rng = np.random.default_rng(5)
    day = np.arange(12000) // 1000
    arm = (rng.random(12000) < np.where(day < 6, 0.2, 0.8)).astype(int)
    per = 1 + rng.poisson(np.where(day < 6, 1.0, 4.0))
    clicks = rng.binomial(per, np.where(day < 6, 0.1, 0.4))
    log = {
        "unit": np.arange(12000),
        "arm": np.array(["a", "b"])[arm],
        "value": clicks,
        "views": per,
        "time": [f"2026-03-{1 + one:02}" for one in day],
    }
    found = bs.analyze(log, bs.LogMetric("value", per="views"))
    (effect,), (once,) = found.effects, found.once
    assert found.decision is None
    assert effect.low < 0.0 < effect.high
    # One look at all days together takes the mix of days for an effect, which a note says.
    assert once.p_value < 1e-6
    assert any("did not have the same shares" in note for note in found.notes)


def test_clusters_are_the_units_that_count(shop: Any) -> None:
    rng = np.random.default_rng(6)
    arm = np.repeat(rng.permuted(np.arange(120) % 2), 20)
    # Every shop has its own level, so that units of one shop are alike.
    level = np.repeat(rng.normal(0.0, 5.0, 120), 20)
    log = shop.assign(variant=np.array(["a", "b"])[arm], revenue=shop.revenue + level)
    with pytest.raises(bs.InputError, match="all units of one shop have the same arm"):
        bs.analyze(log, "revenue", looks=1)
    by_unit = bs.analyze(log, "revenue", unit="user_id", looks=1)
    found = bs.analyze(log, "revenue", looks=1, assigned=bs.Assigned(cluster="shop"))
    assert found.units == 120
    assert found.arms[0].mean == pytest.approx(log[log.variant == "a"].revenue.mean(), rel=1e-9)
    assert (found.once[0].high - found.once[0].low) / (
        by_unit.once[0].high - by_unit.once[0].low
    ) > 2.0
    assert "cluster, the unit of comparison shop" in str(found)
    # A cluster in two arms is excluded; where most are, units were assigned one by one.
    odd = log.assign(variant=np.where(log.user_id == 0, "ab"[1 - arm[0]], log.variant))
    assert bs.analyze(odd, "revenue", assigned=bs.Assigned(cluster="shop")).excluded == {
        "unit in two arms": 1
    }


def test_units_of_a_cluster_that_were_assigned_one_by_one_are_not_independent(shop: Any) -> None:
    """Shops with a level of their own, and an effect on one arm's units of a few of them."""
    rng = np.random.default_rng(8)
    level = np.repeat(rng.normal(0.0, 4.0, 120), 20) * (shop.variant == "b")
    log = shop.assign(revenue=shop.revenue + level)
    by_unit = bs.analyze(log, "revenue", looks=1)
    found = bs.analyze(log, "revenue", assigned=bs.Assigned(cluster="shop"), looks=1)
    width, plain = (one.once[0].high - one.once[0].low for one in (found, by_unit))
    assert width > 1.5 * plain
    assert found.once[0].difference == pytest.approx(by_unit.once[0].difference)
    assert any("assigned one by one" in note for note in found.notes)
    rows = bs.analyze(
        bs.Log(log.drop(columns="user_id"), row_is_unit=True),
        "revenue",
        assigned=bs.Assigned(cluster="shop"),
        looks=1,
    )
    assert rows.once == found.once


def test_units_without_a_value_can_be_excluded_from_any_metric(shop: Any) -> None:
    holes = shop.assign(revenue=shop.revenue.where(shop.user_id % 5 > 0))
    there = holes.dropna()
    options: tuple[dict[str, Any], ...] = (
        {"covariate": "spend_before"},
        {"per": "sessions"},
        {"cluster": "shop"},
        {"per": "sessions", "cluster": "shop"},
    )
    for more in options:
        call = {"value": "revenue", "looks": 1, **more}
        excluded = bs.analyze(**call_of(holes, missing="exclude", **call))
        (mine,), (wanted,) = excluded.once, bs.analyze(**call_of(there, **call)).once
        assert (mine.difference, mine.low, mine.p_value) == pytest.approx(
            (wanted.difference, wanted.low, wanted.p_value), rel=1e-9
        )


def test_what_does_not_go_together_is_refused(shop: Any) -> None:
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"per": "sessions", "window": "2d"}, "per does not go with window"),
        ({"per": "sessions", "outcome": bs.Bounded(0, 9)}, "per does not go with outcome"),
        ({"covariate": "spend"}, "there is no column 'spend'"),
        ({"covariate": "revenue"}, "'revenue' is the column of the metric"),
        ({"covariate": "variant"}, "'variant' is the column of the arm"),
        ({"covariate": "city"}, "covariate not a number, as 'Paris'"),
        ({"per": "city"}, "denominator not a number, as 'Paris'"),
    )
    for options, line in refused:
        with pytest.raises(bs.InputError, match=line):
            bs.analyze(**call_of(shop.assign(city="Paris"), value="revenue", **options))
    # Units are counted over all days, arms and segments.
    holes = shop.assign(
        spend_before=shop.spend_before.where(shop.user_id % 3 > 0), odd=shop.user_id % 2
    )
    parts: tuple[dict[str, Any], ...] = ({}, {"segment": "odd"})
    for more in parts:
        with pytest.raises(bs.InputError, match=r"covariate is missing for 800 units"):
            bs.analyze(**call_of(holes, value="revenue", covariate="spend_before", **more))


def test_several_metrics_of_one_log(shop: Any) -> None:
    found = bs.analyze(shop, ["revenue", "sessions"])
    assert found.reading.value == "revenue"
    (other,) = found.metrics
    assert other.effects == bs.analyze(shop, "sessions").effects
    assert found.effects == bs.analyze(shop, "revenue").effects
    assert "Metric sessions: No difference shown" in str(found)
    assert "nothing is corrected for their number" in str(found)
    assert [one["reading"]["value"] for one in found.to_dict()["metrics"]] == ["sessions"]
    assert "Metric sessions: No difference shown" in found.html()


def test_a_slope_does_not_take_up_a_difference_where_outcomes_are_missing() -> None:
    import pandas as pd

    rng = np.random.default_rng(1)
    units = 3000
    x, arm = rng.normal(size=units), rng.integers(0, 2, units)
    outcome = rng.normal(size=units) + 0.3 * arm
    lost = rng.random(units) < 0.95 * np.where(arm == 0, x < 0.0, x > 0.0)
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(units) * 4 // units, unit="D")
    log = pd.DataFrame(
        {"unit": np.arange(units), "arm": arm, "time": day, "outcome": outcome, "x": x}
    )
    found = bs.analyze(log[~lost], "outcome", covariate="x", control="0")
    (effect,) = found.effects
    # A slope about the means of all units gave 0.16 here.
    assert abs(effect.difference) == pytest.approx(0.3, abs=4 * 2 / np.sqrt(units / 2))
    assert effect.low < 0.3 < effect.high or effect.low < -0.3 < effect.high
    assert [check.flagged for check in found.checks if check.name == "covariate balance"] == [True]
