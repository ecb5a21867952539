"""A log replayed gives the state that the live test had, with changes by hand in their place."""

from __future__ import annotations

import bascule as bs
from bascule.live.steps.folding import fold_unit, take_out, with_knob
from bascule.live.steps.maturity import Matured
from bascule.live.steps.replay import ManualChange, Replay
from bascule.live.storage.deals import Deal
from bascule.live.storage.state import ExperimentState

ARMS = ["a", "b", "c"]
TILTED = bs.Design(ARMS, bs.Gaussian(1), bs.Tilt(3))
BY_UNIT = bs.Design(ARMS, bs.Gaussian(1), bs.UCB(2))
BLOCK = ((0, 1, 2),)


def no_block(number: int) -> Deal:
    raise AssertionError(f"block {number} was asked for, and there is none")


def test_units_are_folded_as_the_live_test_folds_them() -> None:
    state, replay = ExperimentState.empty(BY_UNIT), Replay.start(BY_UNIT, no_block)
    for i in range(30):
        arm, value = i % 3, float(i % 3)
        state = fold_unit(BY_UNIT, state, None, Matured(arm, value), now=7.0)
        replay = replay.fold(Matured(arm, value), None, time=7.0)
    assert replay.state == state


def test_a_knob_is_turned_back_at_first_and_again_where_it_was_turned() -> None:
    changes = [ManualChange(2, "alpha", 2.0, 5.0), ManualChange(4, "alpha", 5.0, 3.0)]
    replay = Replay.start(with_knob(BY_UNIT, "alpha", 3.0), no_block, changes)
    alphas = []
    for i in range(6):
        replay = replay.fold(Matured(i % 3, 0.0), None)
        alphas.append(replay.design.rule.knob.value)  # type: ignore[union-attr]
    assert alphas == [2.0, 2.0, 5.0, 5.0, 3.0, 3.0]


def test_an_arm_dropped_within_a_block_gets_no_slot_that_was_left_in_it() -> None:
    """The store has the block as it is after the change; before it, all its slots were there."""
    stored = Deal(1, BLOCK, struck=((2, 1),))
    change = ManualChange(1, arm="c", deal=1, handed=1)
    replay = Replay.start(TILTED, {1: stored}.__getitem__, [change]).fold(Matured(0, 0.5), 1)
    assert replay.state.statistics.removed == frozenset()
    replay = replay.fold(Matured(1, 0.25), 1)

    before = fold_unit(TILTED, ExperimentState.empty(TILTED), Deal(1, BLOCK), Matured(0, 0.5), 0.0)
    live, left = take_out(
        TILTED,
        before._replace(enrolment=before.enrolment._replace(handed=1)),
        "c",
        Deal(1, BLOCK),
        0.0,
    )
    assert left == stored
    assert replay.state == fold_unit(TILTED, live, left, Matured(1, 0.25), 0.0)
    assert replay.state.statistics.removed == {2}
    assert [arm.units for arm in replay.state.statistics.arms] == [1, 1, 0]


def test_many_changes_at_one_place_are_made_in_their_order() -> None:
    turns = [ManualChange(0, "tilt", 1.0 + i, 2.0 + i) for i in range(2000)]
    replay = Replay.start(with_knob(TILTED, "tilt", 2001.0), no_block, turns)
    assert replay.design.rule == bs.Tilt(1)
    assert replay.changed().design.rule == bs.Tilt(2001)
    assert replay.changed().changes == []
