"""The noise of a world as a value: its spread, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import bascule as bs
from bascule.core.outcomes.noise import Noise


@pytest.mark.parametrize(
    ("noise", "mean", "spread"),
    [
        (bs.worlds.Normal(2.0), 1.0, 2.0),
        (bs.worlds.StudentT(5.0, 3.0), 1.0, 3.0),
        (bs.worlds.Coin(), 0.2, 0.4),
        (bs.worlds.Beta(9.0, 0.0, 10.0), 5.0, 10 * stats.beta(4.5, 4.5).std()),
        (bs.worlds.Discrete([0, 1], [[0.5, 0.5], [0.9, 0.1]]), 0.5, 0.5),
        (bs.worlds.Discrete([0, 1], [[0.5, 0.5], [0.9, 0.1]]), 0.1, 0.3),
        (bs.worlds.Discrete([0, 1], [[0.5, 0.5], [0.9, 0.1]]), 0.2, 0.3),
    ],
)
def test_spreads_are_standard_deviations(noise: Noise, mean: float, spread: float) -> None:
    assert noise.spread(mean) == pytest.approx(spread)
    assert noise.words


def test_the_means_of_a_discrete_outcome_follow_from_its_weights() -> None:
    noise = bs.worlds.Discrete([0, 10, 50], [[90, 8, 2], [1, 0, 0]])
    assert noise.means == pytest.approx((1.8, 0.0))
    assert bs.worlds.World(noise=noise).start == noise.means
    assert np.allclose(np.sum(noise.chances, axis=1), 1)


@pytest.mark.parametrize(
    ("make", "field", "words"),
    [
        (lambda: bs.worlds.Normal(0), "sigma", "above 0"),
        (lambda: bs.worlds.StudentT(2), "df", "must be above 2"),
        (lambda: bs.worlds.StudentT(3, -1), "sigma", "above 0"),
        (lambda: bs.worlds.Beta(0), "concentration", "above 0"),
        (lambda: bs.worlds.Beta(4, 1, 1), "high", "must be above low"),
        (lambda: bs.worlds.Beta(4, -math.inf, 1), "low", "finite"),
        (lambda: bs.worlds.Discrete([1], [[1]]), "values", "different numbers"),
        (lambda: bs.worlds.Discrete([1, 1], [[1, 1]]), "values", "different numbers"),
        (lambda: bs.worlds.Discrete([0, 1], [[1, -1]]), "weights", "do not fit"),
        (lambda: bs.worlds.Discrete([0, 1], [[0, 0]]), "weights", "do not fit"),
        (lambda: bs.worlds.Discrete([0, 1], [[1, 1, 1]]), "weights", "do not fit"),
        (lambda: bs.worlds.Discrete([0, 1], [1, 2]), "weights", "must be lists"),  # type: ignore[list-item]
        (lambda: bs.worlds.Discrete(3, [[1]]), "values", "must be a list"),  # type: ignore[arg-type]
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], Noise], field: str, words: str) -> None:
    with pytest.raises(bs.InputError, match=words) as caught:
        make()
    assert caught.value.field == field


def test_each_outcome_model_has_its_noise() -> None:
    words = "beta outcomes between 0 and 5, concentration 4"
    assert bs.worlds.Beta(4.0, 0.0, 5.0).words == words
    assert bs.Gaussian(2.0).noise((0.5, 0.6)) == bs.worlds.Normal(2.0)
    assert bs.Bernoulli().noise((0.5, 0.6)) == bs.worlds.Coin()
    assert bs.Bounded(0, 5).noise((0.5, 0.6)) == bs.worlds.Beta(low=0, high=5)


@pytest.mark.parametrize(
    ("noise", "outcome"),
    [
        (bs.worlds.Normal(), bs.Bernoulli()),
        (bs.worlds.Beta(), bs.Bernoulli()),
        (bs.worlds.Discrete([0, 2], [[1, 1], [1, 2]]), bs.Bernoulli()),
        (bs.worlds.StudentT(), bs.Bounded(0, 5)),
        (bs.worlds.Beta(low=0, high=6), bs.Bounded(0, 5)),
    ],
)
def test_outcomes_that_a_design_does_not_take_are_refused(
    noise: Noise, outcome: bs.Bernoulli | bs.Bounded
) -> None:
    with pytest.raises(bs.InputError, match="does not fit the design"):
        outcome.check_noise(noise)


def test_outcomes_that_a_design_takes() -> None:
    bs.Bernoulli().check_noise(bs.worlds.Discrete([0, 1], [[1, 1], [1, 2]]))
    bs.Bounded(-1, 1).check_noise(bs.worlds.Coin())
    bs.Gaussian(1).check_noise(bs.worlds.StudentT())
