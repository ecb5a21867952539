"""Ratios: recorded as pairs, and compared around what each arm has shown itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.evidence.spread import squares_about_mean
from bascule.core.statistics import ArmStatistics

RATIO = bs.Ratio(at=0.1, per=10.0)
DESIGN = bs.Design(["a", "b"], RATIO, bs.Tilt(1), reports="always", sides=1)


def test_the_model_of_earlier_units_has_their_ratio_as_mean() -> None:
    n, d = [1.0, 0.0, 3.0, 2.0], [10.0, 5.0, 15.0, 10.0]
    model = bs.Ratio.of(n, d)
    values = [0.15 + (one - 0.15 * per) / 10.0 for one, per in zip(n, d, strict=True)]
    assert (model.at, model.per) == (6.0 / 40.0, 10.0)
    assert model.spread == pytest.approx(np.std(values, ddof=1))
    with pytest.raises(bs.InputError, match="as many as numerators"):
        bs.Ratio.of(n, d[:2])


def test_a_ratio_needs_a_mean_denominator_above_0_and_no_value_is_made_up() -> None:
    with pytest.raises(bs.InputError, match="per"):
        bs.Ratio(per=0.0)
    made_up = bs.Measure("1d", "sum", missing=0.82)
    with pytest.raises(bs.InputError, match="a unit without events has a denominator of 0"):
        bs.Design(["a", "b"], RATIO, bs.Tilt(1), measure=made_up)


def test_a_share_takes_no_numerator_beyond_its_denominator_and_no_margin_of_points() -> None:
    day = bs.Measure("1d")
    share = bs.Metric("good", bs.Ratio(is_share=True), margin=0.05, measure=day)
    design = bs.Design(["a", "b"], bs.Ratio(), bs.Tilt(1), measure=day, metrics=[share])
    assert bs.Design.from_dict(design.to_dict()) == design
    with bs.open(":memory:") as store:
        test = store.create("shares", design)
        test.assign("ann")
        values = [(7, 1), (-1, 1), (0.7, 1), (True, 1), (0, 0)]
        events = [("ann", value, None, str(value), "good") for value in values]
        receipts = test.record_many(events)
        assert [one.accepted for one in receipts] == [False, False, True, True, True]
        assert "the numerator must lie between 0 and the denominator" in receipts[0].detail
        assert test.record("ann", (7, 1)).accepted
    with pytest.raises(bs.InputError, match=r"write 5 percentage points as 0\.05 \(5%"):
        bs.Metric("good", bs.Ratio(is_share=True), margin=5)


def test_the_linearised_sums_are_those_of_the_units() -> None:
    rng = np.random.default_rng(3)
    d = rng.poisson(3.0, 50).astype(float)
    n = rng.binomial(d.astype(int), 0.4).astype(float)
    arm = sum(map(ArmStatistics.of_ratio, n, d), ArmStatistics())
    ratio, mean = n.sum() / d.sum(), d.mean()
    values = ratio + (n - ratio * d) / mean
    found = arm.linearised
    assert arm.mean == pytest.approx(ratio)
    sums = (found.total, found.squares, found.cubes)
    assert sums == pytest.approx([(values**power).sum() for power in (1, 2, 3)])
    about = squares_about_mean(50.0, found.total, found.squares)
    # The delta method, from the covariances of numerators and denominators.
    spread = np.cov(n, d)
    variance = spread[0, 0] - 2 * ratio * spread[0, 1] + ratio**2 * spread[1, 1]
    assert about / 49.0 == pytest.approx(variance / mean**2)
    assert arm.reflected(0.0).linearised.cubes == pytest.approx(-found.cubes)


def test_events_of_a_unit_add_up_and_only_sums_are_allowed() -> None:
    measure = bs.Measure("1d", "sum")
    with pytest.raises(bs.InputError, match='must be "sum"'):
        bs.Design(["a", "b"], RATIO, bs.Tilt(1), measure=bs.Measure("1d", "mean"))
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("rate", bs.Design(["a", "b"], RATIO, bs.Tilt(1), measure=measure))
        arms = test.assign_many(["u", "v", "w", "x"])
        test.record_many([("u", (1, 10)), ("u", (2, 20)), ("v", (5, 10))])
        clock.advance(90_000.0)
        status = test.status()
        assert status.matured == 4
        means = {arm.name: arm.mean for arm in status.arms}
        # The other units have no denominator and change no ratio.
        assert means[arms[0]] == pytest.approx(3 / 30)
        assert means[arms[1]] == pytest.approx(5 / 10)
        assert test.verify().agrees


@pytest.mark.parametrize("goal", ["increase", "decrease"])
def test_a_live_test_and_the_analysis_of_its_export_show_the_ratios_of_the_sums(goal: Any) -> None:
    rng = np.random.default_rng(8)
    design = bs.Design(["a", "b"], bs.Ratio(), bs.Tilt(1), goal=goal, measure=bs.Measure("1d"))
    clock, sums = bs.ManualClock(), np.zeros((2, 2))
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("rate", design)
        # Whoever comes first is the most active, and arms differ in their denominators.
        for day, views in enumerate((20, 8, 3, 1)):
            units = [f"{day}-{i}" for i in range(100)]
            for unit, arm in zip(units, test.assign_many(units), strict=True):
                which = design.arms.index(arm)
                d = int(rng.poisson(views * (1 + which)))
                n = int(rng.binomial(d, 0.3))
                sums[which] += n, d
                test.record_many([(unit, (n, d))] * (d > 0))
            clock.advance(90_000.0)
        status, ratios = test.status(), sums[:, 0] / sums[:, 1]
        assert [arm.mean for arm in status.arms] == pytest.approx(ratios)
        (contrast,) = status.contrasts
        assert contrast.difference == pytest.approx(ratios[1] - ratios[0])
        assert contrast.low < 0.0 < contrast.high
        assert test.verify().agrees
        assert not any(one.flagged for one in test.diagnostics())


def test_an_arm_without_denominators_cannot_be_decided_on() -> None:
    rng = np.random.default_rng(5)
    with bs.open(":memory:") as store:
        test = store.create("rate", DESIGN)
        units = [str(i) for i in range(1000)]
        arms = test.assign_many(units)
        pairs = [(0, 0) if arm == "a" else (int(rng.random() < 0.9), 1) for arm in arms]
        test.record_many(list(zip(units, pairs, strict=True)))
        status = test.status()
        assert status.matured == 1000
        assert status.decision is None
        assert status.contrasts[0].low == -math.inf


def test_coverage_that_is_not_as_planned_changes_no_interval() -> None:
    """Judged for a quarter of the requests where 80 % was planned, b 4 points worse."""
    planned = bs.Ratio(at=0.82, per=5.3)
    margin = bs.Metric("quality", planned, margin=0.02)
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(1), metrics=[margin], reports="always")
    rng = np.random.default_rng(12)
    with bs.open(":memory:") as store:
        test = store.create("models", design)
        for first in range(0, 6000, 500):
            units = [str(i) for i in range(first, first + 500)]
            events = []
            for unit, arm in zip(units, test.assign_many(units), strict=True):
                judged = int(rng.binomial(rng.geometric(0.15), 0.25))
                good = int(rng.binomial(judged, 0.82 if arm == "a" else 0.78))
                events += [(unit, 0.0), (unit, (good, judged), None, None, "quality")]
            test.record_many(events)
        status = test.status()
        (quality,) = status.metrics
        # A unit has 1.67 judgements on average, and half of the matured units are b's. The metric
        # may end the test early, which makes the means more extreme than their standard error.
        error = math.sqrt(0.78 * 0.22 / (1.67 * status.matured / 2))
        assert quality.means == pytest.approx((0.82, 0.78), abs=4 * error)
        assert quality.contrasts[0].low < -0.04 < quality.contrasts[0].high
        assert quality.standings != ("within margin",)


@pytest.mark.parametrize("value", [3.0, (1, 2, 3), ("a", 2), (1, math.nan), (1, -2)])
def test_what_is_no_pair_is_excluded_with_a_reason(value: Any) -> None:
    with bs.open(":memory:") as store:
        test = store.create("rate", DESIGN)
        test.assign("u")
        receipt = test.record("u", value)
        assert (receipt.accepted, receipt.reason) == (False, "not a number")
        assert test.record("u", (1, 2)).accepted


def test_a_pair_for_another_model_is_excluded() -> None:
    with bs.open(":memory:") as store:
        design = bs.Design(["a", "b"], bs.Numeric(), bs.Tilt(1), reports="always", sides=1)
        test = store.create("plain", design)
        test.assign("u")
        assert test.record("u", (1, 2)).reason == "not a number"


def test_equal_ratios_with_unlike_denominators_have_no_winner_and_unlike_ratios_have() -> None:
    def winner(better: float, seed: int) -> int | None:
        rng = np.random.default_rng(seed)
        with bs.open(":memory:") as store:
            test = store.create("rate", DESIGN)
            for first in range(0, 1200, 200):
                units = [str(i) for i in range(first, first + 200)]
                arms = test.assign_many(units)
                pairs = []
                for arm in arms:
                    views = int(rng.poisson(12 if arm == "b" else 8)) + 1
                    rate = 0.1 + (better if arm == "b" else 0.0)
                    pairs.append((int(rng.binomial(views, rate)), views))
                test.record_many(list(zip(units, pairs, strict=True)))
            reached = test.status().decision
            return None if reached is None else reached.arm

    assert [winner(0.0, seed) for seed in range(6)].count(None) >= 5
    assert [winner(0.04, seed) for seed in range(3)].count(1) >= 2
