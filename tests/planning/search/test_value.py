"""What a design is worth to a population, and the error that serves it best."""

from __future__ import annotations

import math

import pytest

import bascule as bs
from bascule.planning.forecast import Forecast
from bascule.planning.search.stages import with_chosen_error
from bascule.planning.search.value import Value, value_of


def value(wrong: float = 0.0, decided: float = 0.9, **parts: float) -> Value:
    request = bs.PlanRequest(units_per_day=1000, **parts)  # type: ignore[arg-type]
    seen = [bs.simulation.Estimate(part, math.nan) for part in (10.0, 60.0, decided, wrong)]
    zero = [bs.simulation.Estimate(part, math.nan) for part in (20.0, 0.0, 0.08, 0.08)]
    found = value_of(
        request,
        Forecast(seen[0], 9.0, 20.0, seen[1], seen[2], seen[3]),
        Forecast(zero[0], math.inf, math.inf, zero[1], zero[2], zero[3]),
    )
    assert found is not None
    return found


def test_a_population_loses_the_test_and_what_is_not_decided() -> None:
    found = value(population=110_000)
    # The gap is 0.01, and 100,000 units come after the test; a missing decision keeps the control,
    # which is the worse arm in one of three cases.
    assert found.during == pytest.approx(2 * 60 / 3)
    assert found.after == pytest.approx(0.01 * 100_000 * 0.1 / 3)
    assert found.loss + found.gain == pytest.approx(0.01 * 110_000 / 3)


def test_a_wrong_decision_costs_whichever_arm_is_the_better() -> None:
    extra = value(wrong=0.01, population=110_000).after - value(population=110_000).after
    assert extra == pytest.approx(2 * 0.01 * 0.01 * 100_000 / 3)


def test_switching_is_paid_for_when_another_arm_wins() -> None:
    found = value(population=110_000, switch_cost=30.0)
    assert found.switching == pytest.approx(30 * (0.9 + 0.04) / 3)


def test_a_larger_population_asks_for_a_smaller_error() -> None:
    errors = [
        with_chosen_error(
            bs.PlanRequest(bs.Gaussian(1), 0, 0.5, population=units, choose_error=True, sides=1)
        ).error
        for units in (1_000, 10_000_000)
    ]
    assert errors[0] > errors[1]
    named = bs.PlanRequest(population=1000, sides=1)
    assert with_chosen_error(named) is named


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"choose_error": True}, "choose_error needs population"),
        ({"switch_cost": 5.0}, "switch_cost needs population"),
        ({"population": 3}, "larger than a test"),
        ({"population": 1e6, "switch_cost": -1}, "at least 0"),
        ({"power": 0.3}, "power must lie between"),
        ({"guarantee": "sure"}, "guarantee must be"),
        ({"futility": 0.95}, "below power"),
    ],
)
def test_a_mistake_is_named(parts: dict[str, float], words: str) -> None:
    with pytest.raises(bs.InputError, match=words):
        bs.PlanRequest(**parts)  # type: ignore[arg-type]
