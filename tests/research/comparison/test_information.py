from __future__ import annotations

import numpy as np
import pytest

import bascule as bs
from bascule.research.comparison.information import information, oracle_of

pytestmark = pytest.mark.slow


def test_the_nearest_rivals_count_and_the_others_do_not() -> None:
    design = bs.Design(["a", "b", "c", "d"], bs.Gaussian(1), bs.UCB(2), error=0.05, sides=1)
    units = np.array([[20, 5, 30, 10], [60, 5, 60, 30]])
    played = bs.simulation.Simulation(
        design,
        bs.worlds.World((1.0, 0.0, 2.0, 1.0)),
        seed=0,
        winner=np.array([2, 2]),
        decision_time=units.sum(axis=1),
        regret=np.zeros(2),
        units=units,
        steps=int(units.sum()),
        seconds=0.0,
        compile_seconds=0.0,
    )
    # The best arm has 45 units on average, its two nearest rivals 30.
    assert information(played).mean == pytest.approx(45 * 30 / 75)


def test_the_oracle_looks_at_the_two_best_arms() -> None:
    assert oracle_of([0.0, 2.0, 1.5], bs.Gaussian(3.0), 0.05) == pytest.approx(
        bs.theory.oracle_information(0.5, 3.0, 0.05)
    )


def test_the_spread_of_zero_or_one_outcomes_is_that_of_both_arms() -> None:
    variance = (0.05 * 0.95 + 0.06 * 0.94) / 2
    assert oracle_of([0.05, 0.06], bs.Bernoulli(), 0.05) == pytest.approx(
        bs.theory.oracle_information(0.01, variance**0.5, 0.05)
    )


def test_limits_alone_do_not_say_what_an_oracle_needs() -> None:
    with pytest.raises(bs.InputError, match="compare the rules on"):
        oracle_of([0.2, 0.4], bs.Bounded(), 0.05)
