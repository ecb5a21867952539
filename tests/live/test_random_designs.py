"""A store and the simulator's loop, fed the same outcomes, go the same course.

Designs are drawn at random: guardrails, windows, calendar, horizon, futility, cap, batch, and two
to four arms. Every arm that is dealt, every removal, the decision and its moment are compared, and
`verify` recomputes the store. `BASCULE_DESIGNS=2000` compares more of them.
"""

from __future__ import annotations

import os

import pytest
from tests.live.random_designs import Case, compare, difference, draw_wider, simulated

import bascule as bs

DESIGNS = int(os.environ.get("BASCULE_DESIGNS", "24"))
PARTS = 4
QUICK, *OTHERS = range(PARTS)


@pytest.mark.parametrize(
    "part", [QUICK, *(pytest.param(part, marks=pytest.mark.slow) for part in OTHERS)]
)
def test_a_store_and_a_simulation_go_the_same_course(part: int) -> None:
    count = DESIGNS // PARTS
    assert compare(part * count, count) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_so_they_do_with_covariates_deadlines_and_operators(part: int) -> None:
    """Up to six arms; a test is measured on, paused in the middle of a block, and throttled."""
    count = DESIGNS // PARTS
    assert compare(part * count, count, draw_wider) == []


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
