"""Minimum duration, whole weeks, and measuring on after a decision, in live tests."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import bascule as bs
from bascule.live.clock import ManualClock
from bascule.live.reports.status import Status

pytestmark = pytest.mark.slow

DAY = 86_400.0
START = 1_763_373_600.0
"""A Monday, 17 November 2025, 10:00 UTC."""

PLAIN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"))


class Played:
    """A live test of two arms with 10 % and 70 %, in which 24 units arrive a day."""

    def __init__(
        self, design: bs.Design, seed: int = 1, daily: int = 24, place: str = ":memory:"
    ) -> None:
        self.clock = ManualClock(datetime.fromtimestamp(START, UTC))
        order = random.Random(seed).shuffle
        self.store = bs.Store(place, clock=self.clock, shuffle=order)
        self.test = self.store.create("button", design)
        self.draws, self.daily, self.units = random.Random(seed), daily, 0

    def until(self, day: float, rates: tuple[float, ...] = (0.1, 0.7)) -> Status:
        while self.clock.now() < START + day * DAY - 1.0:
            arm = self.test.evaluate(self.units)
            if arm.enrolled:
                place = self.test.design.arms.index(arm.arm)
                if self.draws.random() < rates[place]:
                    self.test.record(self.units, 1.0)
            self.units += 1
            self.clock.advance(DAY / self.daily)
        return self.test.status()


def decided_day(design: bs.Design, seed: int = 1) -> float:
    """When a test without a calendar decides, in days."""
    game = Played(replace(design, min_days=None, whole_weeks=False), seed)
    while game.until((game.clock.now() - START) / DAY + 1.0 / game.daily).decision is None:
        pass
    return (game.clock.now() - START) / DAY


@pytest.fixture(scope="module")
def reached() -> float:
    return decided_day(PLAIN)


def test_a_decision_is_withheld_until_whole_weeks_are_over(reached: float) -> None:
    assert 1.0 < reached < 6.0
    game = Played(replace(PLAIN, whole_weeks=True))
    status = game.until(reached + 0.1)
    assert (status.state, status.decision) == ("running", None)
    assert status.headline == "Decided, withheld until Monday 24 Nov: b wins"
    assert status.withheld is not None
    assert status.withheld.until.startswith("2025-11-24T10:00:00")
    assert status.to_dict()["withheld"]["name"] == "b"
    assert "minimum duration" in str(status)
    assert game.test.verify().agrees
    before = [arm.units for arm in status.arms]
    status = game.until(6.9)
    # Both arms get units while it is withheld.
    assert all(arm.units > its + 10 for arm, its in zip(status.arms, before, strict=True))
    assert status.decision is None
    status = game.until(7.1)
    assert status.decision is not None
    assert (status.state, status.decision.name) == ("decided", "b")
    assert status.decision.time == START + 7 * DAY
    assert game.test.verify().agrees


def test_a_minimum_duration_later_than_all_looks_is_found_at_the_next_one(reached: float) -> None:
    """Nobody looks at the test between the decision and a week after its announcement."""
    game = Played(replace(PLAIN, min_days=9))
    game.until(reached - 0.8)
    assert game.test.status().withheld is None
    game.clock.advance(20 * DAY)
    status = game.test.status()
    assert status.decision is not None
    assert status.decision.time == START + 9 * DAY
    # Units that were waiting at the decision count no more, and are not pending.
    assert status.final is None or status.final.pending == 0
    assert game.test.verify().agrees


def test_a_withheld_decision_shows_the_day_of_its_announcement(reached: float) -> None:
    """From the decision on b is the worse arm: that is said, and the decision stands."""
    game = Played(replace(PLAIN, min_days=20))
    early = game.until(reached + 0.1)
    assert early.withheld is not None
    status = game.until(20.1, (0.9, 0.05))
    assert status.decision is not None
    assert status.decision.name == "b"
    assert status.decision.units == early.withheld.units
    (contrast,) = status.contrasts
    counted = sum(arm.matured for arm in status.arms)
    assert counted > 5 * status.decision.units
    assert contrast.low < contrast.difference < -0.3
    assert contrast.unbiased is None
    assert status.reversal is not None
    assert status.reversal.endswith("b was behind a")
    assert "b was behind a" in str(status)
    assert [arm.part for arm in status.arms] == ["beaten", "active"]
    assert "false positive rate" in status.promise
    assert game.test.verify().agrees


def test_bounds_of_a_withheld_decision_are_possible(reached: float) -> None:
    game = Played(replace(PLAIN, min_days=reached + 0.2))
    status = game.until(reached + 0.5)
    assert status.decision is not None
    assert status.reversal is None
    assert all(-1.0 <= one.low <= one.high <= 1.0 for one in status.contrasts)


def test_stopping_by_hand_announces_a_decision_that_is_withheld(reached: float) -> None:
    game = Played(replace(PLAIN, min_days=20))
    game.until(reached + 0.1)
    with pytest.raises(bs.InputError, match="is withheld: wait, or stop the test"):
        game.test.release()
    game.test.stop()
    status = game.test.status()
    assert status.decision is not None
    assert (status.state, status.decision.name) == ("stopped", "b")
    assert game.test.verify().agrees


def test_dropping_an_arm_by_hand_makes_a_withheld_decision_void() -> None:
    design = bs.Design(
        ["a", "b", "c"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"), min_days=14
    )
    game = Played(design, daily=40)
    for day in range(1, 14):
        if game.until(day, (0.1, 0.3, 0.8)).withheld is not None:
            break
    status = game.test.status()
    assert status.withheld is not None
    assert status.withheld.name == "c"
    game.test.drop_arm("a")
    assert game.test.verify().agrees
    status = game.until(13.0, (0.1, 0.3, 0.8))
    assert status.withheld is not None
    assert game.until(14.5, (0.1, 0.3, 0.8)).decision is not None
    assert game.test.verify().agrees


def test_a_deadline_announces_what_is_withheld(reached: float) -> None:
    deadline = datetime.fromtimestamp(START + 6 * DAY, UTC)
    game = Played(replace(PLAIN, whole_weeks=True, deadline=deadline))
    assert game.until(reached + 0.1).withheld is not None
    status = game.until(6.1)
    assert status.decision is not None
    assert (status.state, status.decision.time) == ("decided", START + 6 * DAY)


def test_enrolled_units_are_measured_on_after_the_decision(reached: float) -> None:
    plain, game = Played(PLAIN), Played(replace(PLAIN, measure_on=True))
    plain.until(reached + 0.01)
    status = game.until(reached + 0.01)
    without = plain.test.status()
    assert status.decision is not None
    # What was decided is what it would have been.
    assert (status.arms, status.contrasts) == (without.arms, without.contrasts)
    assert status.final is not None
    enrolled = sum(arm.units for arm in status.arms)
    assert status.final.pending > 0
    assert not status.final.is_complete
    status = game.until(reached + 1.5)
    assert status.final is not None
    assert status.final.is_complete
    assert enrolled - 2 <= status.final.matured <= enrolled
    assert sum(status.final.units) == status.final.matured
    assert status.decision is not None
    assert status.matured == status.decision.units < status.final.matured
    assert status.contrasts == without.contrasts
    assert "every window is closed" in str(status)
    assert game.test.verify().agrees


def test_a_store_that_is_opened_again_goes_on(tmp_path: Path, reached: float) -> None:
    place = str(tmp_path / "store.db")
    game = Played(replace(PLAIN, whole_weeks=True, measure_on=True), place=place)
    game.until(reached + 0.1)
    game.store.close()
    game.store = bs.open(str(tmp_path / "store.db"), clock=game.clock)
    game.test = game.store.get("button")
    assert game.test.status().withheld is not None
    assert game.until(8.5).final is not None
    assert game.test.verify().agrees


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"min_days": 0}, "min_days must be above 0"),
        ({"min_days": 1e6}, "min_days must be at most 3660"),
        ({"whole_weeks": "yes"}, "whole_weeks must be True or False"),
        ({"min_days": 3, "rule": bs.UCB(2)}, "min_days is for rules in blocks"),
        ({"measure_on": True, "measure": None}, "measure_on needs measure"),
    ],
)
def test_a_calendar_that_cannot_be_is_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(bs.InputError, match=message):
        replace(PLAIN, **parts)


def test_a_design_file_keeps_the_calendar() -> None:
    design = replace(PLAIN, min_days=14, whole_weeks=True, measure_on=True)
    assert bs.Design.from_dict(design.to_dict()) == design
    assert "whole_weeks" not in PLAIN.to_dict()
