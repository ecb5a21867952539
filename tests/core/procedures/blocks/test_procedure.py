"""Tests in blocks from statistics alone: the next block, folding, and what is stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.evidence.families.rows import CLOCK
from bascule.live.storage.state_json import statistics_from_json, statistics_to_json

TILT = bs.Tilt(3)


def design(outcome: Any, rule: Any = TILT, arms: int = 2, **more: Any) -> bs.Design:
    given = {"sides": None if "delta" in more else 1, **more}
    return bs.Design([f"arm {i}" for i in range(arms)], outcome, rule, **given)


def block(*arms: list[float]) -> tuple[bs.progress.ArmStatistics, ...]:
    return tuple(bs.progress.ArmStatistics(len(a), sum(a), sum(x * x for x in a)) for a in arms)


def test_the_leader_gets_more_as_its_lead_grows() -> None:
    test = design(bs.Gaussian(1))
    seen = bs.progress.Statistics.empty(2)
    assert bs.progress.next_block(test, seen).units == (1, 1)
    seen = bs.progress.fold_block(test, seen, block([0.0], [3.0]))
    assert bs.progress.next_block(test, seen) == bs.progress.Block(units=(1, 3), leader=1, repeat=1)


def test_batches_are_large_blocks_or_many() -> None:
    rule = bs.Tilt(3, batch=5)
    empty = bs.progress.Statistics.empty(2)
    assert bs.progress.next_block(design(bs.Gaussian(1), rule), empty) == bs.progress.Block(
        (5, 5), 0, 1
    )
    assert bs.progress.next_block(design(bs.Bernoulli(), rule), empty) == bs.progress.Block(
        (1, 1), 0, 5
    )
    assert bs.progress.next_block(design(bs.Bernoulli(), rule), empty).size == 10


@pytest.mark.parametrize("outcome", [bs.Gaussian(2), bs.Bernoulli(), bs.Bounded(-1, 3)])
def test_statistics_hold_all_that_the_steps_need(outcome: Any) -> None:
    test = design(outcome, arms=3)
    rng = np.random.default_rng(0)
    seen = bs.progress.Statistics.empty(3)
    for _ in range(40):
        values = rng.integers(0, 2, (3, 2)).astype(float).tolist()
        seen = bs.progress.fold_block(test, seen, block(*values))
        stored = statistics_from_json(statistics_to_json(seen))
        assert stored == seen
        assert bs.progress.next_block(test, stored) == bs.progress.next_block(test, seen)
    assert seen.units == 240


def test_statistics_of_blocks_are_not_added() -> None:
    test = design(bs.Bernoulli())
    seen = bs.progress.fold_block(test, bs.progress.Statistics.empty(2), block([1.0], [0.0]))
    assert seen + bs.progress.Statistics.empty(2) == seen
    with pytest.raises(bs.InputError, match="depends on the order of the blocks"):
        seen + seen


def test_an_arm_with_no_outcomes_in_a_block_adds_nothing() -> None:
    test = design(bs.Gaussian(1), arms=3)
    seen = bs.progress.fold_block(test, bs.progress.Statistics.empty(3), block([1.0], [], [2.0]))
    assert [pair[CLOCK] for pair in seen.pairs] == [0.0, 0.5, 0.0]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(bs.InputError, match="has no blocks"):
        bs.progress.next_block(design(bs.Gaussian(1), bs.UCB(2)), bs.progress.Statistics.empty(2))
    with pytest.raises(bs.InputError, match="block must have the design's 2 arms"):
        bs.progress.fold_block(
            design(bs.Gaussian(1)), bs.progress.Statistics.empty(2), block([1.0])
        )
    with pytest.raises(bs.InputError, match="statistics must have the design's 2 arms"):
        bs.progress.next_block(design(bs.Gaussian(1)), bs.progress.Statistics.empty(3))
