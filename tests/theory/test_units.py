"""What is proven and what is expected of units whose outcomes keep coming."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bascule as bs
from bascule.core.procedures.recurrent import precision_weight
from bascule.theory.solve import arm_units_until, clock_until, widest_radius

SPREAD = st.one_of(st.just(0.0), st.floats(1e-3, 10))
SPREADS = st.tuples(SPREAD, SPREAD).filter(lambda pair: max(pair) > 0)


def design(rule: Any, arms: int = 2, outcome: Any = None, **more: Any) -> bs.Design:
    names = [f"arm {i}" for i in range(arms)]
    given = {"sides": None if "delta" in more else 1, **more}
    return bs.Design(names, outcome or bs.Recurrent(1, 1), rule, **given)


@given(SPREADS, st.integers(1, 400))
def test_units_that_arrived_one_a_stage_have_at_least_the_least_clock(
    spreads: tuple[float, float], units: int
) -> None:
    outcome = bs.Recurrent(*spreads)
    clock = sum(precision_weight(age, *spreads) for age in range(1, units + 1))
    least = clock_until(units, outcome)
    assert least <= clock * (1 + 1e-9)
    assert clock - least <= precision_weight(units, *spreads)


@pytest.mark.parametrize("unit", [0.0, 1e-9, 1e-5, 1e-3, 1.0])
def test_no_digits_are_lost_when_units_hardly_differ(unit: float) -> None:
    expected = sum(precision_weight(age + 0.5, unit, 1.0) for age in range(1000))
    assert clock_until(1000.0, bs.Recurrent(unit, 1.0)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.ETC(), bs.UCB(2, radius="mixture")])
def test_units_until_a_width(rule: Any) -> None:
    test = design(rule)
    units = arm_units_until(test, 0.3)
    assert widest_radius(test, units) == pytest.approx(0.3)
    assert arm_units_until(test, 1e9) == 3
    assert arm_units_until(test, 0.0) == math.inf


PREDICTED: list[tuple[Any, float]] = [
    (bs.UCB(2), 0.1),
    (bs.UCB(2, radius="alternative"), 0.1),
    (bs.ETC(), 0.12),
    (bs.ETCPrime(), 0.06),
]
ROUGH = [
    bs.UCB(2, radius="mixture"),
    bs.UCB(2, radius="mixture", stop="mixture"),
    bs.ETC(stop="mixture"),
    bs.UCB(2, radius="looks"),
    bs.UCB(4, radius="looks", growth=2),
]


@pytest.mark.parametrize(("rule", "within"), PREDICTED)
def test_the_mean_path_of_the_papers_rules_is_near(rule: Any, within: float) -> None:
    test = design(rule, error=0.05)
    expected, measured = bs.theory.mean_path(test, 1.0), bs.simulate(test, [0, 1], 400, seed=2)
    assert expected.regret == pytest.approx(measured.regret.mean(), rel=within)
    assert expected.decision_time == pytest.approx(measured.decision_time.mean(), rel=within)


@pytest.mark.parametrize("rule", ROUGH)
def test_the_mean_path_of_other_rules_says_how_many_units_to_make_room_for(rule: Any) -> None:
    test = design(rule, error=0.05)
    measured = bs.simulate(test, [0, 1], 400, seed=2)
    expected = bs.theory.mean_path(test, 1.0).decision_time
    assert 1 / 3 < expected / measured.decision_time.mean() < 3
    with pytest.raises(bs.InputError, match="no prediction: simulate it"):
        bs.theory.predict(test, 1.0)
    assert measured.predicted() is None


def test_without_noise_units_are_outcomes_that_come_once() -> None:
    for rule in (bs.UCB(2, radius="mixture"), bs.ETC(stop="mixture")):
        once = bs.Design(["a", "b"], bs.Gaussian(2), rule, sides=1)
        again = design(rule, outcome=bs.Recurrent(2, 0))
        assert bs.theory.bounds(again, 1.0) == bs.theory.bounds(once, 1.0)


@pytest.mark.parametrize(
    "rule",
    [
        *(bs.UCB(2), bs.UCB(4, radius="alternative"), bs.UCB(3, radius="mixture")),
        *(bs.ETC(), bs.ETCPrime(), bs.ETC(stop="mixture")),
    ],
)
def test_bounds_hold(rule: Any) -> None:
    test = design(rule, error=0.1)
    promise = bs.theory.bounds(test, 1.5)
    seen = bs.simulate(test, [1.5, 0.0], runs=200, seed=9)
    kept = (
        (seen.winner == 0)
        & (seen.regret <= promise.regret)
        & np.all(seen.units <= np.array(promise.units), axis=1)
    )
    assert kept.mean() >= 1 - promise.error
    assert bs.theory.mean_path(test, 1.5).decision_time < promise.decision_time


def test_bounds_for_three_arms_add_up() -> None:
    promise = bs.theory.bounds(design(bs.UCB(2, radius="mixture"), 3), [0.5, 1.0])
    assert promise.decision_time == sum(promise.units)
    assert promise.regret == 0.5 * promise.units[1] + 1.0 * promise.units[2]
    assert promise.units[0] > promise.units[1] > promise.units[2]


@pytest.mark.parametrize("alpha", [1.5, 2.0, 4.0, 32.0])
def test_our_bound_is_the_sharper_one(alpha: float) -> None:
    test = design(bs.UCB(alpha), delta=1e-3)
    ours, theirs = bs.theory.bounds(test, 0.5), bs.theory.published_bounds(test, 0.5)
    assert ours.regret < theirs.regret
    assert ours.decision_time < theirs.decision_time


def test_the_published_bound_of_the_best_arm_counts_one_more_unit_of_its_rival() -> None:
    test = design(bs.UCB(1.1), delta=math.exp(-12))
    best, worse = bs.theory.published_bounds(test, 1.0).units
    assert (best, worse) == (315_149, 430)
    # The best arm is picked only while its radius is at least 0.1 / 2.1 of its rival's.
    narrowest = widest_radius(test, worse) * 0.1 / 2.1
    assert widest_radius(test, best - 1) >= narrowest > widest_radius(test, best)


@given(st.floats(0.01, 10), st.floats(0.01, 10), st.sampled_from(["paper", "alternative"]))
def test_one_unit_moves_the_radius_by_no_more_than_the_proof_says(
    unit: float, noise: float, name: Any
) -> None:
    rule = bs.UCB(2, radius=name)
    test = design(rule, outcome=bs.Recurrent(unit, noise), delta=0.01)
    radii = [widest_radius(test, n) for n in range(3, 200)]
    for n, (wide, narrow) in enumerate(pairwise(radii), start=3):
        log = math.log(100 * 9 * math.log(n) ** 2)
        if name == "paper":
            log = math.log(100 * (4 * n) ** 4 * max(1.0, n * (unit / noise) ** 2))
        assert 1 / narrow**2 - 1 / wide**2 <= 1 / (2 * unit**2 * log) * (1 + 1e-9)


def test_published_bounds_solve_the_papers_equation() -> None:
    """Radius squared times gamma is the squared gap, with gamma 4, 8 and 16 for UCB, ETC, ETC'."""
    test = design(bs.UCB(1.0), delta=1e-4, max_units=10**6)
    worse = bs.theory.published_bounds(test, 0.5).units[1]
    assert widest_radius(test, worse - 1) ** 2 * 4 > 0.25 >= widest_radius(test, worse) ** 2 * 4
    prime = design(bs.ETCPrime(), delta=1e-4)
    units = bs.theory.published_bounds(prime, 0.5).units[1]
    assert widest_radius(prime, units - 1) ** 2 * 16 > 0.25 >= widest_radius(prime, units) ** 2 * 16


