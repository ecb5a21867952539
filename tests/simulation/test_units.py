"""Units in simulation: the figures they are known by, how rarely they err, either engine."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy import stats

import bascule as bs

pytestmark = pytest.mark.slow

TABLE = {
    # log(1/delta), alpha: regret, decision time; means 0 and 1, both sigmas 1, 1000 runs.
    (4, 1.5): (99.4, 3466),
    (4, 2): (124.7, 1534),
    (4, 4): (189.0, 778),
    (4, 32): (290.2, 624),
    (4, 1e6): (308.0, 616),
    (12, 1.5): (126.2, 4154),
    (12, 2): (156.9, 1849),
    (12, 4): (234.6, 948),
    (12, 32): (356.6, 766),
    (12, 1e6): (380.8, 762),
}


def simulate(
    rule: Any, means: Any, runs: int, outcome: Any = None, **more: Any
) -> bs.simulation.Simulation:
    how = {name: more.pop(name) for name in ("engine", "shape", "seed") if name in more}
    names = [f"arm {i}" for i in range(len(means))]
    given = {"sides": None if "delta" in more else 1, **more}
    test = bs.Design(names, outcome or bs.Recurrent(1, 1), rule, **given)
    return bs.simulate(test, means, runs=runs, **{"seed": 7, **how})


def near(result: bs.simulation.Simulation, regret: float, time: float, their_runs: int) -> bool:
    """Within three standard errors of the difference to what others measured with so many runs."""
    more = math.sqrt(1 + result.runs / their_runs)
    summary = result.summary()
    return all(
        abs(summary[column].mean - figure) <= 3 * more * summary[column].se
        for column, figure in (("regret", regret), ("decision_time", time))
    )


@pytest.mark.parametrize(("cell", "figures"), TABLE.items(), ids=str)
def test_ucb_mm_costs_and_takes_what_it_is_known_for(
    cell: tuple[float, float], figures: tuple[float, float]
) -> None:
    level, alpha = cell
    runs = 150 if alpha == 1.5 else 400
    result = simulate(bs.UCB(alpha), [0, 1], runs, delta=math.exp(-level))
    assert near(result, *figures, their_runs=1000)
    assert result.error_rate == 0


def test_etc_prime_is_the_limit_of_large_alpha() -> None:
    result = simulate(bs.ETCPrime(), [0, 1], 400, delta=math.exp(-4))
    assert near(result, *TABLE[4, 1e6], their_runs=1000)


def test_precision_weights_decide_eight_times_sooner_than_algorithm_2() -> None:
    sharp = simulate(bs.UCB(2, radius="mixture"), [0, 1], 1000, error=0.05)
    paper = simulate(bs.UCB(2), [0, 1], 300, delta=0.05)
    assert near(sharp, 21.6, 180, their_runs=300)
    assert near(paper, 120, 1501, their_runs=1000)


ENGINES: list[tuple[Any, bs.Recurrent, list[float]]] = [
    (bs.UCB(2), bs.Recurrent(1, 1), [0, 3]),
    (bs.UCB(2, radius="mixture"), bs.Recurrent(1, 2), [0, 1.5]),
    (bs.UCB(3, radius="looks"), bs.Recurrent(0.5, 1), [0, 1]),
    (bs.ETC(), bs.Recurrent(1, 3), [0, 1.5]),
]


@pytest.mark.parametrize(("rule", "outcome", "means"), ENGINES)
def test_the_fast_engine_cannot_be_told_from_the_plain_one(
    rule: Any, outcome: bs.Recurrent, means: list[float]
) -> None:
    fast = simulate(rule, means, 1200, outcome, seed=1)
    plain = simulate(rule, means, 1200, outcome, seed=2, engine="plain")
    for column in ("decision_time", "regret"):
        assert stats.ks_2samp(getattr(fast, column), getattr(plain, column)).pvalue > 0.01


PROMISED: dict[str, Any] = {
    "mixture": bs.UCB(2, radius="mixture"),
    "mixture stop": bs.UCB(2, radius="mixture", stop="mixture"),
    "even mixture": bs.ETC(stop="mixture"),
    "looks": bs.UCB(2, radius="looks"),
    "ETC-MM": bs.ETC(),
}


@pytest.mark.parametrize("name", PROMISED)
@pytest.mark.parametrize("outcome", [bs.Recurrent(1, 1), bs.Recurrent(0.3, 1)], ids=str)
def test_equal_arms_are_rarely_told_apart(name: str, outcome: bs.Recurrent) -> None:
    error = 0.1
    result = simulate(PROMISED[name], [0, 0], 400, outcome, error=error, max_units=1000)
    # Either of the two wrong claims may come true.
    assert result.error_rate <= 2 * error


@pytest.mark.parametrize("name", PROMISED)
def test_a_small_gap_is_rarely_decided_wrongly(name: str) -> None:
    error = 0.2
    result = simulate(PROMISED[name], [0, 0.2], 400, error=error, max_units=1500)
    assert (result.winner == 0).mean() <= error


def test_three_arms() -> None:
    means = [0.0, 1.5, 0.5]
    for rule in (bs.UCB(2, radius="mixture"), bs.ETC(stop="mixture"), bs.ETC()):
        result = simulate(rule, means, 100, error=0.05)
        assert result.error_rate <= 0.05
        assert result.undecided == 0
        assert result.units[:, 1].mean() >= result.units[:, 0].mean()
