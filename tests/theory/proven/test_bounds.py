"""What is proven has to hold in simulation, and the sharper proof has to be the sharper one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bascule as bs
from bascule.theory import bounds, c_alpha, mean_path, published_bounds, sharper_c_alpha

ALPHAS = st.floats(1.01, 100)


def design(rule: object, arms: int = 2, **promise: float) -> bs.Design:
    names = [str(i) for i in range(arms)]
    given = promise if "delta" in promise else {"error": 0.05, "sides": 1, **promise}
    return bs.Design(names, bs.Gaussian(1), rule, **given)  # type: ignore[arg-type]


def test_c_alpha_goes_from_one_to_four_over_its_peak() -> None:
    assert c_alpha(1) == 1
    assert c_alpha(math.inf) == 4
    peak = 2 + math.sqrt(5)
    assert c_alpha(peak) == pytest.approx(6.854, abs=1e-3)
    assert max(c_alpha(a) for a in np.linspace(1, 50, 5000)) <= c_alpha(peak) + 1e-9


@given(ALPHAS)
def test_our_constant_is_below_the_papers_and_grows(alpha: float) -> None:
    assert 1 <= sharper_c_alpha(alpha) <= c_alpha(alpha) + 1e-12
    assert sharper_c_alpha(alpha) <= sharper_c_alpha(alpha * 1.01) <= 4


@given(ALPHAS, st.floats(0.01, 3), st.floats(1e-6, 0.2))
def test_our_bound_is_below_the_papers(alpha: float, gap: float, error: float) -> None:
    test = design(bs.UCB(alpha), error=error)
    ours, theirs = bounds(test, gap), published_bounds(test, gap)
    # Ours counts whole units, which is worth at most two of them.
    assert ours.decision_time <= theirs.decision_time + 2
    assert ours.regret <= theirs.regret + gap


def test_the_papers_theorem_is_read_with_its_slips_corrected() -> None:
    """C1 = 2 sigma^2/gap^2 * 4 c_alpha + 1 and C2 = ((a+1)/(a-1))^2 C1 + 1, solved for n."""
    test = design(bs.UCB(2), delta=0.01)
    promise = published_bounds(test, 0.5)
    first = 8 * c_alpha(2) / 0.25 + 1
    second = 9 * first + 1
    for n, information in zip(promise.units, (second, first), strict=True):
        assert n / math.log(3 * math.log(n) ** 2 / 0.01) == pytest.approx(information, rel=1e-9)
    assert promise.regret == pytest.approx(0.5 * promise.units[1])


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.UCB(4), bs.ETC(), bs.ETCPrime()])
def test_proven_is_about_four_times_what_is_expected(rule: object) -> None:
    test = design(rule, delta=1e-12)
    ratio = bounds(test, 0.05).decision_time / mean_path(test, 0.05).decision_time
    assert 4 < ratio < 4.5


@pytest.mark.parametrize("rule", [bs.UCB(1.5), bs.UCB(4), bs.UCB(math.inf), bs.ETC()])
@pytest.mark.parametrize("means", [(0.0, 1.0), (0.0, 0.2, 1.0), (0.0,) * 10 + (0.5,)])
def test_bounds_hold_in_simulation(rule: object, means: tuple[float, ...]) -> None:
    test = design(rule, len(means), error=0.05)
    gaps = [max(means) - mean for mean in means[:-1]]
    promise = bounds(test, gaps)
    result = bs.simulate(test, means, runs=400, seed=4)
    kept = (result.decision_time <= promise.decision_time) & (result.regret <= promise.regret)
    assert np.mean(kept & ~result.wrong) >= 1 - promise.error
    # Not an empty promise either: the mean is within an order of magnitude of it.
    assert promise.decision_time < 12 * result.decision_time.mean()


def test_with_three_arms_and_a_large_alpha_the_smallest_gap_rules_every_arm() -> None:
    """The paper's corollary bounds the worst arm by its own gap, and simulation exceeds that."""
    test = design(bs.UCB(32), 3, delta=0.01)
    means = (1.0, 0.8, -1.0)
    result = bs.simulate(test, means, runs=100, seed=1)
    log_term = math.log(4.5 * math.log(1000) ** 2 / 0.01)
    papers = (8 * c_alpha(32) / 2.0**2 + 1) * log_term
    assert result.units[:, 2].mean() > 3 * papers
    assert result.units[:, 2].max() <= bounds(test, (0.2, 2.0)).units[2]
    assert result.units[:, 2].max() <= published_bounds(test, (0.2, 2.0)).units[2]


def test_alpha_one_is_bounded_in_regret_and_by_its_cap_in_time() -> None:
    test = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(1), error=0.05, max_units=10_000, sides=1)
    assert bounds(test, 1.0).decision_time == 10_000
    assert bounds(test, 1.0).regret < 100


def test_gaps_may_come_as_an_array() -> None:
    test = design(bs.UCB(2), 3)
    assert bounds(test, np.array([0.5, 1.0])) == bounds(test, [0.5, 1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize("alpha", [1.5, 4.0, 32.0])
def test_no_rival_is_pulled_below_its_proven_radius(alpha: float) -> None:
    """The step of the proof itself, at every unit of traced runs with three arms."""
    means, smallest = (1.0, 0.6, -0.5), 0.4
    test = design(bs.UCB(alpha), 3, error=0.2)
    for run in range(2):
        before = bs.progress.Statistics.empty(3)
        for step in bs.trace(test, means, seed=2, run=run):
            if step.arm > 0 and before.arms[step.arm].units >= 3:
                gap = means[0] - means[step.arm]
                width = (gap + (alpha - 1) ** 2 / (4 * alpha) * smallest) / (alpha + 1)
                assert bs.progress.intervals(test, before)[step.arm].radius >= width
            before = step.statistics


@pytest.mark.parametrize("gaps", [0.0, -1.0, math.nan, [0.5, 0.5], []])
def test_gaps_are_positive_and_one_for_each_rival(gaps: object) -> None:
    with pytest.raises(bs.InputError, match="gaps") as caught:
        bounds(design(bs.UCB(2)), gaps)  # type: ignore[arg-type]
    assert caught.value.field == "gaps"


@given(st.floats(0.05, 2), st.floats(1e-6, 0.2))
def test_bounds_and_predictions_grow_with_difficulty(gap: float, error: float) -> None:
    easy, hard = design(bs.UCB(2), error=error), design(bs.UCB(2), error=error / 2)
    for what in (bounds, mean_path):
        assert what(hard, gap).decision_time > what(easy, gap).decision_time
        assert what(easy, gap / 2).regret > what(easy, gap).regret
