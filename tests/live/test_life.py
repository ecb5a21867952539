"""The whole life of a live test, in any order: nothing is lost, nothing reverts, all adds up."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import bascule as bs
from bascule.live.storage.state import OPEN, Verdict

UNITS = st.integers(0, 25)
RULES = st.sampled_from([bs.UCB(2), bs.ETC(), bs.Tilt(3), bs.Tilt(2, batch=3)])
MEASURES = st.sampled_from(
    [None, bs.Measure("1d", "sum"), bs.Measure("1d", "last", "zero", grace="6h")]
)
COMING = bs.Design(
    ["a", "b", "c"],
    bs.Recurrent(1, 1),
    bs.UCB(2, radius="mixture"),
    measure=bs.Measure(period="1d", grace="6h"),
)
VALUES = st.sampled_from([0.0, 1.0, 30.0, -30.0, math.nan])


def refused_for(problem: bs.InputError, *fields: str) -> None:
    assert problem.field in fields


class Life(RuleBasedStateMachine):
    """A test that is assigned to, recorded, turned, paused, killed and opened again."""

    @initialize(rule=RULES, measure=MEASURES, max_units=st.sampled_from([None, 18]))
    def begin(self, rule: Any, measure: bs.Measure | None, max_units: int | None) -> None:
        made = bs.Design(["a", "b", "c"], bs.Gaussian(1), rule, max_units=max_units)
        self.begin_with(replace(made, measure=measure, reports=None if measure else "always"))

    def begin_with(self, design: bs.Design) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.clock = bs.ManualClock()
        self.arms: dict[int, str] = {}
        self.dropped: set[str] = set()
        self.verdict: Verdict | None = None
        self.matured = 0
        self.events = 0
        self.open()
        self.test = self.store.create("life", design)

    def open(self) -> None:
        self.store = bs.open(Path(self.folder.name) / "life.db", clock=self.clock)

    @rule(unit=UNITS)
    def assign(self, unit: int) -> None:
        try:
            arm = self.test.assign(unit, strict=True)
        except bs.InputError as problem:
            assert unit not in self.arms
            refused_for(problem, "state", "max_units")
            return
        found = self.test.assignment(unit)
        assert found is not None
        assigned = "abc"[found.arm]
        assert self.arms.setdefault(unit, assigned) == assigned
        # Users of an arm that was dropped are served another one; they stay in their own.
        assert arm == assigned or assigned in self.dropped

    @rule(unit=UNITS)
    def assign_where_it_may_be_refused(self, unit: int) -> None:
        """Without `strict` every unit is answered, and only enrolled ones are kept."""
        arm = self.test.assign(unit)
        assert arm in "abc"
        found = self.test.assignment(unit)
        if found is not None:
            self.arms.setdefault(unit, "abc"[found.arm])

    @rule(unit=UNITS, value=VALUES, retry=st.booleans())
    def record(self, unit: int, value: float, retry: bool) -> None:
        self.events += 1
        receipt = self.test.record(unit, value, id=f"e{self.events}")
        if unit not in self.arms or math.isnan(value):
            assert not receipt.accepted
        if retry:
            again = self.test.record(unit, value, id=f"e{self.events}")
            assert not again.accepted
            assert not receipt.accepted or again.reason == "duplicate"

    @rule(hours=st.integers(1, 30))
    def wait(self, hours: int) -> None:
        self.clock.advance(3600 * hours)

    @rule(knob=st.floats(1.5, 9))
    def turn(self, knob: float) -> None:
        rule = self.test.design.rule
        try:
            if isinstance(rule, bs.UCB):
                self.test.knob(alpha=knob)
            elif isinstance(rule, bs.Tilt):
                self.test.knob(tilt=knob)
        except bs.InputError as problem:
            refused_for(problem, "state")

    @rule(arm=st.sampled_from("abc"))
    def drop_arm(self, arm: str) -> None:
        try:
            self.test.drop_arm(arm)
            self.dropped.add(arm)
        except bs.InputError as problem:
            refused_for(problem, "state", "arm")

    @rule()
    def pause_or_start(self) -> None:
        if self.test.state == "running":
            self.test.pause()
        elif self.test.state == "paused":
            self.test.start()

    @rule()
    def crash_and_reopen(self) -> None:
        self.store.close()
        self.open()
        self.test = self.store.get("life")

    @rule()
    def look(self) -> None:
        status = self.test.status()
        if self.verdict is not None:
            assert status.decision == self.verdict
        self.verdict = status.decision
        assert self.matured <= status.matured <= status.units == len(self.arms)
        self.matured = status.matured

    @precondition(lambda self: hasattr(self, "test"))
    @invariant()
    def nobody_is_lost(self) -> None:
        for unit in (0, 7, 25):
            found = self.test.assignment(unit)
            assert (found is None) == (unit not in self.arms)
            assert found is None or "abc"[found.arm] == self.arms[unit]

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.look()
            found = self.test.verify()
            assert found.agrees, str(found)
            assert (self.test.status().decision is None) or self.test.state not in OPEN
            self.store.close()
            self.folder.cleanup()


class LifeOfStages(Life):
    """The same with outcomes that keep coming."""

    @initialize()
    def begin(self) -> None:
        self.begin_with(COMING)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=12, stateful_step_count=40)
TestLifeOfStages = LifeOfStages.TestCase
TestLifeOfStages.settings = settings(max_examples=6, stateful_step_count=40)
