from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bascule as bs
from bascule.core.evidence.normal import log_mixture, mixture_radius
from bascule.core.evidence.two_arms import ceiling, log_two_arms
from bascule.core.procedures.intervals.procedure import log_threshold
from bascule.core.procedures.intervals.state import ROWS, clear, place
from bascule.core.progress import interval_procedure
from bascule.core.rules.mixture import decide, mixture_interval
from bascule.core.statistics import ArmStatistics
from bascule.core.types import NOBODY

MIXTURES = (
    bs.UCB(2, radius="mixture"),
    bs.UCB(2, stop="mixture"),
    bs.UCB(3, radius="mixture", stop="mixture"),
    bs.UCB(math.inf, stop="mixture"),
    bs.ETC(stop="mixture"),
)


def design(rule: Any, arms: int = 2, **more: Any) -> bs.Design:
    given = {"sides": None if "delta" in more else 1, **more}
    return bs.Design([str(i) for i in range(arms)], bs.Gaussian(2), rule, **given)


def seen(*arms: tuple[int, float]) -> bs.progress.Statistics:
    return bs.progress.Statistics(tuple(ArmStatistics(units, units * mean) for units, mean in arms))


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: bs.UCB(2, radius="x"), "radius"),  # type: ignore[arg-type]
        (lambda: bs.UCB(2, stop=None), "stop"),  # type: ignore[arg-type]
        (lambda: bs.ETC(stop="paper"), "stop"),  # type: ignore[arg-type]
        (lambda: bs.ETC(stop=["mixture"]), "stop"),  # type: ignore[arg-type]
    ],
)
def test_bad_words_name_the_field(make: Any, field: str) -> None:
    with pytest.raises(bs.InputError, match=f"{field} must be") as caught:
        make()
    assert caught.value.field == field


def test_bad_words_in_a_file_name_the_field() -> None:
    data = {"arms": ["a", "b"], "outcome": {}, "rule": {"kind": "ucb", "radius": "x"}}
    with pytest.raises(bs.InputError, match="radius"):
        bs.Design.from_dict(data)


@pytest.mark.parametrize("rule", MIXTURES)
def test_a_design_survives_its_file(rule: Any) -> None:
    before = design(rule, error=0.01)
    assert bs.Design.from_dict(before.to_dict()) == before


def test_a_file_without_the_new_fields_has_the_papers_rule() -> None:
    data = {"arms": ["a", "b"], "outcome": {}, "rule": {"kind": "ucb", "alpha": 2}}
    assert bs.Design.from_dict(data).rule == bs.UCB(2)


@pytest.mark.parametrize("rule", MIXTURES)
def test_the_papers_delta_is_refused(rule: Any) -> None:
    with pytest.raises(bs.InputError, match="give error instead") as caught:
        design(rule, delta=0.01)
    assert caught.value.field == "delta"


def test_labels() -> None:
    assert [rule.label for rule in MIXTURES] == [
        "UCB_2 mixture radius",
        "UCB_2 mixture stop",
        "UCB_3 mixture radius and stop",
        "UCB_inf mixture stop",
        "ETC mixture",
    ]


def test_levels_add_up_to_the_error() -> None:
    radius, *_, etc = (design(rule, 5, error=0.04).calibration for rule in MIXTURES)
    assert radius.delta == pytest.approx(0.008)
    assert etc.delta == pytest.approx(0.01)
    for rule in MIXTURES:
        calibration = design(rule, 5, error=0.04).calibration
        assert (calibration.error, calibration.guarantee) == (0.04, "proven")


@given(n=st.integers(3, 10**9), level=st.floats(1e-9, 0.5))
def test_the_radius_of_an_arm_is_that_of_the_evidence(n: int, level: float) -> None:
    expected = mixture_radius(n, 2.0, level)
    assert mixture_interval(n, 2.0, 2.0, 1.0, level) == pytest.approx(expected, rel=1e-12)


@given(n=st.integers(3, 10**9), error=st.floats(1e-9, 0.5), arms=st.integers(2, 50))
def test_two_radii_of_etc_are_the_boundary_of_the_difference(
    n: int, error: float, arms: int
) -> None:
    test = design(bs.ETC(stop="mixture"), arms, error=error)
    difference = 2 * interval_procedure(test).radius_of(ArmStatistics(n))
    evidence = log_mixture(n / 2 * difference / 2.0, n / 2)
    assert evidence == pytest.approx(math.log((arms - 1) / error), rel=1e-9)


