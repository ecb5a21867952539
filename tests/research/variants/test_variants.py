"""Rules for bounded outcomes, bounded units and either mean, against a few lines of NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.evidence.looks import coming_look, look_part
from bascule.core.evidence.normal import mixture_boundary
from bascule.core.evidence.radius import bernstein_radius, most_squares
from bascule.core.types import FloatArray
from bascule.research.variants.rules import checked_growth
from bascule.simulation.result import wilson

pytestmark = pytest.mark.slow

ERROR, ALPHA = 0.1, 3.0
RUNS, PLAYED = 150, 3000


def design(rule: Any, outcome: Any, **more: Any) -> bs.Design:
    return bs.Design(["a", "b"], outcome, rule, error=ERROR, sides=1, **more)


def decided(means: FloatArray, radii: FloatArray) -> int:
    best = int(np.argmax(means))
    return best if means[best] - radii[best] > means[1 - best] + radii[1 - best] else -1


def index(means: FloatArray, radii: FloatArray) -> int:
    return int(np.argmax(np.where(np.isinf(radii), np.inf, means + ALPHA * radii)))


def bernstein_run(rng: np.random.Generator, shares: tuple[float, float]) -> tuple[int, int, int]:
    """Play UCB with the empirical Bernstein radius: winner, units, units of the first arm."""
    outcomes: list[list[float]] = [[], []]
    means, radii = np.zeros(2), np.full(2, np.inf)
    winner = -1
    while winner < 0:
        arm = index(means, radii)
        outcomes[arm].append(float(rng.random() < shares[arm]))
        y = np.array(outcomes[arm])
        spread = most_squares(len(y), y.sum(), (y**2).sum(), 0.0, 1.0)
        means[arm] = y.mean()
        radii[arm] = bernstein_radius(len(y), spread, 0.0, 1.0, ERROR / 2)
        winner = decided(means, radii)
    return winner, len(outcomes[0]) + len(outcomes[1]), len(outcomes[0])


def units_run(rng: np.random.Generator, kind: str, means_of: tuple[float, float]) -> Any:
    """Play units that recur: winner, units, units of the first arm."""
    arms, own, totals = np.zeros(0, int), np.zeros(0), np.zeros(0)
    means, radii = np.zeros(2), np.full(2, np.inf)
    winner, stage = -1, 0
    while winner < 0:
        stage += 1
        arm = index(means, radii)
        mean = means_of[arm]
        effect = rng.beta(4 * mean, 4 * (1 - mean)) if kind == "bounded" else rng.normal(mean)
        arms, own, totals = np.append(arms, arm), np.append(own, effect), np.append(totals, 0.0)
        noisy = rng.random(stage) < own if kind == "bounded" else own + rng.normal(size=stage)
        totals = totals + noisy
        ages = np.arange(stage, 0, -1.0)
        averages = totals / ages
        number, look = coming_look(stage, 6, 1.5)
        level = ERROR / 2 * look_part(number)
        for arm in (0, 1):
            here = arms == arm
            if here.sum() < 3:
                continue
            if kind == "bounded":
                y = averages[here]
                spread = most_squares(len(y), y.sum(), (y**2).sum(), 0.0, 1.0)
                means[arm] = y.mean()
                radii[arm] = bernstein_radius(len(y), spread, 0.0, 1.0, level)
            else:
                w = ages[here] / look if kind == "total" else np.ones(here.sum())
                means[arm] = np.average(averages[here], weights=w)
                clock = (w**2 * (1 + 1 / ages[here])).sum()
                radii[arm] = mixture_boundary(clock, -math.log(level)) / w.sum()
        if stage == look:
            winner = decided(means, radii)
    return winner, stage, int((arms == 0).sum())


CASES = {
    "bernstein": (bs.research.UCBBernstein(ALPHA), bs.Bernoulli(), (0.1, 0.6)),
    "bounded": (bs.research.BoundedUnits(ALPHA), bs.Bernoulli(), (0.1, 0.8)),
    "means": (bs.research.UnitMeans(ALPHA, mean="means"), bs.Recurrent(1, 1), (0.0, 2.0)),
    "total": (bs.research.UnitMeans(ALPHA), bs.Recurrent(1, 1), (0.0, 2.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_loop_plays_as_a_few_lines_of_numpy(name: str) -> None:
    rule, outcome, means = CASES[name]
    rng = np.random.default_rng(7)
    runs = [
        bernstein_run(rng, means) if name == "bernstein" else units_run(rng, name, means)
        for _ in range(RUNS)
    ]
    plain = np.array(runs, float)
    fast = bs.simulate(design(rule, outcome), means, runs=PLAYED, seed=1)
    assert fast.undecided == 0
    for mine, theirs in (
        (plain[:, 1], fast.decision_time),
        (plain[:, 2], fast.units[:, 0]),
    ):
        error = math.hypot(mine.std() / math.sqrt(RUNS), theirs.std() / math.sqrt(PLAYED))
        assert mine.mean() == pytest.approx(theirs.mean(), abs=4 * error)
        assert mine.std() > 0


@pytest.mark.parametrize("name", CASES)
def test_the_error_is_kept_between_equal_arms(name: str) -> None:
    rule, outcome, means = CASES[name]
    tied = bs.simulate(design(rule, outcome, max_units=300), (means[0],) * 2, runs=2000, seed=2)
    # Either of two equal arms may be declared the better one.
    assert wilson((tied.winner >= 0).sum(), 2000)[0] <= 2 * ERROR


def test_alpha_trades_regret_for_time() -> None:
    times, regrets = zip(
        *(
            (played.decision_time.mean(), played.regret.mean())
            for alpha in (1.5, 4.0, math.inf)
            for played in [
                bs.simulate(
                    design(bs.research.UCBBernstein(alpha), bs.Bernoulli()), [0.2, 0.6], runs=300
                )
            ]
        ),
        strict=True,
    )
    assert times[0] > times[1] > times[2]
    assert regrets[0] < regrets[1] < regrets[2]


@pytest.mark.parametrize(
    ("rule", "outcome", "message"),
    [
        (bs.research.UCBBernstein(2), bs.Gaussian(1), "needs outcomes between two limits"),
        (bs.research.BoundedUnits(2), bs.Recurrent(1, 1), "needs outcomes between two limits"),
        (bs.research.UnitMeans(2), bs.Gaussian(1), "needs Recurrent outcomes"),
        (bs.research.UCBBernstein(1), bs.Bernoulli(), "set max_units"),
    ],
)
def test_what_a_rule_cannot_compare_is_refused(rule: Any, outcome: Any, message: str) -> None:
    with pytest.raises(bs.InputError, match=message):
        design(rule, outcome)


def test_they_are_for_simulation() -> None:
    test = design(bs.research.UCBBernstein(2), bs.Bernoulli())
    assert test.calibration.guarantee == "proven"
    with bs.open(":memory:") as store, pytest.raises(bs.InputError, match="rule for simulation"):
        store.create("test", test, reports="always")
    with pytest.raises(bs.InputError, match="where outcomes come at once"):
        bs.simulate(test, [0.1, 0.3], runs=5, world="delay")
    with pytest.raises(bs.InputError, match="above 1"):
        checked_growth(1.0)


def test_etc_as_printed_needs_about_twice_the_units_of_etc_with_four_arms() -> None:
    means, times = [0.0, 0.5, 0.5, 1.0], []
    for rule in (bs.ETC(), bs.research.ETCPrinted()):
        four = bs.Design(list("abcd"), bs.Gaussian(1), rule, delta=math.exp(-6))
        times.append(bs.simulate(four, means, runs=300, seed=0).decision_time.mean())
    # The square of the threshold is twice as large.
    assert times[1] / times[0] == pytest.approx(2.0, rel=0.1)
    two = bs.Design(["a", "b"], bs.Gaussian(1), bs.research.ETCPrinted(), delta=0.01)
    same = bs.Design(["a", "b"], bs.Gaussian(1), bs.ETC(), delta=0.01)
    assert bs.simulate(two, [0, 1], runs=50).regret.sum() == pytest.approx(
        bs.simulate(same, [0, 1], runs=50).regret.sum()
    )
