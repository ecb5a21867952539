"""Adjustment by covariates: coefficients of earlier blocks, sums that merge, limits for bets."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import bascule as bs
from bascule.core.covariates import RIDGE, Adjustment, Sums

pytestmark = pytest.mark.slow

ONE = Adjustment((bs.Covariate("x"),), 0.0)
TWO = Adjustment((bs.Covariate("x"), bs.Covariate("w")), 0.0)


def folded(adjustment: Adjustment, x: np.ndarray, y: np.ndarray, size: int) -> Sums:
    """The sums of blocks of a size."""
    sums: Sums = ()
    for first in range(0, len(y), size):
        block: Sums = ()
        for i in range(first, first + size):
            block = adjustment.added(block, float(y[i]), tuple(map(float, np.atleast_1d(x[i]))))
        sums = adjustment.folded(sums, block)
    return sums


def test_coefficients_are_those_of_a_regression_within_blocks_with_a_small_ridge() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
    y = x @ [2.0, -1.0] + rng.normal(size=400)
    inside = [
        part - np.repeat(part.reshape(100, 4, -1).mean(axis=1), 4, axis=0)
        for part in (x, y[:, None])
    ]
    products = inside[0].T @ inside[0]
    ridge = products + np.diag(np.diag(products)) * RIDGE / 400
    wanted = np.linalg.solve(ridge, inside[0].T @ inside[1]).ravel()
    found = TWO.coefficients(folded(TWO, x, y, 4))
    assert list(found.values()) == pytest.approx(wanted.tolist())


def test_a_trend_that_both_share_has_no_say() -> None:
    rng = np.random.default_rng(2)
    trend = np.linspace(0.0, 50.0, 2000)
    x, y = rng.normal(size=2000) + trend, rng.normal(size=2000) + 3.0 * trend
    assert abs(ONE.coefficients(folded(ONE, x, y, 4))["x"]) < 0.1


def test_sums_of_parts_add_up_to_those_of_the_whole() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=120), rng.normal(size=120)
    parts = [bs.progress.Statistics.empty(2), bs.progress.Statistics.empty(2)]
    both = replace(parts[0], covariates=folded(ONE, x[:48], y[:48], 4)) + replace(
        parts[1], covariates=folded(ONE, x[48:], y[48:], 4)
    )
    assert both.covariates == pytest.approx(folded(ONE, x, y, 4))


def test_a_few_units_a_constant_and_a_copy_change_nothing() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=200), rng.normal(size=200)
    assert ONE.coefficients(folded(ONE, x[:8], y[:8], 4)) == {"x": 0.0}
    assert ONE.coefficients(folded(ONE, np.full(200, 7.0), y, 4)) == {"x": 0.0}
    twice = TWO.coefficients(folded(TWO, np.column_stack([x, x]), x + y, 4))
    alone = ONE.coefficients(folded(ONE, x, x + y, 4))["x"]
    assert sum(twice.values()) == pytest.approx(alone, rel=0.05)


def test_with_limits_no_difference_moves_further_than_they_allow() -> None:
    limited = Adjustment((bs.Covariate("x", 0, 10), bs.Covariate("w", -1, 1)), 1.0)
    rng = np.random.default_rng(5)
    x = np.column_stack([rng.uniform(0, 10, 400), rng.uniform(-1, 1, 400)])
    sums = folded(limited, x, 5.0 * x[:, 0] + 9.0 * x[:, 1], 4)
    found = limited.coefficients(sums)
    assert 10 * abs(found["x"]) + 2 * abs(found["w"]) == pytest.approx(1.0)


def test_an_adversary_who_chooses_covariates_after_every_outcome_finds_no_false_winner() -> None:
    """Covariates follow the trend and the lead so far; outcomes do not depend on the arm."""
    covariates = [bs.Covariate("x", 0, 100)]
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), covariates=covariates, sides=1)
    assert design.adjustment is not None
    wins, runs = np.zeros(2), 60
    for run in range(runs):
        rng, seen, lead = np.random.default_rng(run), bs.progress.Statistics.empty(2), 0.0
        for step in range(60):
            coming = bs.progress.next_block(design, seen).units
            arms = rng.permutation(np.repeat([0, 1], coming))
            block, known = (
                [bs.progress.ArmStatistics(), bs.progress.ArmStatistics()],
                design.adjustment.empty,
            )
            for k, arm in enumerate(arms):
                # The first of a block is unlike the others, who follow the lead.
                x = 0.0 if k == 0 else float(np.clip(50 + 5 * lead + step / 2, 0, 100))
                y = float(rng.random() < 0.2 + 0.6 * step / 60)
                known = design.adjustment.added(known, y, (x,))
                z = design.adjustment.adjust(seen.covariates, y, (x,))
                block[arm] += design.procedure.unit_sums(z)
                lead += y * (2 * arm - 1)
            seen = bs.progress.fold_block(design, seen, block, covariates=known)
            reached = bs.progress.decision(design, seen)
            if reached is not None:
                wins[reached.arm] += 1
                break
    assert wins.max() / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("outcome", [bs.Numeric(1.0), bs.Bernoulli()])
def test_the_contract_holds_with_covariates(outcome: bs.design.Outcome) -> None:
    covariates = [bs.Covariate("x", 0, 6), bs.Covariate("w", 0, 3)]
    design = bs.Design(["a", "b"], outcome, bs.Tilt(3), covariates=covariates, sides=1)
    passed = bs.design.check_contract(design, [0.2, 0.9])
    assert {"trace agrees with simulate", "live test agrees with verify"} <= set(passed)
