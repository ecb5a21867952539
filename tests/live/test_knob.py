"""A knob turned at will, also by someone who sees the outcomes, does not break the guarantee."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bascule as bs
from bascule.core.progress import decision, next_arm, record
from bascule.live.steps.folding import with_knob

pytestmark = pytest.mark.slow

RUNS, ERROR = 150, 0.2


def most_wrong() -> float:
    """What chance leaves of the guarantee: the error and three standard errors."""
    return RUNS * ERROR + 3 * math.sqrt(RUNS * ERROR * (1 - ERROR))


def biased_tilt(seen: bs.progress.Statistics) -> float:
    """The wish that b wins: a rush while b is ahead, patience while it is behind."""
    ahead = seen.pairs[0][0] if seen.pairs else 0.0
    return 1.0 if ahead < 0 else 12.0


@pytest.mark.parametrize("outcome", [bs.Gaussian(1), bs.Bernoulli()], ids=str)
def test_tilted_blocks_keep_their_error_whoever_turns_the_tilt(outcome: bs.Gaussian) -> None:
    start = bs.Design(["a", "b"], outcome, bs.Tilt(3), error=ERROR, sides=1, reports="always")
    random, wrong = np.random.default_rng(5), 0
    for _ in range(RUNS):
        design, seen = start, bs.progress.Statistics.empty(2)
        while seen.units < 120 and decision(design, seen) is None:
            design = with_knob(design, "tilt", biased_tilt(seen))
            block = bs.progress.Statistics.empty(2)
            for arm, units in enumerate(bs.progress.next_block(design, seen).units):
                for _ in range(units):
                    coin = isinstance(outcome, bs.Bernoulli)
                    value = float(random.random() < 0.5) if coin else random.normal()
                    block = block.record(arm, value)
            seen = bs.progress.fold_block(design, seen, block.arms)
        reached = decision(design, seen)
        wrong += reached is not None and reached.name == "b"
    assert 0 < wrong <= most_wrong()


def test_ucb_keeps_its_error_whoever_turns_alpha() -> None:
    start = bs.Design(
        ["a", "b"], bs.Gaussian(1), bs.UCB(2, stop="mixture"), error=ERROR, reports="always"
    )
    random, wrong = np.random.default_rng(6), 0
    for _ in range(RUNS):
        design, seen = start, bs.progress.Statistics.empty(2)
        for _ in range(60):
            behind = seen.arms[1].mean < seen.arms[0].mean
            design = with_knob(design, "alpha", math.inf if behind else 2.0)
            arm = next_arm(design, seen)
            seen = record(design, seen, arm, random.normal())
            reached = decision(design, seen)
            if reached is not None:
                wrong += reached.name == "b"
                break
    assert 0 < wrong <= most_wrong()


def test_ucb_becomes_etc_prime_and_back_and_verify_looks_when_the_test_did() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=ERROR, reports="always")
    random, ends = np.random.default_rng(8), set()
    for run in range(12):
        with bs.open(":memory:") as store:
            test = store.create("turned", design)
            for i in range(1000):
                if test.state == "decided":
                    break
                if i % 10 == 3:
                    test.knob(alpha=math.inf if i % 20 == 3 else 2)
                test.record(i, random.normal() + 1.2 * (test.assign(i) == "b"))
            assert test.state == "decided"
            ends.add(test.status().units)
            assert test.verify().agrees, run
    assert len(ends) > 3
