"""Changes by hand while a test runs: who made them, and what follows for the next blocks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import pytest
from tests.live.conftest import START

import bascule as bs
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import Setting
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.rules import RULES, Rule
from bascule.core.rules.base import Knob
from bascule.live.api import audit_words

COINS = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")


def test_every_change_is_in_the_audit_log_with_time_and_actor(clock: bs.ManualClock) -> None:
    with bs.open(":memory:", actor="ann", clock=clock) as store:
        test = store.create(
            "log", bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3), reports="always")
        )
        clock.advance("1h")
        test.knob(tilt=5)
        test.drop_arm("c")
        test.stop()
        log = test.audit()
    actions = ["create", "start", "knob", "drop arm", "stop"]
    assert [entry["action"] for entry in log] == actions
    assert {entry["actor"] for entry in log} == {"ann"}
    assert log[2]["detail"] == {"knob": "tilt", "before": 3.0, "now": 5.0, "after": 0}
    assert log[2]["time"] == START.timestamp() + 3600


def test_the_knob_of_another_rule_is_refused(store: bs.Store) -> None:
    test = store.create("knob", COINS)
    for wrong in ({"alpha": 2.0}, {}, {"alpha": 2.0, "tilt": 2.0}, {"tilt": 0.5}):
        with pytest.raises(bs.InputError):
            test.knob(**wrong)
    assert [entry["action"] for entry in test.audit()] == ["create", "start"]


def test_an_arm_that_does_not_exist_is_refused_and_nothing_changes(store: bs.Store) -> None:
    test = store.create(
        "none", bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3), reports="always")
    )
    with pytest.raises(bs.InputError, match=r"arm must be one of a, b, c \(got 'd'\)"):
        test.drop_arm("d")
    assert [entry["action"] for entry in test.audit()] == ["create", "start"]


def test_an_arm_taken_out_leaves_the_other_blocks_of_its_row(store: bs.Store) -> None:
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(1), reports="always")
    test = store.create("row", design)
    test.assign_many(range(7 * 3 + 1))
    test.drop_arm("c")
    test.record_many([(unit, 0.0) for unit in range(7 * 3 + 1)])
    assert test.verify().agrees
    test.assign_many(range(100, 500))
    test.record_many([(unit, 0.0) for unit in range(100, 500)])
    assert test.verify().agrees
    assert test.status().units == 7 * 3 + 1 + 400


def test_a_knob_turned_moves_the_next_blocks(store: bs.Store) -> None:
    test = store.create(
        "turned", bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(1), reports="always")
    )
    for i in range(12):
        test.record(i, 1.0 * (test.assign(i) == "b"))
    assert {arm.units for arm in test.status().arms} == {6}
    test.knob(tilt=9)
    counts = Counter(test.assign_many(range(100, 120)))
    assert counts["b"] > 2 * counts["a"]


def test_an_arm_taken_out_gets_nothing_more_of_a_block_and_the_others_all_of_theirs(
    store: bs.Store,
) -> None:
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3, batch=4), reports="always")
    test = store.create("out", design)
    arms = test.assign_many(range(3))
    for i in range(3):
        test.record(i, 0.1 * i)
    test.drop_arm("c")
    handed = Counter(arms) + Counter(
        test.assign_many(range(3, 3 + 8 - sum(a != "c" for a in arms)))
    )
    assert (handed["a"], handed["b"], handed["c"]) == (4, 4, arms.count("c"))
    for i in range(3, sum(handed.values())):
        test.record(i, 0.5)
    status = test.status()
    assert status.matured == status.units
    assert next(arm.part for arm in status.arms if arm.name == "c") == "dropped"
    assert {test.assign(f"later {i}") for i in range(20)} == {"a", "b"}
    assert test.verify().agrees


@dataclass(frozen=True, slots=True)
class Lean(Rule):
    """A rule that a user brings, whose knob has a name of its own."""

    lean: float = 1.0
    kind: Literal["lean"] = field(default="lean", kw_only=True, repr=False)

    @property
    def label(self) -> str:
        return f"Lean_{self.lean:g}"

    @property
    def words(self) -> str:
        return f"leaning blocks, {self.lean:g}"

    @property
    def knob(self) -> Knob:
        return Knob("lean", self.lean, 1.0, regret_grows=False)

    def check_outcome(self, outcome: Outcome) -> None:
        bs.Tilt(self.lean).check_outcome(outcome)

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> bs.design.Calibration:
        return bs.Tilt(self.lean).calibrate(outcome, arms, error, delta)

    def procedure(self, design: Setting) -> BlockProcedure:
        return bs.Tilt(self.lean).procedure(design)


@pytest.fixture
def lean() -> Iterator[None]:
    RULES.register(Lean)
    yield
    RULES.forget("lean")


@pytest.mark.usefixtures("lean")
def test_the_knob_of_a_rule_that_a_user_brings_can_be_turned_and_replayed(store: bs.Store) -> None:
    test = store.create("lean", bs.Design(["a", "b"], bs.Gaussian(1), Lean(1), reports="always"))
    with pytest.raises(bs.InputError, match="tilt is not a knob of Lean_1"):
        test.knob(tilt=3)
    for i in range(12):
        test.record(i, 0.35 * (test.assign(i) == "b"))
    test.knob(lean=9)
    units = range(100, 400)
    arms = test.assign_many(units)
    counts = Counter(arms)
    assert counts["b"] > 2 * counts["a"]
    test.record_many([(i, 0.35 * (arm == "b")) for i, arm in zip(units, arms, strict=True)])
    assert test.design.rule == Lean(9)
    assert [turn.value for turn in test.forecast([1, 9])] == [1, 9]
    assert test.verify().agrees


THREE = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3), reports="always")


def test_users_of_a_dropped_arm_get_the_control_at_once_and_their_outcomes_stay(
    store: bs.Store,
) -> None:
    test = store.create("kill", replace(THREE, control="b"))
    arms = dict(zip(map(str, range(60)), test.assign_many(range(60)), strict=True))
    test.drop_arm("c")
    assert {test.assign(unit) for unit, arm in arms.items() if arm == "c"} == {"b"}
    assert all(test.assign(unit) == arm for unit, arm in arms.items() if arm != "c")
    moved = test.evaluate(next(unit for unit, arm in arms.items() if arm == "c"))
    assert (moved.arm, moved.reason, moved.enrolled) == ("b", "STATIC", True)
    before = test.status()
    test.record_many([(unit, 1.0) for unit in arms])
    after = test.status()
    units = [list(arms.values()).count(arm) for arm in "abc"]
    assert [arm.matured for arm in before.arms] == [0, 0, 0]
    assert [arm.matured for arm in after.arms] == units
    assert before.moved == (("c", "b"),)
    assert "Dropped c; its users get b" in [audit_words(entry) for entry in test.audit()]
    assert test.verify().agrees


def test_users_may_get_another_arm_and_follow_it_when_that_is_dropped_too(store: bs.Store) -> None:
    design = bs.Design(["a", "b", "c", "d"], bs.Gaussian(1), bs.Tilt(3), reports="always")
    test = store.create("chain", design)
    arms = test.assign_many(range(40))
    test.drop_arm("d", to="c")
    assert {test.assign(i) for i, arm in enumerate(arms) if arm == "d"} == {"c"}
    with pytest.raises(bs.InputError, match="to must be one of the arms that are left, a, b"):
        test.drop_arm("c", to="d")
    assert test.status().arms[2].part == "active"
    test.drop_arm("c", to="b")
    assert {test.assign(i) for i, arm in enumerate(arms) if arm in "bcd"} == {"b"}
    with pytest.raises(bs.InputError, match="to must be one of a, b, c, d"):
        test.stop(to="e")
    assert test.state == "running"


def test_a_dropped_arm_and_a_stop_reach_other_programs_within_a_second(tmp_path: Path) -> None:
    with bs.open(tmp_path / "kill.db") as one, bs.open(tmp_path / "kill.db") as other:
        here = one.create("kill", THREE)
        arms = here.assign_many(range(30))
        there = other.get("kill")
        assert there.assign_many(range(30)) == arms
        here.drop_arm("c")
        time.sleep(1.0)
        served = ["a" if arm == "c" else arm for arm in arms]
        assert [there.assign(i) for i in range(30)] == served
        assert there.assign_many(range(30)) == served
        here.stop(to="b")
        time.sleep(1.0)
        assert {there.assign(i) for i in [*range(30), "new"]} == {"b"}
