"""Shifts that a flat boundary rules out by lines: their error, and agreement with decisions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.evidence.families import known_spread
from bascule.core.evidence.families.known_spread import SLOPE, shift_left
from bascule.core.evidence.families.rows import Params
from bascule.core.evidence.horizon import line_crossed
from bascule.core.progress import block_procedure

RUNS, STEPS = 4000, 1000


def params_of(**options: Any) -> Params:
    rule = bs.Tilt(3, effect=0.1, power=0.9, guarantee="gaussian")
    return block_procedure(bs.Design(["a", "b"], bs.Gaussian(1), rule, **options)).params


def shift(total: float, clock: float, params: Params) -> float:
    line = known_spread.boundary(clock, params)
    return shift_left(total, clock, clock, 1.0, line, params)


@pytest.mark.parametrize(("start", "slope"), [(1.0, 0.0), (1.2, 0.5), (0.8, 2.0), (0.5, 3.0)])
def test_a_line_is_crossed_as_often_as_computed(start: float, slope: float) -> None:
    steps = np.random.default_rng(5).normal(size=(RUNS, STEPS)) / math.sqrt(STEPS)
    times = np.arange(1, STEPS + 1) / STEPS
    paths = np.cumsum(steps, axis=1)
    expected = line_crossed(start, slope, 1.0)
    error = math.sqrt(expected * (1.0 - expected) / RUNS)
    crossed = float(np.mean((paths >= start + slope * times).any(axis=1)))
    assert crossed <= expected + 3 * error
    # A path is seen beyond the line 0.583 standard deviations of a step too late on average.
    farther = start + 0.583 / math.sqrt(STEPS)
    assert abs(crossed - line_crossed(farther, slope, 1.0)) <= 3 * error


@pytest.mark.parametrize("min_effect", [0.0, 0.05])
def test_a_shift_is_that_of_its_line_and_agrees_with_decisions(min_effect: float) -> None:
    params = params_of(**({"min_effect": min_effect} if min_effect else {}))
    level, flat = math.exp(-params.threshold), params.constant * math.sqrt(params.last)
    chance = np.random.default_rng(2)
    for clock in (1.0, 30.0, 200.0, 900.0, params.last):
        shifts = []
        for total in sorted(chance.normal(0.05 * clock, 1.5 * math.sqrt(params.last), 40)):
            found = shift(total, clock, params)
            shifts.append(found)
            assert (found <= 0.0) == (total >= flat)
            assert (found <= params.margin) == (total + params.margin * clock >= flat)
            beyond = found - params.margin
            if beyond > 0.0:
                start = total + found * clock - SLOPE * beyond * clock
                crossed = line_crossed(start, SLOPE * beyond, math.sqrt(params.last))
                assert crossed <= level * (1 + 1e-6)
                assert crossed >= level * (1 - 1e-3)
        assert shifts == sorted(shifts, reverse=True)


@pytest.mark.parametrize("outcome", [bs.Gaussian(1), bs.Numeric()])
def test_tests_of_two_arms_keep_what_earlier_looks_ruled_out(outcome: Any) -> None:
    flat: Any = "gaussian" if outcome.known_spread else None
    rule = bs.Tilt(3, effect=0.3, power=0.9, guarantee=flat)
    store = bs.open(":memory:", clock=bs.ManualClock())
    test = store.create("t", bs.Design(["a", "b"], outcome, rule, reports="always"))
    chance, widths, shown = np.random.default_rng(7), [math.inf], 0
    for unit in range(400):
        arm = test.assign(unit)
        test.record(unit, float(chance.normal(0.25 * (arm == "b"), 1.0)))
        status = test.status()
        (effect,) = status.effects
        decided = status.decision is not None
        assert (effect.low >= 0.0 or effect.high <= 0.0) == decided
        width = effect.high - effect.low
        shown += math.isfinite(width)
        assert width <= widths[-1]
        widths.append(width)
        if decided:
            break
    assert shown > 50
    assert test.verify().agrees
    store.close()
