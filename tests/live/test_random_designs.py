"""A store and the simulator's loop, fed the same outcomes, go the same course.

Designs are drawn at random: guardrails, windows, calendar, horizon, futility, cap, batch, and two
to four arms. Every arm that is dealt, every removal, the decision and its moment are compared, and
`verify` recomputes the store. `BASCULE_DESIGNS=2000` compares more of them, of each kind.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.live.random_designs import (
    Case,
    compare,
    difference,
    draw_further,
    draw_wider,
    simulated,
)
from tests.live.random_units import (
    difference_of_stages,
    difference_of_units,
    draw_stages,
    draw_units,
)

import bascule as bs

DESIGNS = int(os.environ.get("BASCULE_DESIGNS", "24"))
PARTS = 4 if DESIGNS < 1000 else 40
QUICK, *OTHERS = range(PARTS)


@pytest.mark.parametrize(
    "part", [QUICK, *(pytest.param(part, marks=pytest.mark.slow) for part in OTHERS)]
)
def test_a_store_and_a_simulation_go_the_same_course(part: int) -> None:
    count = DESIGNS // PARTS
    assert compare(part * count, count) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("draw", [draw_wider, draw_further])
def test_so_they_do_with_everything_that_a_design_can_have(
    draw: Callable[[random.Random], Case], part: int
) -> None:
    """Wider: six arms, covariates, deadlines, `measure_on`, pauses, shares of the traffic.

    Further: early signals, metrics with shorter windows, coverage, and removals by hand.
    """
    count = DESIGNS // PARTS
    assert compare(part * count, count, draw) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(
    ("draw", "differs"),
    [(draw_units, difference_of_units), (draw_stages, difference_of_stages)],
    ids=["units", "stages"],
)
def test_so_they_do_if_units_count_one_by_one_or_in_stages(
    draw: Callable[[random.Random], Case], differs: Callable[[Case, int], str], part: int
) -> None:
    count = DESIGNS // PARTS
    seeds = range(part * count, (part + 1) * count)
    said = {seed: differs(draw(random.Random(seed)), seed) for seed in seeds}
    assert [f"{seed}: {words}" for seed, words in said.items() if words] == []


@pytest.mark.parametrize("world", [{"units_per_day": 20}, {"missing": 0.1}])
@pytest.mark.parametrize("rule", [bs.UCB(2), bs.ETC(), bs.Tilt(3)], ids=str)
def test_what_a_simulation_would_play_otherwise_than_a_store_is_refused(
    rule: Any, world: dict[str, float]
) -> None:
    """Windows of rules that assign one by one, and missing outcomes that count as a value."""
    (name,) = world
    measure = bs.Measure("2d", "mean", missing="zero")
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=0.2, measure=measure)
    if rule.label == "Tilt_3" and name == "units_per_day":
        assert bs.simulate(design, [0, 2], 2, world=world).undecided == 0
        return
    with pytest.raises(bs.InputError, match="simulated") as refused:
        bs.simulate(design, [0, 2], 2, world=world)
    assert refused.value.field == name


def test_harm_is_found_by_a_look_that_narrows_no_interval() -> None:
    """Drawn designs in which harm is shown at a level at which intervals stay as they were."""
    assert compare(198, 1) + compare(217, 1) == []


def test_a_batch_is_filled_with_the_control_after_guardrails_allow_its_winner() -> None:
    """In the middle of a batch: blocks of the winner alone would teach nothing."""
    assert compare(854, 1) == []


def test_a_batch_stays_as_it_was_dealt() -> None:
    """A drawn design in which an arm is dropped while the rounds of a batch are dealt."""
    assert compare(65, 1) == []


def test_futility_is_judged_when_a_batch_has_counted() -> None:
    """The minimum duration ends between two batches."""
    assert compare(874, 1) == []


def test_no_difference_is_found_among_arms_that_have_beaten_the_control() -> None:
    """A metric whose missing values count as 0 is judged like any other without guardrails."""
    assert compare(1003, 1) == []


def test_harm_is_found_while_a_decision_is_withheld_and_the_control_was_beaten() -> None:
    """Guardrails compare with the control, which b and c have beaten long before b beats c."""
    crash = bs.Metric("crash", bs.Gaussian(1), error=0.2, margin=3.0, harm="any")
    design = bs.Design(
        ["a", "b", "c"],
        bs.Gaussian(1),
        bs.Tilt(3),
        error=0.2,
        metrics=[crash],
        harm_error=0.2,
        min_days=8,
        max_units=2000,
        reports="always",
    )
    case = Case(design, [0.0, 3.0, 2.0], {"crash": [0.0, -0.5, 0.0]}, daily=50)
    played = simulated(case, seed=2)
    assert 1 in played.removed
    assert played.winner != 1
    assert difference(case, played) == ""
