"""Both crowds against units that are followed one by one, without noise and with it."""

from __future__ import annotations

import numpy as np
import pytest

import bascule as bs
from bascule.core.procedures.recurrent import equal_weight, precision_weight
from bascule.core.types import FloatArray
from bascule.simulation.random import WORDS, seed_stream, ziggurat_table
from bascule.simulation.recurrent.kernel import SUM, UNITS
from bascule.simulation.recurrent.runs import UNSEEN, Fast, Plain

STAGES = 24
WEIGHTS = {"means": equal_weight, "precise": precision_weight}


def arrivals(stage: int) -> tuple[int, ...]:
    """Arm 0 gets a unit at every stage but some, arm 1 rarely, and once two."""
    return ((0,) if stage % 7 else ()) + ((1,) if stage % 5 == 1 else ()) + ((1,) * (stage == 21))


def play(engine: Plain, sigma_noise: float, run: int) -> FloatArray:
    """The tallies of two arms after the last stage."""
    clear, join, advance = engine.crowd
    table, memory = engine.table(2 * STAGES), engine.memory(2, 2 * STAGES)
    streams, scratch, tallies = np.empty(WORDS, np.uint64), np.empty(64), np.zeros((3, 2))
    memory[:] = np.nan
    ziggurat, unit = ziggurat_table(), 0
    with np.errstate(over="ignore"):
        seed_stream(streams, 0, np.uint64(1), np.uint64(run))
        clear(memory)
        for stage in range(1, STAGES + 1):
            for arm in arrivals(stage):
                join(memory, unit, arm, stage, float(np.sin(unit)))
                tallies[UNITS, arm] += 1
                unit += 1
            given = (unit, stage, sigma_noise, streams, scratch, ziggurat, tallies)
            advance(memory, 2, table, *given)
    return tallies


def expected(name: str, outcome: bs.Recurrent) -> FloatArray:
    """The same without noise, by hand."""
    found, unit = np.zeros((3, 2)), 0
    for stage in range(1, STAGES + 1):
        for arm in arrivals(stage):
            spreads = (outcome.sigma_unit, outcome.sigma_noise)
            weight = WEIGHTS[name](STAGES + 1 - stage, *spreads)
            found[:, arm] += [1, weight, weight * np.sin(unit)]
            unit += 1
    return found


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("kind", [Plain, Fast])
def test_units_add_up(name: str, kind: type[Plain] | type[Fast]) -> None:
    for outcome in (bs.Recurrent(1, 1), bs.Recurrent(1, 5), bs.Recurrent(0, 1)):
        found = play(kind(outcome, WEIGHTS[name]), 0.0, run=0)
        exact = expected(name, outcome)
        assert found[:SUM] == pytest.approx(exact[:SUM], rel=2 * UNSEEN)
        # By precision, the effects are part of what is drawn.
        if kind is Plain or name == "means":
            assert found[SUM] == pytest.approx(exact[SUM], rel=1e-12)


@pytest.mark.parametrize("name", WEIGHTS)
def test_noise_has_the_variance_of_the_weights(name: str) -> None:
    outcome, runs = bs.Recurrent(1, 1), 60
    ages = [[STAGES + 1 - s for s in range(1, STAGES + 1) for a in arrivals(s) if a == arm]
            for arm in (0, 1)]  # fmt: skip
    effects = expected(name, outcome)[SUM] if name == "means" else np.zeros(2)
    of_unit = 0.0 if name == "means" else 1.0
    variance = [
        sum(WEIGHTS[name](age, 1.0, 1.0) ** 2 * (of_unit + 1 / age) for age in own) for own in ages
    ]
    engine = Fast(outcome, WEIGHTS[name])
    noises = np.array([play(engine, 1.0, run)[SUM] for run in range(runs)]) - effects
    assert noises.var(axis=0) / variance == pytest.approx(1, abs=4 * (2 / runs) ** 0.5)
    assert abs((noises[:, 0] * noises[:, 1]).mean()) < 4 * np.prod(variance) ** 0.5 / runs**0.5
