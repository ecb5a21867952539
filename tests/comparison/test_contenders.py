from __future__ import annotations

import pytest

import bascule as bs
from bascule.comparison.contenders import (
    FEWEST,
    TOO_MANY,
    Family,
    checked_knobs,
    contenders,
    expected_units,
    runs_for,
    short_name,
)
from bascule.simulation.engines.intervals import LARGEST_TABLE


def test_no_two_rules_are_called_the_same() -> None:
    played = set()
    for entries in (
        contenders(2, bs.Gaussian(1), 0.05, effect=0.5),
        contenders(2, bs.Bernoulli(), 0.05),
    ):
        labels = [entry.label for entry in entries]
        assert len(set(labels)) == len(labels)
        for family in Family:
            names = [short_name(entry.label) for entry in entries if entry.family is family]
            assert len(set(names)) == len(names)
        played |= {entry.family for entry in entries}
    assert played == set(Family)


def test_knobs_are_put_into_order_once() -> None:
    assert checked_knobs("alphas", iter([4, 2.0, 4])) == (2.0, 4.0)


def test_more_runs_are_fewer_in_the_same_proportion() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(1.5), error=0.05)
    few, many = (runs_for(design, [0.0, 0.05], runs) for runs in (1000, 10_000))
    assert FEWEST < few < 1000
    assert many == pytest.approx(10 * few, abs=10)
    assert runs_for(design, [0.0, 0.05], 20) == 20


def test_units_that_take_long_to_simulate_are_fewer() -> None:
    means = [0.0, 0.01]
    for rule, weight in ((bs.UCB(4), 1), (bs.UCB(4, stop="mixture"), 4)):
        design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=0.05)
        allowed = 1e8 / expected_units(design, means) / weight
        assert runs_for(design, means, 1000) == max(FEWEST, int(allowed))
    past_the_table = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(1.6, radius="mixture"))
    assert LARGEST_TABLE < expected_units(past_the_table, means) < TOO_MANY
    assert runs_for(past_the_table, means, 1000) == 0


def test_what_has_no_prediction_is_guessed_within_a_factor_of_two() -> None:
    means = [0.3, 0.5]
    for rule in (bs.Tilt(1), bs.Tilt(3), bs.UCB(2, radius="bernstein")):
        design = bs.Design(["a", "b"], bs.Bernoulli(), rule, error=0.05)
        measured = bs.simulate(design, means, runs=200, seed=1).decision_time.mean()
        assert 0.5 < expected_units(design, means) / measured < 2
