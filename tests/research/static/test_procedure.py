from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.types import NO_DIFFERENCE, NOBODY

pytestmark = pytest.mark.slow


def design(rule: bs.research.Static, arms: int = 2, **more: Any) -> bs.Design:
    names = ["control", "green", "blue"][:arms]
    given = {"sides": None if "delta" in more else 1, **more}
    return bs.Design(names, bs.Recurrent(1, 3), rule, **given)


def test_the_horizon_is_the_only_look() -> None:
    test = design(bs.research.Static(10_000, 30), error=0.05)
    early = bs.research.look(test, 29, [0.0, 5.0])
    assert early.threshold == math.inf
    assert early.decision is None
    seen = bs.research.look(test, 30, [0.0, 5.0])
    expected = math.sqrt(8 * (1 + 9 / 30) * math.log(20) / 10_000)
    assert seen.threshold == pytest.approx(expected)
    assert seen.decision == bs.progress.Decision(1, "green", 0.05, "proven")


@pytest.mark.parametrize("stop", ["intervals", "looks", "mixture"])
def test_a_difference_decides_from_the_threshold_on(stop: Any) -> None:
    test = design(bs.research.Static(10_000, stop=stop))
    limit = bs.research.look(test, 10, [0.0, 0.0]).threshold
    assert bs.research.look(test, 10, [0.0, 0.999 * limit]).decision is None
    for means, arm in (([0.0, 1.001 * limit], 1), ([1.001 * limit, 0.0], 0)):
        seen = bs.research.look(test, 10, means)
        assert seen.leader == arm
        assert seen.difference == pytest.approx(1.001 * limit)
        assert seen.decision is not None
        assert seen.decision.arm == arm
        assert (seen.error, seen.guarantee) == (test.error, test.calibration.guarantee)


def test_arms_of_different_sizes_need_more() -> None:
    even, uneven = bs.research.Static(10_000, 30), bs.research.Static([9000, 1000], 30)
    ratio = (
        bs.research.look(design(uneven), 30, [0, 1]).threshold
        / bs.research.look(design(even), 30, [0, 1]).threshold
    )
    assert ratio == pytest.approx(math.sqrt((1 / 9000 + 1 / 1000) / (2 / 5000)))


def test_more_arms_wait_for_the_nearest_rival() -> None:
    test = design(bs.research.Static(9000, 30), 3)
    limit = bs.research.look(test, 30, [0.0, 0.0, 0.0]).threshold
    close = bs.research.look(test, 30, [0.0, 3 * limit, 2.5 * limit])
    assert (close.leader, close.rival, close.decision) == (1, 2, None)
    clear = bs.research.look(test, 30, [0.0, 3 * limit, 1.5 * limit])
    assert clear.decision is not None
    assert clear.decision.name == "green"


def test_statistics_with_one_cohort_an_arm_say_the_same() -> None:
    test = design(bs.research.Static([60, 40], stop="looks"))
    arms = tuple(
        bs.progress.ArmCohorts(
            (bs.progress.Cohort(outcomes=7, units=units, total=7.0 * units * mean),)
        )
        for units, mean in ((60, 0.0), (40, 3.0))
    )
    decided = bs.progress.decision(test, bs.progress.CohortStatistics(arms, stage=7))
    assert decided is not None
    assert decided == bs.research.look(test, 7, [0.0, 3.0]).decision
    for wrong in (
        bs.progress.CohortStatistics(arms, stage=8),
        bs.progress.CohortStatistics(arms[::-1], stage=7),
    ):
        with pytest.raises(bs.InputError, match="everyone gives one at every stage"):
            bs.progress.decision(test, wrong)
    with pytest.raises(bs.InputError, match="CohortStatistics"):
        bs.progress.decision(test, bs.progress.Statistics.empty(2))


@pytest.mark.parametrize(
    ("stage", "means", "field"),
    [(0, [0, 1], "stage"), (31, [0, 1], "stage"), (1.5, [0, 1], "stage"), (3, [0], "means")],
)
def test_bad_looks_name_the_field(stage: Any, means: Any, field: str) -> None:
    with pytest.raises(bs.InputError) as caught:
        bs.research.look(design(bs.research.Static(100, 30)), stage, means)
    assert caught.value.field == field


def test_a_look_is_for_static_populations() -> None:
    with pytest.raises(bs.InputError, match="rule must be Static"):
        bs.research.look(bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.UCB(2)), 3, [0, 1])


STOPS = ("horizon", "intervals", "looks", "mixture")


@pytest.mark.parametrize("stop", STOPS)
def test_all_differences_below_what_matters_end_a_static_test(stop: str) -> None:
    rule = bs.research.Static(10_000, horizon=30, stop=stop)  # type: ignore[arg-type]
    design = bs.Design(["a", "b"], bs.Recurrent(1, 3), rule, min_effect=0.2, sides=1)
    seen = bs.research.look(design, 30, [5.0, 5.001])
    assert seen.decision is not None
    assert seen.decision.arm is None
    assert abs(seen.difference) + seen.threshold < 0.2
    assert bs.research.look(replace(design, min_effect=0.01), 30, [5.0, 5.001]).decision is None
    assert bs.research.look(replace(design, min_effect=None), 30, [5.0, 5.001]).decision is None


@pytest.mark.parametrize("stop", STOPS)
def test_a_difference_that_matters_is_rarely_taken_for_none(stop: str) -> None:
    """At a gap of just `min_effect` both wrong ends together are as rare as stated."""
    error, runs = 0.2, 4000
    rule = bs.research.Static(400, horizon=30, stop=stop)  # type: ignore[arg-type]
    design = bs.Design(["a", "b"], bs.Recurrent(1, 3), rule, error=error, min_effect=0.5, sides=1)
    result = bs.simulate(design, means=[0.0, 0.5], runs=runs, seed=3)
    wrong = float(np.mean((result.winner != 1) & (result.winner != NOBODY)))
    assert wrong <= error + 3 * math.sqrt(error * (1 - error) / runs)
    equal = bs.simulate(design, means=[0.0, 0.0], runs=500, seed=4)
    assert np.any(equal.winner == NO_DIFFERENCE)
