"""Past the horizon nothing moves: interval and decision stand, however long a test goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.evidence.families.estimated_spread import observe as observe_numerator
from bascule.core.evidence.families.following_bets import FOLLOWING_BETS
from bascule.core.evidence.families.ratio import BLOCK_PER
from bascule.core.evidence.families.rows import BLOCK_UNITS
from bascule.core.outcomes import Pair
from bascule.core.procedures.base import Procedure
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.steps import Scope, steps_of
from bascule.core.progress import block_procedure
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.simulation.kernels.compiled import compile_loop

BLOCKS = 1_000_000

FAMILIES: dict[str, tuple[bs.design.Outcome, dict[str, Any]]] = {
    "within limits": (bs.Bernoulli(), {"effect": 0.3, "power": 0.8, "baseline": 0.3}),
    "known spread": (bs.Gaussian(1), {"effect": 0.5, "power": 0.8}),
    "flat": (bs.Gaussian(1), {"effect": 0.5, "power": 0.8, "guarantee": "gaussian"}),
    "estimated": (bs.Numeric(1), {"effect": 0.5, "power": 0.8}),
    "ratio": (bs.Ratio(at=0.5), {"effect": 0.3, "power": 0.8}),
}


def at_horizon(procedure: BlockProcedure, lift: float, seed: int) -> Statistics:
    """Return what a test has shown when its horizon is reached."""
    generator, seen = np.random.default_rng(seed), procedure.empty()
    while procedure.end_reason(seen) != "horizon":
        block = []
        for arm in range(2):
            value = float(generator.random() < 0.4 + lift * arm)
            sums = Pair(value, 1.0) if procedure.outcome.pairs else value
            block.append(procedure.unit_sums(sums))
        seen = procedure.fold_block(seen, block)
    return seen


def shown(procedure: Procedure, seen: Statistics) -> tuple[Any, ...]:
    """Return the interval, the decision and the ending of a test."""
    _, low, high = procedure.differences(seen)[0]
    return low, high, procedure.winner(seen), procedure.end_reason(seen)


def observe_rate(arm: Any, value: float) -> None:
    """Add a unit with this numerator, 0 or 1, and a denominator of 1."""
    observe_numerator(arm, value)
    for k, product in enumerate((1.0, value, 1.0, value, value, 1.0)):
        arm[BLOCK_PER + k] += product


def build(observe: Any, fold: Any, digest: str) -> Any:
    """Return a loop that folds blocks of one unit an arm with outcomes of 0 and 1."""

    def play(arms: Any, pairs: Any, params: Any, blocks: int) -> int:
        state = 12345
        for _ in range(blocks):
            for i in range(2):
                state = (1103515245 * state + 12345) % 2147483648
                arms[i][BLOCK_UNITS] = 1.0
                observe(arms[i], 1.0 if state < 644245094 * (i + 1) else 0.0)
            fold(arms, pairs, 2, params)
        return len(digest)

    return play


@pytest.mark.parametrize("lift", [0.0, 0.1])
@pytest.mark.parametrize("name", FAMILIES)
def test_interval_and_decision_stand_past_the_horizon(name: str, lift: float) -> None:
    outcome, options = FAMILIES[name]
    design = bs.Design(["a", "b"], outcome, bs.Tilt(1, **options), error=0.1)
    procedure = block_procedure(design)
    seen = at_horizon(procedure, lift, seed=len(name))
    before = shown(procedure, seen)
    assert before[0] < before[1]
    # What comes now is far from all that came before.
    for value, other in ((0.0, 1.0), (1.0, 0.0), (1.0, 1.0)):
        pair = procedure.outcome.pairs
        units = [procedure.unit_sums(Pair(x, 1.0) if pair else x) for x in (value, other)]
        for _ in range(40):
            seen = procedure.fold_block(seen, units)
        low, high, winner, _ = shown(procedure, seen)
        assert (low, high, winner) == before[:3]
    # A removal by hand asks for more, also of what was kept.
    strict = procedure.params._replace(
        threshold=procedure.threshold + 1.0, constant=procedure.params.constant + 0.5
    )
    _, low, high = procedure.steps.interval(*procedure.rows(seen), 2, 0, 1, strict)
    assert low < before[0] / outcome.scale
    assert high > before[1] / outcome.scale


@pytest.mark.parametrize("name", FAMILIES)
def test_a_million_blocks_past_the_end_change_nothing(name: str) -> None:
    outcome, options = FAMILIES[name]
    design = bs.Design(["a", "b"], outcome, bs.Tilt(1, **options), error=0.1)
    procedure = block_procedure(design)
    seen = at_horizon(procedure, 0.1, seed=5)
    family = procedure.evidence
    steps = steps_of(family, Scope(two_arms=True, intervals=True, horizon=True))
    rows, params = procedure.rows(seen), procedure.params
    arms, pairs = (np.array(one) for one in rows)
    floors = np.zeros(len(params.floors))
    observe = observe_rate if procedure.outcome.pairs else family.observe
    loop = compile_loop(build, observe, steps.fold)
    loop(arms, pairs, params._replace(floors=floors), BLOCKS)
    after = procedure.steps.interval(arms, pairs, 2, 0, 1, params)
    before = procedure.steps.interval(*rows, 2, 0, 1, params)
    if family is FOLLOWING_BETS and not params.known:
        # The variance of what comes later may move the horizon, and then the ends narrow.
        assert before[1] <= after[1] <= after[2] <= before[2]
    else:
        assert after[1:] == before[1:]
    assert np.isfinite(pairs).all()
    assert family.verdict(pairs[0], arms[0], arms[1], params) == pytest.approx(
        family.verdict(rows[1][0], rows[0][0], rows[0][1], params)
    )


def test_arm_statistics_of_a_test_go_on() -> None:
    outcome, options = FAMILIES["flat"]
    procedure = block_procedure(bs.Design(["a", "b"], outcome, bs.Tilt(1, **options)))
    seen = at_horizon(procedure, 0.0, seed=1)
    after = procedure.fold_block(seen, [ArmStatistics(1, 1.0, 1.0)] * 2)
    assert after.units == seen.units + 2
    assert after.pairs == seen.pairs
