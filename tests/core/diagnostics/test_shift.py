from __future__ import annotations

import numpy as np
import pytest

from bascule.core.diagnostics.drift import shift
from bascule.core.statistics import ArmStatistics, Statistics


def outcomes(*arms: np.ndarray) -> Statistics:
    return Statistics(
        tuple(ArmStatistics(len(y), float(y.sum()), float((y**2).sum())) for y in arms)
    )


def hits(*arms: tuple[int, int]) -> Statistics:
    return Statistics(tuple(ArmStatistics(n, float(k), float(k)) for n, k in arms))


def z_by_hand(days: list[list[np.ndarray]], variances: list[float]) -> float:
    """Raw less stratified difference of two arms over its standard error, term by term."""
    sizes = np.array([[len(y) for y in day] for day in days], float)
    means = np.array([[y.mean() for y in day] for day in days])
    weights = sizes[:, 0] * sizes[:, 1] / sizes.sum(axis=1)
    shares = sizes / sizes.sum(axis=0) - (weights / weights.sum())[:, None]
    difference = (shares * means) @ [1.0, -1.0]
    variance = np.sum(shares**2 / sizes @ np.array(variances))
    return float(difference.sum() / np.sqrt(variance))


def test_it_is_the_difference_over_its_standard_error() -> None:
    rng = np.random.default_rng(1)
    days = [
        [rng.normal(0, 1, 90), rng.normal(1, 3, 30)],
        [rng.normal(0, 1, 50), rng.normal(1, 3, 70)],
        [rng.normal(0, 1, 80), rng.normal(1, 3, 40)],
    ]
    variances = [np.concatenate([day[arm] for day in days]).var(ddof=1) for arm in range(2)]
    found = shift([outcomes(*day) for day in days])
    assert found.statistic == pytest.approx(z_by_hand(days, variances))


def test_with_equal_variances_the_standard_error_is_that_of_hausman() -> None:
    """Var(raw - stratified) = Var(stratified) - Var(raw) = s^2 (1/H - 1/N_i - 1/N_j)."""
    sizes = np.array([[90.0, 30.0], [50.0, 70.0], [80.0, 40.0]])
    weights = sizes.prod(axis=1) / sizes.sum(axis=1)
    shares = sizes / sizes.sum(axis=0) - (weights / weights.sum())[:, None]
    closed = 1.0 / weights.sum() - np.sum(1.0 / sizes.sum(axis=0))
    assert np.sum(shares**2 / sizes) == pytest.approx(closed)


def test_simpsons_paradox_is_found() -> None:
    early, late = hits((900, 90), (100, 12)), hits((500, 150), (500, 152))
    found = shift([early, late])
    assert found.flagged
    assert "differ by -0.102 overall but by -0.00824 within parts" in found.message


def test_a_trend_under_constant_shares_shifts_nothing() -> None:
    days = [hits((300, 30), (100, 12)), hits((600, 200), (200, 70)), hits((30, 3), (10, 1))]
    found = shift(days)
    assert (found.statistic, found.p_value) == (0.0, 1.0)
    assert "shares of the arms never moved" in found.message


def test_large_offsets_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    days = [[rng.standard_normal(n), rng.standard_normal(120 - n)] for n in (30, 60, 90, 50)]
    plain = shift([outcomes(*day) for day in days])
    moved = shift([outcomes(*(y + 10_000.0 for y in day)) for day in days])
    assert moved.statistic == pytest.approx(plain.statistic, rel=1e-4)


def test_of_many_pairs_the_worst_counts_and_pays_for_all() -> None:
    rng = np.random.default_rng(3)
    drift = (0.0, 2.0)
    days = [
        [rng.normal(drift[day], 1, n) for n in sizes]
        for day, sizes in enumerate(((100, 100, 20), (100, 100, 180)))
    ]
    found = shift([outcomes(*day) for day in days])
    pairs = [shift([outcomes(day[i], day[j]) for day in days]) for i, j in ((0, 1), (0, 2), (1, 2))]
    # Arms 0 and 1 have constant shares, so only two pairs are compared.
    assert found.p_value == pytest.approx(2.0 * min(pair.p_value for pair in pairs), rel=0.2)
    assert pairs[0].p_value == 1.0
    assert found.message.startswith(("arms 0 and 2", "arms 1 and 2"))


def test_days_without_units_of_an_arm_count_in_the_raw_difference_only() -> None:
    days = [hits((500, 50), (500, 55)), hits((500, 200), (0, 0))]
    found = shift(days)
    assert found.flagged
    assert "differ by 0.14 overall but by -0.01 within parts" in found.message


@pytest.mark.parametrize(
    "periods",
    [
        [hits((0, 0), (0, 0))],
        [hits((500, 50), (100, 10))],
        [hits((500, 50), (0, 0)), hits((0, 0), (500, 50))],
        [hits((5, 2), (3, 2)), hits((3, 2), (5, 2))],
        [hits((500, 50)), hits((500, 60))],
    ],
    ids=["no units", "one period", "never together", "few units", "one arm"],
)
def test_with_nothing_to_compare_there_is_no_alarm(periods: list[Statistics]) -> None:
    assert shift(periods).p_value == 1.0