@given(z=st.floats(-3, 12), power_a=st.floats(0.5, 7), power_b=st.floats(0.5, 7))
def test_both_quick_looks_are_above_the_evidence(z: float, power_a: float, power_b: float) -> None:
    a, b = 10.0**power_a, 10.0**power_b
    difference = z * math.sqrt(1 / a + 1 / b)
    evidence = log_two_arms(difference, a, b)
    assert evidence <= max(z, 0.0) ** 2 / 2 + 1e-9
    assert evidence <= ceiling(difference * a * b / (a + b), a, b) + 1e-9


@given(st.lists(st.tuples(st.integers(3, 300), st.floats(-3, 3)), min_size=2, max_size=11))
def test_the_stop_is_the_evidence_against_every_rival(arms: list[tuple[int, float]]) -> None:
    test = design(bs.UCB(2, stop="mixture"), len(arms), error=0.1)
    reached = bs.progress.decision(test, seen(*arms))
    threshold = log_threshold(len(arms), 0.1)

    def evidence(i: int, j: int) -> float:
        return log_two_arms((arms[i][1] - arms[j][1]) / 2.0, arms[i][0], arms[j][0])

    low = [interval.low for interval in bs.progress.intervals(test, seen(*arms))]
    leader = low.index(max(low))
    weakest = min(evidence(leader, j) for j in range(len(arms)) if j != leader)
    if abs(weakest - threshold) > 1e-9:
        assert (reached is not None) == (weakest > threshold)
    if reached is not None:
        assert reached.arm == leader


def test_nothing_is_decided_before_the_third_unit_of_each_arm() -> None:
    test = design(bs.UCB(2, stop="mixture"))
    assert bs.progress.decision(test, seen((1000, 50.0), (2, 0.0))) is None
    assert bs.progress.decision(test, bs.progress.Statistics.empty(2)) is None
    reached = bs.progress.decision(test, seen((1000, 50.0), (3, 0.0)))
    assert reached is not None
    assert reached.arm == 0


@pytest.mark.parametrize("arms", [3, 12])
def test_an_arm_that_is_out_stands_in_nobodys_way(arms: int) -> None:
    state = np.empty((ROWS, arms))
    clear(state, arms, math.inf)
    for arm in range(arms):
        place(state, arm, 50.0, 0.0, -math.inf, 0.0, -math.inf)
    place(state, 1, 50.0, 0.0, 0.0, 0.1, 0.2)
    assert decide(state, arms, 1.0, 3.0) == 1
    place(state, 0, 50.0, 0.0, 0.0, 0.1, 0.2)
    assert decide(state, arms, 1.0, 3.0) == NOBODY


def test_a_stop_that_can_stall_needs_a_cap() -> None:
    for alpha in (1.0, 1.9):
        with pytest.raises(bs.InputError, match="max_units") as caught:
            design(bs.UCB(alpha, stop="mixture"))
        assert caught.value.field == "max_units"
    design(bs.UCB(1.5, stop="mixture"), max_units=1000)


@pytest.mark.parametrize("rule", MIXTURES)
def test_the_papers_theorems_are_for_its_own_rules(rule: Any) -> None:
    test = design(rule)
    for ask in (
        lambda: bs.theory.published_bounds(test, 1.0),
        lambda: bs.theory.delta_tilde(test),
        lambda: bs.theory.corollary_delta(0.05, test),
    ):
        with pytest.raises(bs.InputError, match="not in the paper") as caught:
            ask()
        assert caught.value.field == "rule"


@pytest.mark.parametrize("rule", [rule for rule in MIXTURES if "stop" in rule.label])
def test_no_bound_is_claimed_for_the_stop(rule: Any) -> None:
    with pytest.raises(bs.InputError, match="no proven bound"):
        bs.theory.bounds(design(rule), 1.0)


def test_a_hopeless_cap_is_refused() -> None:
    test = design(bs.UCB(2, stop="mixture"), max_units=100)
    with pytest.raises(bs.InputError, match="undecided"):
        bs.simulate(test, [0.0, 0.01], runs=10)
