"""The estimate after a decision is as often too large as too small."""

from collections.abc import Callable

import numpy as np
import pytest

import bascule as bs
from bascule.core.outcomes import Outcome
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.theory.unbiased import unbiased_difference

RUNS = 80

Draw = Callable[[np.random.Generator, int], np.ndarray]


def normal(mean: float) -> Draw:
    """Normal outcomes with spread 1."""
    return lambda rng, units: rng.normal(mean, 1.0, units)


def coin(mean: float) -> Draw:
    """0/1 outcomes."""
    return lambda rng, units: (rng.random(units) < mean).astype(float)


def ended(design: bs.Design, draws: list[Draw], rng: np.random.Generator) -> Statistics:
    """Return what a test has shown at its end."""
    procedure = design.procedure
    assert isinstance(procedure, BlockProcedure)
    seen = procedure.empty()
    while procedure.winner(seen) < 0 and procedure.end_reason(seen) is None:
        block = []
        for draw, units in zip(draws, procedure.next_block(seen).units, strict=True):
            values = draw(rng, units)
            total, squares, cubes = (float((values**power).sum()) for power in (1, 2, 3))
            block.append(ArmStatistics(units, total, squares, cubes))
        seen = procedure.fold_block(seen, block)
    return seen


@pytest.mark.parametrize(
    ("outcome", "rule", "draws", "difference"),
    [
        (bs.Gaussian(1), bs.Tilt(1, effect=0.5, power=0.9), [normal(0), normal(0.5)], 0.5),
        (bs.Gaussian(1), bs.Tilt(3, effect=0.5, power=0.9), [normal(0), normal(0.25)], 0.25),
        (
            bs.Bernoulli(),
            bs.Tilt(3, effect=0.2, power=0.9, baseline=0.3),
            [coin(0.3), coin(0.5)],
            0.2,
        ),
        (bs.Numeric(), bs.Tilt(3, effect=0.5, power=0.9), [normal(0), normal(0.5)], 0.5),
    ],
    ids=["planned", "half of it", "bets", "estimated"],
)
def test_the_median_is_the_difference(
    outcome: Outcome, rule: bs.Tilt, draws: list[Draw], difference: float
) -> None:
    design = bs.Design(["a", "b"], outcome, rule, error=0.05, sides=1)
    rng = np.random.default_rng(5)
    unbiased, plain = [], []
    for _ in range(RUNS):
        seen = ended(design, draws, rng)
        estimate = unbiased_difference(design, seen, 1, 0)
        assert estimate is not None
        unbiased.append(estimate)
        plain.append(
            seen.arms[1].total / seen.arms[1].units - seen.arms[0].total / seen.arms[0].units
        )
    # A median has 1.25 times the standard error of a mean.
    doubt = 1.25 * float(np.std(unbiased)) / RUNS**0.5
    assert abs(float(np.median(unbiased)) - difference) < 0.1 * difference + 2 * doubt
    assert np.mean(plain) > np.mean(unbiased)


def test_a_test_without_a_horizon_has_one_too_and_a_goal_turns_it() -> None:
    draws = [normal(0), normal(1.0)]
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05)
    seen = ended(design, draws, np.random.default_rng(2))
    estimate = unbiased_difference(design, seen, 1, 0)
    assert estimate is not None
    shown = seen.arms[1].total / seen.arms[1].units - seen.arms[0].total / seen.arms[0].units
    assert 0.3 * shown < estimate < shown
    assert unbiased_difference(design, seen, 0, 1) == -estimate


def test_the_estimate_is_in_units_of_the_outcomes() -> None:
    estimates = []
    for outcome, scale in ((bs.Bernoulli(), 1.0), (bs.Bounded(0, 10), 10.0)):
        design = bs.Design(["a", "b"], outcome, bs.Tilt(3), error=0.05)
        draws: list[Draw] = [
            lambda rng, units, share=share, scale=scale: scale * coin(share)(rng, units)  # type: ignore[misc]
            for share in (0.2, 0.6)
        ]
        seen = ended(design, draws, np.random.default_rng(1))
        estimate = unbiased_difference(design, seen, 1, 0)
        assert estimate is not None
        estimates.append(estimate / scale)
    assert 0.0 < estimates[0] < 1.0
    assert estimates[1] == pytest.approx(estimates[0])
