"""Ends other than a winner, in simulation: how often they are wrong, and agreement with a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.types import NO_DIFFERENCE, NOBODY

pytestmark = pytest.mark.slow

CASES = [
    (bs.Gaussian(1), bs.Tilt(3), [0.0, 0.0], 0.3),
    (bs.Bernoulli(), bs.Tilt(3), [0.1, 0.1], 0.1),
    (bs.Gaussian(1), bs.UCB(2), [0.0, 0.0], 0.8),
    (bs.Gaussian(1), bs.UCB(2, stop="mixture"), [0.0, 0.0], 0.5),
    (bs.Gaussian(1), bs.ETC(stop="mixture"), [0.0, 0.0], 0.5),
]


@pytest.mark.parametrize(("outcome", "rule", "means", "margin"), CASES, ids=str)
def test_simulated_ends_are_those_of_a_trace(
    outcome: Any, rule: Any, means: list[float], margin: float
) -> None:
    design = bs.Design(["a", "b"], outcome, rule, min_effect=margin, sides=1)
    result = bs.simulate(design, means, runs=40, seed=2)
    assert result.undecided == 0
    # A test of the paper's may take long for 0.3, none takes for ever: the rest are false winners.
    assert result.no_difference + int(result.wrong.sum()) == 40
    assert result.no_difference >= 34
    for run in (0, 39):
        *_, last = bs.trace(design, means, seed=2, run=run)
        assert last.decision is not None
        name = NO_DIFFERENCE if last.decision.arm is None else last.decision.arm
        assert (result.winner[run], result.decision_time[run]) == (name, last.statistics.units)


@pytest.mark.parametrize(
    ("outcome", "means", "margin"),
    [(bs.Gaussian(1), [0.0, 0.2], 0.2), (bs.Bernoulli(), [0.25, 0.375], 0.125)],
)
def test_both_kinds_of_error_together_stay_within_the_promise(
    outcome: Any, means: list[float], margin: float
) -> None:
    """The gap is just what matters, so both the other arm and no difference would be wrong."""
    design = bs.Design(["a", "b"], outcome, bs.Tilt(3), error=0.1, min_effect=margin, sides=1)
    result = bs.simulate(design, means, runs=1000, seed=3)
    assert result.undecided == 0
    assert np.all(result.wrong == (result.winner != 1))
    assert result.error_rate <= 0.1


def test_a_difference_that_does_not_matter_may_be_called_either_way() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05, min_effect=0.4, sides=1)
    result = bs.simulate(design, [0.0, 0.1], runs=500, seed=3)
    assert result.no_difference > 300
    assert not np.any(result.wrong[result.winner == NO_DIFFERENCE])
    assert result.error_rate <= 0.05
    assert "no difference" in repr(result)
    assert result.to_dict()["no_difference"] == result.no_difference
    assert not np.any(result.winner == NOBODY)


def test_three_arms_of_which_one_is_worse() -> None:
    design = bs.Design(
        ["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3), error=0.05, min_effect=0.5, sides=1
    )
    result = bs.simulate(design, [1.0, 1.0, 0.0], runs=200, seed=3)
    assert result.no_difference >= 180
    # The worse arm was dropped on the way, and got the fewest units.
    assert result.share[2] == min(result.share)


def test_what_can_never_end_is_still_refused() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), min_effect=1e-7, sides=1)
    with pytest.raises(bs.InputError, match="too small"):
        bs.simulate(design, [0.0, 0.0])