def test_the_noise_hardly_counts_when_delta_is_small() -> None:
    """The leading term has only the spread of the units; that of the noise is log log."""

    def time(noise: float, level: float) -> float:
        test = design(bs.UCB(2), outcome=bs.Recurrent(1, noise), delta=math.exp(-level))
        return bs.theory.mean_path(test, 0.5).decision_time

    excess = [abs(time(3.0, level) / time(1.0, level) - 1) for level in (10, 100, 400)]
    assert excess == sorted(excess, reverse=True)
    assert excess[-1] < 0.01


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (bs.UCB(2, radius="looks"), "between the looks"),
        (bs.UCB(2, radius="mixture", stop="mixture"), "no proven bound"),
    ],
)
def test_what_has_no_bound_says_so(rule: Any, words: str) -> None:
    with pytest.raises(bs.InputError, match=words):
        bs.theory.bounds(design(rule), 1.0)
    assert bs.simulate(design(rule), [0, 3], runs=5).proven() is None


def test_the_paper_says_nothing_of_precision_weights() -> None:
    with pytest.raises(bs.InputError, match="not in the paper"):
        bs.theory.published_bounds(design(bs.UCB(2, radius="mixture")), 1.0)
    with pytest.raises(bs.InputError, match="one outcome each"):
        bs.theory.delta_tilde(design(bs.UCB(2)))
