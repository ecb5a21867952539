from __future__ import annotations

import math

import pytest

import bascule as bs
from bascule.theory import mean_path, predict


def test_the_worked_example() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=math.exp(-20))
    expected = mean_path(design, 1.0)
    assert expected.regret == pytest.approx(85.6, abs=0.05)
    assert expected.decision_time == pytest.approx(882, abs=0.5)


@pytest.mark.parametrize("rule", [bs.UCB(1.5), bs.UCB(2), bs.UCB(4), bs.UCB(32), bs.ETC()])
@pytest.mark.parametrize(("log_inverse_delta", "within"), [(4, 0.27), (12, 0.13), (20, 0.08)])
def test_two_arms_are_predicted_the_better_the_smaller_delta_is(
    rule: object, log_inverse_delta: float, within: float
) -> None:
    delta = math.exp(-log_inverse_delta)
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, delta=delta)  # type: ignore[arg-type]
    expected = predict(design, 1.0)
    measured = bs.simulate(design, [0, 1], runs=4000, seed=2)
    assert expected.regret == pytest.approx(measured.regret.mean(), rel=within)
    assert expected.decision_time == pytest.approx(measured.decision_time.mean(), rel=within)


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.UCB(8), bs.ETC(), bs.ETCPrime()])
def test_several_arms_are_predicted_within_a_quarter(rule: object) -> None:
    design = bs.Design(list("abcd"), bs.Gaussian(1), rule, delta=1e-6)  # type: ignore[arg-type]
    expected = predict(design, (0.4, 0.8, 1.5))
    measured = bs.simulate(design, [1.5, 1.1, 0.7, 0.0], runs=1000, seed=2)
    for arm in range(4):
        assert expected.units[arm] == pytest.approx(measured.units[:, arm].mean(), rel=0.25)


def test_alpha_one_never_ends() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(1), max_units=100)
    assert predict(design, 1.0).decision_time == math.inf
