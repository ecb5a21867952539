"""Leases: programs on one PostgreSQL hand out slots of one test side by side."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

import bascule as bs
from bascule.live.api.reads import read_summaries
from bascule.live.clock import moment
from bascule.live.commit import runner
from bascule.live.reports.verification.verify import verify
from bascule.live.storage.leases import all_leases
from bascule.live.storage.queries import deal_again, find_deals
from bascule.live.storage.statements import execute, fetch
from bascule.live.transactions import lease

DESIGN = bs.Design(["a", "b"], bs.Gaussian(100), bs.Tilt(3, batch=2), error=1e-6, reports="always")
MEASURED = bs.Design(
    ["a", "b", "c"], bs.Bernoulli(), bs.Tilt(3), error=1e-6, measure=bs.Measure("1h", "any")
)


class Programs:
    """Two programs on one database, each with a lease after `start`."""

    def __init__(self, location: str) -> None:
        self.clock = bs.ManualClock()
        self.stores = [bs.open(location, clock=self.clock) for _ in range(2)]
        self.names = (f"unit {i}" for i in count())
        self.tests: list[bs.Experiment] = []

    def start(self, name: str, design: bs.Design = DESIGN) -> tuple[bs.Experiment, bs.Experiment]:
        """Create a test of which each program has a lease of some slots."""
        self.stores[0].create(name, design)
        first, second = self.tests = [store.get(name) for store in self.stores]
        for test in (first, second, first, second):
            self.assign(test, 30)
        assert all(test.id in test.store.runner._leases for test in self.tests)
        return first, second

    def assign(self, test: bs.Experiment, units: int) -> dict[str, str]:
        """Assign new units; their arms."""
        named = [next(self.names) for _ in range(units)]
        return dict(zip(named, test.assign_many(named), strict=True))

    def left(self) -> list[int]:
        """How many slots the leases have left, as they are stored."""
        with self.stores[0].reading() as connection:
            rows = all_leases(connection, self.tests[0].id)
        return [row.size - row.used for row in rows]


@pytest.fixture(scope="module")
def location(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture
def programs(location: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Programs]:
    monkeypatch.setattr(runner, "LEASED_FROM", 10)
    monkeypatch.setattr(runner, "MOST_LEASED", 41)
    made = Programs(location)
    yield made
    for store in made.stores:
        store.close()


def rows(test: bs.Experiment, columns: str) -> list[Any]:
    with test.store.reading() as connection:
        asked = f"SELECT {columns} FROM assignments WHERE experiment = ? ORDER BY number"
        return [*fetch(connection, asked, test.id)]


def check(test: bs.Experiment, units: int) -> None:
    """Every unit has one arm, every block that is complete has its sizes, the log agrees."""
    status, found = test.status(), test.verify()
    assert found.agrees, str(found)
    assert (status.units, found.units) == (units, units)
    with test.store.reading() as connection:
        asked = "SELECT number, slots FROM blocks WHERE experiment = ?"
        blocks = {
            first + i: Counter(arm for part in parts for arm in part)
            for first, text in fetch(connection, asked, test.id)
            for i, (parts, _) in enumerate(json.loads(text))
        }
    handed: dict[int, Counter[int]] = {}
    for deal, arm in rows(test, "deal, arm"):
        handed.setdefault(deal, Counter())[arm] += 1
    partial = [deal for deal, arms in handed.items() if arms != blocks[deal]]
    # Each lease may be in the middle of a block, and so may the test itself.
    assert len(partial) <= 3


def test_two_programs_hand_out_slots_side_by_side(programs: Programs) -> None:
    first, second = programs.start("side-by-side")
    versions = {test._loaded().version for test in (first, second)}
    arms = {**programs.assign(first, 5), **programs.assign(second, 7), **programs.assign(first, 3)}
    assert {test._loaded().version for test in (first, second)} == versions, "no lock was needed"
    # The other program finds them, and gives them the same arms.
    assert second.assign_many([*arms]) == first.assign_many([*arms]) == [*arms.values()]
    check(first, 135)
    numbers = [number for (number,) in rows(first, "number")]
    assert numbers != [*range(135)], "two runs of numbers are under way"
    check(second, 135)
    found, _ = read_summaries(programs.stores[0], {})
    again, _ = read_summaries(programs.stores[0], {one.test.id: one for one in found.values()})
    for listed in (found[first.name], again[first.name]):
        assert listed.status() == first.status(), "a list counts units alone, too"
    # When all slots have units and all units outcomes, everything counts.
    for left in programs.left():
        for _ in range(left):
            programs.assign(first, 1)
    names = [unit for (unit,) in rows(first, "unit")]
    second.record_many([(unit, 1.0) for unit in names])
    second.settle()
    status = second.status()
    assert status.matured >= status.units - 41
    check(first, len(names))


def test_a_unit_that_both_ask_for_has_one_arm(programs: Programs) -> None:
    first, second = programs.start("both")
    asked = [f"both {i}" for i in range(6)]
    assert first.assign_many(asked) == second.assign_many([*reversed(asked)])[::-1]
    check(first, 126)


@pytest.mark.parametrize("design", [DESIGN, MEASURED])
def test_what_a_killed_program_leaves_is_filled_by_the_next_units(
    programs: Programs, design: bs.Design
) -> None:
    gone, left = programs.start(f"killed-{len(design.arms)}", design)
    programs.assign(gone, 3)
    # It is not heard of again: nothing is given back.
    gone.store.runner._leases.clear()
    programs.clock.advance(lease.SECONDS + lease.LEFT_AFTER + 0.1)
    for _ in range(10):
        programs.assign(left, 20)
    check(left, 323)
    numbers = [number for (number,) in rows(left, "number")]
    assert numbers[:280] == [*range(280)], "its slots came first"


def test_units_behind_slots_that_nobody_fills_wait_for_blocks_under_way_alone(
    programs: Programs,
) -> None:
    gone, left = programs.start("silence")
    programs.assign(left, 5)
    left.record_many([(unit, 1.0) for (unit,) in rows(left, "unit")])
    assert left.status().matured < 120, "they wait for the slots of leases"
    programs.clock.advance("2m")
    for _ in range(3):
        # As many as the block needs that all others wait for, and then the next one.
        left.settle()
        units = programs.assign(left, max(1, min(filter(None, programs.left()), default=1)))
        left.record_many([(unit, 1.0) for unit in units])
    status = left.status()
    assert status.matured > status.units - 12
    assert left._loaded().state.skipped > 0, "blocks without a unit were cancelled"
    check(left, status.units)
    assert gone.verify().agrees


def test_a_change_by_another_program_holds_at_once(programs: Programs) -> None:
    first, second = programs.start("changed", MEASURED)
    second.pause()
    assert first.evaluate("paused").why == "state"
    assert max(programs.left()) < 12, "blocks without a unit are cancelled"
    second.start()
    programs.assign(first, 30)
    programs.assign(second, 30)
    programs.assign(first, 30)
    second.pause_arm("c")
    arms = programs.assign(first, 60)
    # Blocks under way are finished: at most one of each lease, and one of the test.
    assert 0 <= Counter(arms.values())["c"] <= 3 * 4 < 60 / 3
    assert "c" not in programs.assign(first, 30).values()
    second.resume_arm("c")
    programs.assign(first, 30)
    programs.assign(second, 30)
    second.drop_arm("c")
    arms = programs.assign(first, 60)
    assert set(arms.values()) == {"a", "b"}
    dealt = [arm for (arm,) in rows(first, "arm")[-60:]]
    assert dealt.count(2) <= 3 * 4, "only blocks under way have places of the arm"
    programs.assign(second, 30)
    second.knob(tilt=5)
    programs.assign(first, 30)
    check(first, 480)
    first.stop("a")
    assert second.assign("later") == "a"
    assert not second.evaluate("later still").enrolled


def test_a_block_that_is_taken_out_of_the_log_is_found(programs: Programs) -> None:
    test, other = programs.start("forged", MEASURED)
    other.pause()
    other.start()
    programs.assign(test, 60)
    check(test, 180)
    assert test._loaded().state.cancelled > 0, "there are gaps that nobody forged"
    (deal,) = rows(test, "deal")[100]
    arms = Counter(arm for its, arm in rows(test, "deal, arm") if its == deal)

    def forge(blocks: bool) -> tuple[str, ...]:
        """Delete the units of a block, and count one fewer; with `blocks` the block itself too."""
        # What is written on a connection to read is not kept.
        with test.store.reading() as connection:
            (found,) = fetch(connection, "SELECT standing FROM experiments WHERE id = ?", test.id)
            state = json.loads(found[0])
            state["assigned"] = [units - arms[k] for k, units in enumerate(state["assigned"])]
            for statement, values in (
                ("DELETE FROM assignments WHERE experiment = ? AND deal = ?", (test.id, deal)),
                ("UPDATE experiments SET standing = ? WHERE id = ?", (json.dumps(state), test.id)),
            ):
                execute(connection, statement, values)
            if blocks:
                run = find_deals(connection, test.id, deal, deal)[deal]
                deal_again(connection, test.id, replace(run, parts=()))
            return verify(connection, test.id, test.name).differences

    assert any("slots were dealt" in one for one in forge(blocks=False))
    assert any("which is that of unit" in one for one in forge(blocks=True))
    assert test.verify().agrees


def test_two_programs_with_one_lease_hand_out_no_slot_twice(programs: Programs) -> None:
    # As after a fork, which copies what a program has in memory.
    first, second = programs.start("forked")
    one, other = first.store.runner, second.store.runner
    other._holder, other._leases[first.id] = one._holder, deepcopy(one._leases[first.id])
    for _ in range(3):
        programs.assign(first, 4)
        programs.assign(second, 4)
    check(first, 144)
    # Both give it back, and a third program hands out the rest.
    for store in programs.stores:
        store.runner.close()
        store.runner.close()
    programs.assign(first, 60)
    check(first, 204)


def test_programs_whose_clocks_differ_by_less_than_is_refused_share_leases(
    programs: Programs,
) -> None:
    first, second = programs.start("apart")
    for late, early in ((first, second), (second, first)):
        for store, by in ((late.store, 27.5), (early.store, -27.5)):
            store.runner.guard._clock = bs.ManualClock(moment(programs.clock.now() + by))
        for _ in range(3):
            programs.assign(late, 30)
            programs.assign(early, 30)
    check(first, 480)


def test_a_lease_of_a_program_whose_clock_is_set_wrong_is_not_used(
    programs: Programs, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bs.open(location) as store, bs.open(location) as other:
        programs.tests = [store.create("wrong", DESIGN), other.get("wrong")]
        for test in (*programs.tests, *programs.tests):
            programs.assign(test, 30)
        right = time.time
        for minutes in (10.0, -10.0):
            with monkeypatch.context() as patched:
                patched.setattr(time, "time", lambda by=minutes: right() + 60.0 * by)
                # It was set wrong while a program runs, or before it started.
                with pytest.raises(bs.StoreError, match="clock has jumped"):
                    programs.tests[0].assign("new")
                with bs.open(location) as late, pytest.raises(bs.StoreError, match="database's"):
                    late.get("wrong").assign("new")
        programs.assign(programs.tests[0], 10)
        check(programs.tests[1], 130)


def test_leases_of_other_sizes_go_on_after_a_restart(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    test, _ = programs.start("sizes", MEASURED)
    for most in (7, 200, 1, 41):
        monkeypatch.setattr(runner, "MOST_LEASED", most)
        # Killed, and started again.
        test.store.runner._leases.clear()
        test.store.runner._holder += "again"
        for one in programs.tests:
            programs.assign(one, 20)
            programs.assign(one, 20)
        programs.clock.advance(lease.SECONDS + lease.LEFT_AFTER + 0.1)
    programs.assign(test, 300)
    check(test, 120 + 4 * 80 + 300)


def test_a_program_alone_takes_no_lease(programs: Programs) -> None:
    test = programs.stores[0].create("alone", DESIGN)
    for _ in range(3):
        programs.assign(test, 60)
    assert not test.store.runner._leases
    assert test._loaded().state.leased == 0


def test_closing_a_store_gives_its_leases_back(programs: Programs) -> None:
    first, _ = programs.start("closed")
    programs.stores[1].close()
    programs.assign(first, 100)
    check(first, 220)


def test_a_copy_of_leases_goes_on_in_a_file(programs: Programs, tmp_path: Any) -> None:
    first, _ = programs.start("copied")
    programs.assign(first, 5)
    programs.stores[0].backup(tmp_path / "copy.db")
    with bs.open(tmp_path / "copy.db", clock=programs.clock) as store:
        test = store.get("copied")
        assert test.status().units == 125
        programs.clock.advance(lease.SECONDS + lease.LEFT_AFTER + 0.1)
        programs.assign(test, 60)
        check(test, 185)
