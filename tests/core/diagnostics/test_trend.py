from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from bascule.core.diagnostics.drift import trend
from bascule.core.errors import InputError
from bascule.core.statistics import ArmStatistics, Statistics


def hits(*arms: tuple[int, int]) -> Statistics:
    """A period of 0/1 outcomes: units and hits of each arm."""
    return Statistics(tuple(ArmStatistics(n, float(k), float(k)) for n, k in arms))


def outcomes(*arms: np.ndarray) -> Statistics:
    return Statistics(
        tuple(ArmStatistics(len(y), float(y.sum()), float((y**2).sum())) for y in arms)
    )


def test_of_hits_it_is_pearsons_chi_square() -> None:
    days = [(200, 31), (180, 22), (210, 52)]
    found = trend([hits(day) for day in days])
    table = [[k, n - k] for n, k in days]
    pearson = chi2_contingency(table, correction=False)
    units = sum(n for n, _ in days)
    assert found.statistic == pytest.approx(pearson.statistic * (units - 1) / units)


def test_arms_add_up_and_a_difference_between_them_is_no_trend() -> None:
    first = [hits((200, 31)), hits((180, 22))]
    second = [hits((100, 71)), hits((130, 90))]
    both = [Statistics(a.arms + b.arms) for a, b in zip(first, second, strict=True)]
    assert trend(both).statistic == pytest.approx(trend(first).statistic + trend(second).statistic)


def test_shuffled_outcomes_have_the_statistic_that_chance_gives() -> None:
    """Whatever the outcomes, the mean over all orders is the degrees of freedom."""
    rng = np.random.default_rng(3)
    values = rng.lognormal(sigma=1.5, size=200)
    found = []
    for _ in range(2000):
        rng.shuffle(values)
        found.append(trend([outcomes(part) for part in np.split(values, [20, 80, 110])]).statistic)
    assert np.mean(found) == pytest.approx(3.0, abs=3.0 * float(np.std(found)) / len(found) ** 0.5)


def test_scale_and_origin_do_not_matter() -> None:
    rng = np.random.default_rng(4)
    days = [rng.standard_normal((2, 50)) for _ in range(6)]
    plain = trend([outcomes(*day) for day in days])
    moved = trend([outcomes(*(1000.0 + 7.0 * day)) for day in days])
    assert moved.p_value == pytest.approx(plain.p_value, rel=1e-6)


def test_periods_without_units_of_an_arm_change_nothing() -> None:
    days = [hits((100, 10), (100, 20)), hits((100, 30), (100, 22))]
    empty = hits((0, 0), (0, 0))
    assert trend([empty, days[0], empty, days[1], empty]) == trend(days)
    alone = [hits((100, 10), (0, 0)), hits((0, 0), (100, 20)), hits((100, 30), (0, 0))]
    assert trend(alone).statistic == pytest.approx(
        trend([hits((100, 10)), hits((100, 30))]).statistic
    )


def test_an_arm_is_cut_into_so_many_parts_at_most() -> None:
    rng = np.random.default_rng(5)
    days = [outcomes(rng.standard_normal(20)) for _ in range(120)]
    joined = [sum(days[i : i + 8], start=Statistics.empty(1)) for i in range(0, 120, 8)]
    assert trend(days).statistic == pytest.approx(trend(joined).statistic)
    assert trend(days, parts=3).statistic != pytest.approx(trend(days).statistic)


@pytest.mark.parametrize(
    "periods",
    [
        [hits((0, 0), (0, 0))],
        [hits((500, 50), (500, 50))],
        [hits((9, 3), (9, 5)), hits((3, 1), (2, 1))],
        [hits((500, 0), (500, 500)), hits((500, 0), (500, 500))],
    ],
    ids=["no units", "one period", "few units", "nothing varies"],
)
def test_with_too_little_to_tell_there_is_no_alarm(periods: list[Statistics]) -> None:
    found = trend(periods)
    assert (found.p_value, found.flagged) == (1.0, False)
    assert "too little" in found.message


def test_an_alarm_says_what_to_do() -> None:
    found = trend([hits((1000, 100)), hits((1000, 200))])
    assert found.flagged
    assert found.message.startswith("outcomes drifted during the test (p < 0.0001): compare")
    assert str(found).startswith("! trend: outcomes drifted")


@pytest.mark.parametrize("level", [0, 1, "0.01"])
def test_the_level_is_a_probability(level: float) -> None:
    with pytest.raises(InputError, match="level must"):
        trend([hits((10, 1))], level)


def test_one_part_is_none() -> None:
    with pytest.raises(InputError, match="parts must be at least 2"):
        trend([hits((10, 1))], parts=1)
