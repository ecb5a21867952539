"""Peeking every day finds a winner no more often than stated where there is none.

`python -m bench.peeking` is the long version, for every kind of evidence.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench.peeking import (
    ERROR,
    World,
    asked,
    coins,
    growing,
    measure,
    normal,
    outcomes,
    rare,
    spending,
)

import bascule as bs
from bascule.analysis.evidence.pairs import normal_days

LOGS, DAYS = 60, 40
MOST = ERROR + 3.0 * math.sqrt(ERROR * (1.0 - ERROR) / LOGS)
"""What a share of 5 % may come to in so many logs, three standard errors above it."""

PAPER = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=ERROR)

WORLDS = [
    World("bets", coins(0.1, 100, DAYS), asked(bs.Bernoulli())),
    World("limits", outcomes(spending, 100, DAYS), asked(bs.Bounded(0, 100))),
    World("mixture", outcomes(normal, 20, DAYS), asked(bs.Gaussian(1))),
    World("rule", outcomes(normal, 20, DAYS), asked(design=PAPER)),
    World("growing", growing(20, 7, 30, DAYS), asked(None)),
    World("asymptotic", outcomes(normal, 20, DAYS), asked(None)),
    # By each arm's own variance 28.5 % and 42.7 % of such logs had a winner.
    World("a tenth spends", outcomes(spending, 200, DAYS, 0.1), asked(None)),
    World("a twentieth spends", outcomes(spending, 200, DAYS, 0.05), asked(None)),
    World("rare", rare(50, 0.01, DAYS), asked(bs.Bernoulli())),
]


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_peeking_every_day_keeps_to_the_error(world: World) -> None:
    row = measure(world, LOGS)
    assert row.larger <= MOST


def test_a_test_for_one_look_would_not() -> None:
    draw = outcomes(normal, 20, DAYS)
    fooled = 0
    for log in range(LOGS):
        sums = draw(np.random.default_rng((0, log)))
        looks = [pair for (pair,) in normal_days(sums, bs.Gaussian(1)) if pair.clock > 0.0]
        # 5 % at either end, at each look on its own.
        fooled += max(pair.total / math.sqrt(pair.clock) for pair in looks) > 1.645
    assert fooled / LOGS > MOST
