"""Treatment minus control, in outcome units and relative to the control."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.evidence.families.estimated_spread import lift_of
from bascule.core.metrics.effects import Contrast, Effect, contrasts, lifts, mean_radius
from bascule.core.metrics.metric import Goal
from bascule.core.progress import block_procedure
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import NOBODY


def _seen(*arms: tuple[int, float, float]) -> bs.progress.Statistics:
    return bs.progress.Statistics(tuple(bs.progress.ArmStatistics(*arm) for arm in arms))


def _found(design: bs.Design, seen: bs.progress.Statistics) -> tuple[Contrast, ...]:
    control = seen.arms[design.arms.index(design.control_arm)]
    return contrasts(design, bs.progress.effects(design, seen), control, control.mean)


def test_every_other_arm_is_compared_with_the_control() -> None:
    seen = _seen((400, 40.0, 40.0), (400, 60.0, 60.0), (400, 50.0, 50.0))
    rule = bs.UCB(2, radius="mixture")
    design = bs.Design(["a", "b", "c"], bs.Bernoulli(), rule, control="b", sides=1)
    found = _found(design, seen)
    assert [one.name for one in found] == ["a - b", "c - b"]
    assert found[0].difference == pytest.approx(-0.05)
    assert found[0].lift == pytest.approx(-1 / 3)
    default = _found(bs.Design(["a", "b", "c"], bs.Bernoulli(), rule, sides=1), seen)
    assert [one.name for one in default] == ["b - a", "c - a"]
    assert default[0].lift == pytest.approx(0.5)


def test_a_lift_is_the_difference_over_the_farther_end_of_the_control() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), sides=1)
    seen = _seen((400, 2000.0, 10_400.0), (400, 2800.0, 20_000.0))
    (found,) = _found(design, seen)
    radius = mean_radius(design.outcome, seen.arms[0], 0.05 * found.error)
    assert found.low > 0.0
    assert found.lift_low == pytest.approx(found.low / (5.0 + radius))
    assert found.lift_high == pytest.approx(found.high / (5.0 - radius))
    assert found.lift_error == pytest.approx(1.1 * found.error)


def test_a_control_that_may_be_zero_leaves_a_lift_without_bounds() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), sides=1)
    (found,) = _found(design, _seen((100, 1.0, 100.0), (100, 50.0, 125.0)))
    assert (found.lift_low, found.lift_high) == (-math.inf, math.inf)
    assert found.lift == pytest.approx(49.0)


def test_a_rate_cannot_fall_by_more_than_all_of_it() -> None:
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.UCB(2, radius="mixture"), sides=1)
    (found,) = _found(design, _seen((4000, 400.0, 400.0), (30, 0.0, 0.0)))
    assert found.lift_low == -1.0


@pytest.mark.parametrize("outcome", [bs.Numeric(), bs.Ratio(), bs.Gaussian(1)], ids=repr)
def test_the_lift_of_a_planned_test_has_one_level_from_the_start(outcome: Any) -> None:
    design = bs.Design(["a", "b"], outcome, bs.Tilt(3, effect=0.5, power=0.9))
    empty = Statistics.empty(2)
    said = bs.progress.effects(design, empty)
    (found,) = contrasts(design, said, empty.arms[0], None, lifts(design, empty, said))
    assert found.lift_error == found.error
    assert (found.lift, found.lift_low, found.lift_high) == (None, -math.inf, math.inf)


@pytest.mark.parametrize(("units", "lift"), [(4000, -1.0), (40, None)])
def test_a_lift_lies_within_its_interval(units: int, lift: float | None) -> None:
    """The difference is that of blocks, which may be larger than the mean of the control."""
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3))
    control = ArmStatistics(units, 0.1 * units, 0.1 * units)
    said = Effect("b", "a", -0.12, -0.2, -0.04, 0.025, "proven")
    (found,) = contrasts(design, [said], control, control.mean)
    assert found.lift == lift
    assert lift is None or found.lift_low <= lift <= found.lift_high


def test_intervals_of_the_lift_hold_at_the_decision() -> None:
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=0.2, max_units=600, sides=1)
    missed = runs = 0
    for run in range(40):
        *_, last = bs.trace(design, [0.5, 0.75], seed=4, run=run)
        (found,) = _found(design, last.statistics)
        runs += 1
        missed += not found.lift_low <= 0.5 <= found.lift_high
    # At most 0.44 are allowed; these intervals are far from that.
    assert missed <= (0.44 - 2.0 * math.sqrt(0.25 / runs)) * runs


def test_a_lift_has_bounds_where_the_spread_is_estimated_once_there_are_units_enough() -> None:
    outcome, rule = bs.Numeric(), bs.Tilt(1)
    # Outcomes of 9 and 11, half of each: spread 1.
    even = bs.progress.ArmStatistics(400, 4000.0, 40_400.0, 412_000.0)
    assert mean_radius(outcome, even, 0.01) == pytest.approx(
        mean_radius(bs.Gaussian(math.sqrt(400 / 399)), even, 0.01)
    )
    # One buyer in 100: skewness 9.85, so that 1,940 units are needed.
    few = bs.progress.ArmStatistics(1500, 15.0, 15.0, 15.0)
    assert math.isinf(mean_radius(outcome, few, 0.01))
    assert math.isfinite(mean_radius(outcome, few + few, 0.01))
    # Adjusted outcomes of an arm do not have the mean of its outcomes.
    adjusted = bs.Design(
        ["a", "b"], bs.Bernoulli(), rule, covariates=[bs.Covariate("x", 0, 1)], sides=1
    )
    seen = _seen((4000, 400.0, 400.0), (4000, 480.0, 480.0))
    assert math.isinf(_found(adjusted, seen)[0].lift_high)


@pytest.mark.parametrize("goal", ["increase", "decrease"])
@pytest.mark.parametrize("arms", [["control", "green"], ["green", "control"]])
def test_a_planned_test_of_numbers_has_a_lift_with_the_level_of_the_difference(
    goal: Goal, arms: list[str]
) -> None:
    rule = bs.Tilt(3, effect=0.4, power=0.9)
    design = bs.Design(arms, bs.Numeric(), rule, control="control", goal=goal, reports="always")
    store, chance = bs.open(":memory:", clock=bs.ManualClock()), np.random.default_rng(3)
    test = store.create("t", design)
    shown = decided = 0
    for unit in range(900):
        mean = 2.6 if test.assign(unit) == "green" else 2.0
        test.record(unit, float(chance.normal(mean, 1.0)))
        status = test.status()
        (found,) = status.contrasts
        if math.isfinite(found.lift_low):
            shown += 1
            assert found.lift_error == found.error
            assert (found.lift_low >= 0.0, found.lift_high <= 0.0) == (
                found.low >= 0.0,
                found.high <= 0.0,
            )
            assert found.lift is not None
            assert found.lift_low <= found.lift <= found.lift_high
        if status.decision is not None:
            decided += 1
            assert found.lift_low <= 0.3 <= found.lift_high
            break
    assert shown > 20
    assert decided
    store.close()


def test_bounds_of_a_lift_are_those_of_the_ratio_that_the_boundary_rules_out() -> None:
    # Weighted sums of a control and a treatment, and a flat boundary of 3: a ratio r is ruled out
    # where `treatment - r control` is beyond 3 for r below 1, and beyond 3 r above 1.
    boundary, control = 3.0, 10.0
    for treatment in (5.0, 9.0, 11.0, 16.0, 40.0):
        total = treatment - control
        low, high = lift_of(control, treatment, total - boundary, total + boundary)
        for ratio, sign in ((1.0 + low, 1.0), (1.0 + high, -1.0)):
            reached = sign * (treatment - ratio * control)
            assert reached == pytest.approx(boundary * max(1.0, ratio))
    assert lift_of(2.0, 2.5, -2.5, 3.5) == (-math.inf, math.inf)


@pytest.mark.parametrize("treatment", [1.0, 1.5])
def test_a_lift_from_a_difference_is_seldom_wrong_at_any_look(treatment: float) -> None:
    design = bs.Design(
        ["control", "green"], bs.Numeric(), bs.Tilt(3, effect=0.5, power=0.9), error=0.2
    )
    procedure, chance, runs = block_procedure(design), np.random.default_rng(8), 40
    wrong = np.zeros((runs, 2))
    for run in range(runs):
        seen = Statistics.empty(2)
        while procedure.end_reason(seen) is None and procedure.winner(seen) == NOBODY:
            sizes = procedure.next_block(seen).units
            draws = [chance.normal(m, 1.0, n) for m, n in zip((1.0, treatment), sizes, strict=True)]
            block = [ArmStatistics(len(x), x.sum(), (x**2).sum(), (x**3).sum()) for x in draws]
            seen = procedure.fold_block(seen, block, look=False)
            low, high = lifts(design, seen, bs.progress.effects(design, seen))["green"]
            wrong[run] = np.maximum(wrong[run], (low > treatment - 1.0, high < treatment - 1.0))
    # Each end may be wrong in a tenth of the tests.
    assert all(wrong.mean(axis=0) <= 0.1 + 2.0 * math.sqrt(0.09 / runs))
    assert wrong.sum() > 0.0
