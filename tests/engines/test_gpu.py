"""The kernels for a GPU, under Numba's simulator of one: they play the runs that a CPU plays."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import bascule as bs
from bascule.simulation.kernels import intervals

pytestmark = pytest.mark.engine

PLAY = """
import json, sys, warnings
warnings.simplefilter("ignore")
import bascule as bs
from bascule.core.design import Design
from bascule.simulation.kernels import intervals
table, cases = json.load(sys.stdin)
intervals.SMALLEST_TABLE, intervals.LARGEST_TABLE = table
played = []
for text, means in cases:
    design = Design.from_dict(text)
    for precision in ("double", "single"):
        result = bs.simulate(design, means, 6, seed=4, device="cuda", precision=precision)
        played.append([result.winner.tolist(), result.units.tolist(), result.steps])
print(json.dumps(played))
"""
RULES = [bs.Tilt(3), bs.Tilt(2, effect=0.7), bs.UCB(2), bs.ETC()]
CASES = [
    (bs.Design(list("abc")[: len(means)], outcome, rule, max_units=120, sides=1), means)
    for outcome, means in (
        (bs.Gaussian(1), [0.0, 0.7]),
        (bs.Bernoulli(), [0.2, 0.7]),
        (bs.Gaussian(2), [0.0, 2.0, 0.5]),
    )
    for rule in RULES
    if not (isinstance(rule, bs.Tilt) and rule.effect and outcome == bs.Bernoulli())
]


def played_there(
    cases: list[tuple[bs.Design, list[float]]], table: tuple[int, int]
) -> list[list[object]]:
    """Play cases in a process with a simulated GPU."""
    asked = json.dumps([table, [(design.to_dict(), means) for design, means in cases]])
    run = subprocess.run(
        [sys.executable, "-c", PLAY],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        input=asked,
        capture_output=True,
        text=True,
        check=True,
    )
    answers: list[list[object]] = json.loads(run.stdout)
    return answers


@pytest.fixture(scope="module")
def played() -> list[list[object]]:
    return played_there(CASES, (intervals.SMALLEST_TABLE, intervals.LARGEST_TABLE))


def test_a_run_that_outgrows_the_table_of_radii_is_played_again() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), max_units=300, sides=1)
    here = bs.simulate(design, [0.0, 0.3], 6, seed=4)
    assert here.units.max() > 120
    there = played_there([(design, [0.0, 0.3])], (20, 20))[0]
    assert there == [here.winner.tolist(), here.units.tolist(), here.steps]


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda k: f"{CASES[k][0].rule}-{k}")
def test_with_the_stream_of_the_cpu_every_run_is_the_same(
    case: int, played: list[list[object]]
) -> None:
    design, means = CASES[case]
    here = bs.simulate(design, means, 6, seed=4)
    assert played[2 * case] == [here.winner.tolist(), here.units.tolist(), here.steps]


def test_normals_in_single_precision_give_other_runs_of_the_same_kind(
    played: list[list[object]],
) -> None:
    for case, (design, _) in enumerate(CASES):
        same = played[2 * case] == played[2 * case + 1]
        # Units of intervals with 0/1 outcomes draw no normals, and none of their sums.
        assert same == (design.outcome.binary and not isinstance(design.rule, bs.Tilt)), design
