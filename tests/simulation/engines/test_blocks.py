"""Drawing the sum of an arm's outcomes in a block is, in distribution, drawing each of them."""

from __future__ import annotations

from typing import Any

import pytest
from scipy.stats import ks_2samp

import bascule as bs
from bascule.simulation.random.draws import hits

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
    design = bs.Design(list("abc")[: len(means)], outcome, rule)
    plain = bs.simulate(design, means, RUNS, seed=1, engine="plain")
    fast = bs.simulate(design, means, RUNS, seed=2, engine="fast")
    for column in ("decision_time", "regret"):
        assert ks_2samp(getattr(plain, column), getattr(fast, column)).pvalue > 0.001
    assert plain.winner.tolist() == bs.simulate(design, means, RUNS, seed=1).winner.tolist()
    assert "drawn as their sum" in repr(fast)


def test_hits_have_the_binomial_distribution() -> None:
    noise = [(k + 0.5) / 100_000 for k in range(100_000)]
    counts = [hits(0.3, 0.0, 3.0, each) for each in noise]
    shares = [counts.count(k) / 100_000 for k in range(4)]
    assert shares == pytest.approx([0.343, 0.441, 0.189, 0.027], abs=2e-5)


@pytest.mark.parametrize(
    ("design", "world"),
    [
        (bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2)), None),
        (bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(2)), "rising"),
        (bs.Design(["a", "b"], bs.Bounded(0, 1), bs.Tilt(2)), None),
    ],
)
def test_where_sums_do_not_suffice_the_fast_engine_is_refused(
    design: bs.Design, world: str | None
) -> None:
    with pytest.raises(bs.InputError, match="engine"):
        bs.simulate(design, [0.2, 0.4], 10, world=world, engine="fast")
