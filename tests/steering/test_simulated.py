"""Steered tests in simulations: false winners, and what a test takes and costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from bench.steering import PER_DAY, design_of, ties

import bascule as bs
from bascule.core.calendar import DAY
from bascule.core.course_rows import terms_of
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.rounds import course_in_rounds, in_rounds, next_shares, rounds_loop
from bascule.core.statistics import Statistics
from bascule.simulation.kernels.blocks import compiled_params
from bascule.simulation.kernels.compiled import compile_loop
from bascule.simulation.kernels.guards import room_for_test
from bascule.simulation.result import Estimate
from bascule.simulation.steered import simulate_steered
from bascule.steering.evidence import fold_blocks, generator_of, ordered
from bascule.steering.reading import Counts, Outcomes

pytestmark = pytest.mark.slow


def test_equal_arms_with_weekdays_and_a_trend_keep_the_error() -> None:
    runs, error = 400, 0.05
    most = runs * error + 3.0 * math.sqrt(runs * error * (1.0 - error))
    found = ties(runs)
    assert 0 < found <= most


@pytest.mark.parametrize(
    ("better", "window", "runs", "days", "lost"),
    [
        (0.06, "1d", 300, Estimate(5.4, 0.1), Estimate(77.0, 1.0)),
        (0.055, "1d", 60, Estimate(23.1, 0.4), Estimate(111.0, 2.0)),
        (0.055, "7d", 60, Estimate(21.6, 0.4), Estimate(161.0, 2.0)),
    ],
)
def test_days_and_conversions_lost_are_those_of_the_page(
    better: float, window: str, runs: int, days: Estimate, lost: Estimate
) -> None:
    played = simulate_steered(
        design_of(better, window), (0.05, better), PER_DAY, runs=runs, seed=10_000
    )
    for found, stated in ((played.expected_days, days), (played.expected_cost, lost)):
        assert abs(found.mean - stated.mean) < 3.0 * math.hypot(found.se, stated.se)
    assert np.count_nonzero(played.winners == 0) <= 0.025 * runs


def test_the_compiled_loop_is_that_of_a_run() -> None:
    design = design_of(0.06, "1d")
    procedure = design.procedure
    assert isinstance(procedure, BlockProcedure)
    block: Counts = {"control": {(0.0,): 2850, (1.0,): 150}, "variant": {(0.0,): 2700, (1.0,): 300}}
    run = fold_blocks(design, [block], "test", [DAY], DAY).state
    assert run.ending.verdict is not None
    assert run.ending.verdict.name == "variant"
    generator = generator_of("test/0")
    arms = [ordered(block[arm], generator)[:, 0] for arm in design.arms]
    number, powers = in_rounds(arms)
    rows = [np.array(part) for part in procedure.rows(procedure.empty())]
    course, columns = course_in_rounds(design)
    test, marks = room_for_test(2)
    course.start(test, marks, *rows, rows[0], 2)
    # Simulations keep no lifts.
    params = compiled_params(procedure)._replace(direction=procedure.params.direction)
    terms = terms_of(design, params, params, 1.0)
    compiled: Any = compile_loop(rounds_loop, course, columns)
    end = compiled(test, marks, *rows, 2, 1.0, terms, number, np.array(powers))
    assert end.winner == 1
    assert [arm.units for arm in run.once.arms] == powers[0][: end.rounds].sum(axis=0).tolist()
    for mine, theirs in zip(run.once.pairs, rows[1], strict=True):
        assert np.array(mine) == pytest.approx(theirs, rel=1e-9)


def test_rounds_have_every_unit_once() -> None:
    rng = np.random.default_rng(0)
    outcomes = [rng.random(7), rng.random(23), np.array([])]
    number, (units, sums, squares, cubes) = in_rounds(outcomes)
    assert number == 7
    assert units.sum(axis=0).tolist() == [7.0, 23.0, 0.0]
    assert units[:, 1].max() - units[:, 1].min() <= 1.0
    for power, part in enumerate((sums, squares, cubes), 1):
        assert part.sum(axis=0) == pytest.approx([(arm**power).sum() for arm in outcomes])


def test_the_order_is_blind_to_outcomes() -> None:
    mixed: dict[Outcomes, int] = {(0.0,): 90, (1.0,): 10}
    places = [np.flatnonzero(ordered(mixed, np.random.default_rng(seed))) for seed in range(500)]
    # The mean place of a conversion is that of any unit.
    mean = float(np.mean(places))
    assert abs(mean - 49.5) < 3.0 * math.sqrt((100**2 - 1) / 12.0 / 5000)
    first, again = (ordered(mixed, np.random.default_rng(1)) for _ in range(2))
    assert np.array_equal(first, again)


def test_shares_of_dropped_arms_are_0() -> None:
    design = bs.Design(["a", "b", "c"], bs.Bernoulli(), bs.Tilt(3))
    shares = next_shares(design, Statistics(Statistics.empty(3).arms, dropped=frozenset({1})))
    assert shares == {"a": 0.5, "b": 0.0, "c": 0.5}
