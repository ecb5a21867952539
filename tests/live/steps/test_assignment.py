"""Which block comes next: worked out once, and again when more is seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

import bascule as bs
from bascule.core.design import Design
from bascule.core.procedures.base import Block
from bascule.core.progress import next_block
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.live.steps import assignment
from bascule.live.steps.assignment import NextBlocks
from bascule.live.storage.state import ExperimentState

TILT = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Statistics]:
    found: list[Statistics] = []

    def next_one(design: Design, seen: Statistics, signals: None, is_held: bool) -> Block:
        assert signals is None
        assert not is_held
        found.append(seen)
        return next_block(design, seen)

    monkeypatch.setattr(assignment, "next_block", next_one)
    return found


def seen(statistics: Statistics) -> ExperimentState:
    return ExperimentState.empty(TILT)._replace(statistics=statistics)


def test_the_same_statistics_are_followed_by_the_same_block(asked: list[Statistics]) -> None:
    blocks, start = NextBlocks(), Statistics.empty(3)
    for _ in range(3):
        assert blocks(TILT, seen(start)) == next_block(TILT, start)
    assert asked == [start]
    ahead = replace(start, arms=(ArmStatistics(9, 9.0, 9.0), *start.arms[1:]))
    assert blocks(TILT, seen(ahead)) == next_block(TILT, ahead)
    assert asked == [start, ahead]


def test_a_turned_knob_makes_another_block(asked: list[Statistics]) -> None:
    blocks, start = NextBlocks(), Statistics.empty(3)
    assert blocks(TILT, seen(start)).units == (1, 1, 1)
    turned = replace(TILT, rule=bs.Tilt(5))
    assert blocks(turned, seen(start)) == next_block(turned, start)
    assert len(asked) == 2


def test_nothing_is_kept_of_what_was_seen_before() -> None:
    blocks = NextBlocks(most=2)
    designs = [replace(TILT, rule=bs.Tilt(tilt)) for tilt in (2, 3, 4)]
    for units in range(1, 20):
        for design in designs:
            blocks(design, seen(Statistics((ArmStatistics(units),) * 3)))
    assert len(blocks._last) == 2
    assert {one[1].statistics.arms[0].units for one in blocks._last} == {19}
