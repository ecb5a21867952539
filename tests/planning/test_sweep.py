"""How often a design is played follows from what one run of it takes."""

from __future__ import annotations

import pytest

import bascule as bs
from bascule.planning.sweep import Sweep, expected_units, unit_weight
from bascule.research.comparison.frontier import FEWEST, TOO_MANY, budget_for
from bascule.simulation.kernels.intervals import LARGEST_TABLE


def runs_for(design: bs.Design, means: list[float], runs: int) -> int:
    return budget_for(runs).runs(Sweep(0, None).effort(design, bs.worlds.World(means)))


def test_more_runs_are_fewer_in_the_same_proportion() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(1.5), error=0.05)
    few, many = (runs_for(design, [0.0, 0.05], runs) for runs in (1000, 10_000))
    assert FEWEST < few < 1000
    assert many == pytest.approx(10 * few, abs=10)
    assert runs_for(design, [0.0, 0.05], 20) == 20
    with bs.simulation.use_device("cuda"):
        # A GPU is quick enough for all of them.
        assert runs_for(design, [0.0, 0.05], 10_000) == 10_000


def test_units_that_take_long_to_simulate_are_fewer() -> None:
    means = [0.0, 0.01]
    for rule, weight in ((bs.UCB(4), 1), (bs.UCB(4, stop="mixture"), 4)):
        design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=0.05)
        allowed = 1e8 / expected_units(design, means) / weight
        assert runs_for(design, means, 1000) == max(FEWEST, int(allowed))
    past_the_table = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(1.6, radius="mixture"))
    assert LARGEST_TABLE < expected_units(past_the_table, means) < TOO_MANY
    assert runs_for(past_the_table, means, 1000) == 0


@pytest.mark.slow
def test_what_has_no_prediction_is_guessed_within_a_factor_of_two() -> None:
    means = [0.3, 0.5]
    for rule in (bs.Tilt(1), bs.Tilt(3)):
        design = bs.Design(["a", "b"], bs.Bernoulli(), rule, error=0.05)
        measured = bs.simulate(design, means, runs=200, seed=1).decision_time.mean()
        assert 0.5 < expected_units(design, means) / measured < 2


def test_outcomes_that_are_slow_to_draw_weigh_more() -> None:
    blocks, recurring = bs.Tilt(3), bs.UCB(2, radius="mixture")
    weights = [
        unit_weight(bs.Design(["a", "b"], outcome, rule), 1000.0)
        for outcome, rule in (
            (bs.Bernoulli(), blocks),
            (bs.Bounded(0, 1), blocks),
            (bs.Recurrent(1, 1), recurring),
        )
    ]
    assert weights == [1, 5, 40]
