"""The rule of the choice, on points made by hand."""

from __future__ import annotations

import math

import bascule as bs
from bascule.planning.forecast import Forecast, design_of
from bascule.planning.search.choose import Candidate, best_in_time

REQUEST = bs.PlanRequest()


def forecast(days: float, cost: float, decided: float, runs: int = 0) -> Forecast:
    se = 0.01 if runs else math.nan
    parts = [bs.simulation.Estimate(value, se) for value in (days, cost, decided, 0.0)]
    return Forecast(parts[0], days, days, parts[1], parts[2], parts[3], runs)


def point(tilt: float, days: float, cost: float, decided: float) -> Candidate:
    return Candidate(design_of(REQUEST, bs.Tilt(tilt)), forecast(days, cost, decided))


POINTS = [
    point(1, days=2, cost=80, decided=1.0),
    point(3, days=3, cost=60, decided=0.99),
    point(8, days=4, cost=50, decided=0.95),
    point(20, days=12, cost=40, decided=0.8),
]


def chosen(points: list[Candidate]) -> float | None:
    best = best_in_time(points)
    return None if best is None or best.rule.knob is None else best.rule.knob.value


def test_the_cheapest_in_time_is_taken() -> None:
    assert chosen(POINTS) == 8


def test_of_nearly_equal_prices_the_sooner_design_is_taken() -> None:
    assert chosen([*POINTS, point(6, days=3.5, cost=50.9, decided=0.96)]) == 6
    assert chosen([*POINTS, point(6, days=3.5, cost=51.5, decided=0.96)]) == 8


def test_a_design_slower_than_a_fixed_horizon_test_is_taken_only_where_no_other_is_in_time() -> (
    None
):
    cheaper, slower = (
        point(tilt, days=days, cost=30, decided=1.0) for tilt, days in ((9, 4), (9, 5))
    )
    assert (chosen([*POINTS, cheaper]), chosen([*POINTS, slower]), chosen([slower])) == (9, 8, 9)
    # A simulation shows how long a design takes.
    seen = cheaper.with_simulation(forecast(days=5, cost=30, decided=1.0, runs=100))
    assert chosen([*POINTS, seen]) == 8


def test_nothing_is_taken_when_nothing_is_in_time() -> None:
    assert chosen(POINTS[3:]) is None


def test_what_was_seen_overrules_what_was_expected_of_the_deadline() -> None:
    late = POINTS[2].with_simulation(forecast(days=4, cost=45, decided=0.85, runs=100))
    assert chosen([*POINTS[:2], late]) == 3


def test_a_lucky_simulation_does_not_make_a_design_cheaper() -> None:
    lucky = POINTS[1].with_simulation(forecast(days=4, cost=30, decided=0.99, runs=100))
    assert chosen([POINTS[0], lucky, *POINTS[2:]]) == 8
