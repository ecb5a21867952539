"""Drawing the sum of an arm's outcomes in a block is, in distribution, drawing each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

import bascule as bs
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.simulation.random import (
    WORDS,
    fill_normals,
    hits,
    seed_stream,
    ziggurat_table,
)

RUNS = 1500


@pytest.mark.parametrize(
    ("outcome", "rule", "means"),
    [
        (bs.Gaussian(2), bs.Tilt(3), [0.0, 1.0]),
        (bs.Gaussian(2), bs.Tilt(10, batch=2), [0.0, 1.0, 0.5]),
        (bs.Bernoulli(), bs.Tilt(3, batch=3), [0.3, 0.6]),
    ],
)
def test_decision_times_and_regret_of_both_engines_are_alike(
    outcome: Any, rule: Any, means: list[float]
) -> None:
    design = bs.Design(list("abc")[: len(means)], outcome, rule, sides=1)
    plain = bs.simulate(design, means, RUNS, seed=1, engine="plain")
    fast = bs.simulate(design, means, RUNS, seed=2, engine="fast")
    for column in ("decision_time", "regret"):
        assert ks_2samp(getattr(plain, column), getattr(fast, column)).pvalue > 0.001
    wrong = [int((each.winner != np.argmax(means)).sum()) for each in (plain, fast)]
    assert abs(wrong[0] - wrong[1]) <= 3.3 * max(1, sum(wrong)) ** 0.5
    assert plain.winner.tolist() == bs.simulate(design, means, RUNS, seed=1).winner.tolist()
    assert "drawn as their sum" in repr(fast)


@pytest.mark.parametrize(
    ("rule", "cap"), [(bs.Tilt(3), None), (bs.Tilt(10, batch=3, effect=0.5), 400)]
)
def test_one_number_a_block_gives_the_decisions_of_the_procedure(
    rule: Any, cap: int | None
) -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(2), rule, max_units=cap, sides=1)
    fast = bs.simulate(design, [0.0, 1.0], 6, seed=4, engine="fast")
    procedure, noise = design.procedure, np.empty(1000)
    for run in range(6):
        stream = np.empty(WORDS, np.uint64)
        with np.errstate(over="ignore"):
            seed_stream(stream, 0, np.uint64(4), np.uint64(run))
            fill_normals(stream, 0, noise, 0, len(noise), ziggurat_table())
        statistics, numbers = Statistics.empty(2), iter(noise.tolist())
        while procedure.winner(statistics) == -1:
            block = procedure.next_block(statistics)
            if cap is not None and statistics.units + block.size > cap:
                break
            mine, theirs = block.units
            weight = mine * theirs / (mine + theirs)
            difference = -1.0 + 2.0 * next(numbers) / weight**0.5
            seen = (ArmStatistics(mine, mine * difference, 0.0), ArmStatistics(theirs, 0.0, 0.0))
            statistics = procedure.fold_block(statistics, seen)
        assert fast.units[run].tolist() == [arm.units for arm in statistics.arms]
        assert fast.winner[run] == procedure.winner(statistics)


def test_hits_have_the_binomial_distribution() -> None:
    noise = [(k + 0.5) / 100_000 for k in range(100_000)]
    counts = [hits(0.3, 0.0, 3.0, each) for each in noise]
    shares = [counts.count(k) / 100_000 for k in range(4)]
    assert shares == pytest.approx([0.343, 0.441, 0.189, 0.027], abs=2e-5)


@pytest.mark.parametrize(
    ("design", "world"),
    [
        (bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), sides=1), None),
        (bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(2), sides=1), "rising"),
        (bs.Design(["a", "b"], bs.Bounded(0, 1), bs.Tilt(2), sides=1), None),
    ],
)
def test_where_sums_do_not_suffice_the_fast_engine_is_refused(
    design: bs.Design, world: str | None
) -> None:
    with pytest.raises(bs.InputError, match="engine"):
        bs.simulate(design, [0.2, 0.4], 10, world=world, engine="fast")
