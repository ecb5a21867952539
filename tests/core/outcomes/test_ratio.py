"""Ratios: linearised at a value fixed before the test, recorded as pairs, compared as means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.outcomes import Pair

RATIO = bs.Ratio(at=0.1, per=10.0)
DESIGN = bs.Design(["a", "b"], RATIO, bs.Tilt(1), reports="always")


def test_the_model_of_earlier_units_has_their_ratio_as_mean() -> None:
    n, d = [1.0, 0.0, 3.0, 2.0], [10.0, 5.0, 15.0, 10.0]
    model = bs.Ratio.of(n, d)
    values = [model.event_value(Pair(*pair)) + model.offset for pair in zip(n, d, strict=True)]
    assert np.mean(values) == pytest.approx(6.0 / 40.0)
    assert model.spread == pytest.approx(np.std(values, ddof=1))
    with pytest.raises(bs.InputError, match="as many denominators"):
        bs.Ratio.of(n, d[:2])


@pytest.mark.parametrize(("given", "match"), [({}, "at is missing"), ({"at": 1, "per": 0}, "per")])
def test_a_ratio_needs_where_it_is_linearised(given: Any, match: str) -> None:
    with pytest.raises(bs.InputError, match=match):
        bs.Ratio(**given)


def test_events_of_a_unit_add_up_and_only_sums_are_allowed() -> None:
    measure = bs.Measure("1d", "sum")
    with pytest.raises(bs.InputError, match='must be "sum"'):
        bs.Design(["a", "b"], RATIO, bs.Tilt(1), measure=bs.Measure("1d", "mean"))
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("rate", bs.Design(["a", "b"], RATIO, bs.Tilt(1), measure=measure))
        arms = test.assign_many(["u", "v"])
        test.record_many([("u", (1, 10)), ("u", (2, 20)), ("v", (5, 10))])
        clock.advance(90_000.0)
        status = test.status()
        means = {arm.name: arm.mean for arm in status.arms}
        assert means[arms[0]] == pytest.approx(0.1)
        assert means[arms[1]] == pytest.approx(0.1 + (5 - 1) / 10)
        assert test.verify().agrees


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
        design = bs.Design(["a", "b"], bs.Numeric(), bs.Tilt(1), reports="always")
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
