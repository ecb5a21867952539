"""UCB on Bernstein's radius: outcomes within limits whose spread is seen as they come."""

from __future__ import annotations

import numpy as np
import pytest

import bascule as bs


def coins(*arms: tuple[int, int]) -> bs.progress.Statistics:
    return bs.progress.Statistics(
        tuple(bs.progress.ArmStatistics(units, hits, hits) for units, hits in arms)
    )


def test_the_radius_follows_the_spread_that_was_seen() -> None:
    seen = coins((10_000, 500), (10_000, 600))
    followed, assumed = (
        bs.progress.intervals(
            bs.Design(["a", "b"], bs.Bernoulli(), bs.UCB(2, radius=radius), sides=1), seen
        )
        for radius in ("bernstein", "mixture")
    )
    assert followed[0].radius < followed[1].radius < 0.6 * assumed[0].radius


def test_limits_scale_the_radius() -> None:
    rng = np.random.default_rng(0)
    values = rng.beta(1.0, 9.0, 400)
    narrow = bs.progress.ArmStatistics(400, float(values.sum()), float((values**2).sum()))
    wide = bs.progress.ArmStatistics(400, 500 * narrow.total, 500**2 * narrow.squares)
    test = [
        bs.Design(["a", "b"], bs.Bounded(0, high), bs.UCB(2, radius="bernstein"), sides=1)
        for high in (1, 500)
    ]
    small, large = (
        bs.progress.intervals(design, bs.progress.Statistics((arm, arm)))[0]
        for design, arm in zip(test, (narrow, wide), strict=True)
    )
    assert large.radius == pytest.approx(500 * small.radius)


def test_halves_of_the_data_give_the_radius_of_the_whole() -> None:
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.UCB(2, radius="bernstein"), sides=1)
    half = coins((500, 30), (500, 40))
    assert bs.progress.intervals(design, half + half) == bs.progress.intervals(
        design, coins((1000, 60), (1000, 80))
    )


def test_what_it_does_not_go_with_is_refused() -> None:
    with pytest.raises(bs.InputError, match="needs outcomes within limits"):
        bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2, radius="bernstein"))
    with pytest.raises(bs.InputError, match="needs a known spread"):
        bs.Design(["a", "b"], bs.Bernoulli(), bs.UCB(2, radius="bernstein", stop="mixture"))
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.UCB(2, radius="bernstein"), sides=1)
    with pytest.raises(bs.InputError, match="no prediction"):
        bs.theory.predict(design, 0.01)
    with pytest.raises(bs.InputError, match="no proven bound"):
        bs.theory.bounds(design, 0.01)
