"""Verification lists all that is wrong, whatever was damaged, and raises for none of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from sqlalchemy import text

import bascule as bs
from bascule.live.reports.verification.verify import verify

TILTED = bs.Design(["a", "b"], bs.Gaussian(100), bs.Tilt(3, batch=2), error=1e-6, reports="always")
MEASURED = bs.Design(["a", "b"], bs.Bernoulli(), bs.UCB(2), measure=bs.Measure("1d", "any"))
DAILY = bs.Design(
    ["a", "b"],
    bs.Recurrent(1, 1),
    bs.UCB(2, radius="mixture"),
    measure=bs.Measure(period="1d"),
)


@pytest.fixture(scope="module")
def sound() -> Iterator[dict[bs.Design, bs.Experiment]]:
    """A test of each design, each in a store of its own, in which nothing is damaged."""
    with ExitStack() as stack:
        tests = {}
        for design in (TILTED, MEASURED, DAILY):
            clock = bs.ManualClock()
            store = stack.enter_context(bs.open(":memory:", clock=clock))
            tests[design] = filled(store, clock, design)
        yield tests


def differences(test: bs.Experiment, statement: str) -> tuple[str, ...]:
    """What verification lists after some damage, which is not kept."""
    with test.store.writing() as connection:
        connection.exec_driver_sql("SAVEPOINT sound")
        connection.exec_driver_sql("DROP TRIGGER IF EXISTS audit_keeps_update")
        connection.exec_driver_sql(statement)
        found = verify(connection, test.id, test.name).differences
        connection.exec_driver_sql("ROLLBACK TO sound")
    return found


def filled(store: bs.Store, clock: bs.ManualClock, design: bs.Design) -> bs.Experiment:
    test = store.create("test", design)
    for day in range(5):
        units = [f"{day} {i}" for i in range(8)]
        test.assign_many(units)
        clock.advance("1h")
        test.record_many([(unit, float(i % 2), None, unit) for i, unit in enumerate(units)])
        clock.advance("1d")
    test.settle()
    assert test.verify().differences == ()
    return test


def damage(store: bs.Store, *statements: str) -> None:
    with store.writing() as connection:
        connection.execute(text("DROP TRIGGER IF EXISTS audit_keeps_update"))
        for statement in statements:
            connection.execute(text(statement))


@pytest.mark.parametrize("design", [TILTED, MEASURED, DAILY], ids=["blocks", "measured", "daily"])
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE assignments SET time = time - 7 WHERE number = 11",
            "before that of the unit",
        ),
        ("UPDATE assignments SET time = time + 9e9 WHERE number = 39", "last unit's time is"),
        ("UPDATE assignments SET time = 'noon' WHERE number = 3", "time stored as 'noon'"),
        (
            "UPDATE assignments SET probability = 0.25 WHERE number = 4",
            "unit 4: probability",
        ),
        ("UPDATE assignments SET arm = 7 WHERE number = 5", "unit 5: arm stored as 7"),
        ("UPDATE assignments SET arm = 'x' WHERE number = 5", "unit 5: arm stored as 'x'"),
        ("DELETE FROM assignments WHERE number = 6", "unit 6, which does not exist"),
        ("DELETE FROM assignments WHERE number = 6", "unit 7 comes after unit 5"),
        ("UPDATE outcomes SET number = 4711 WHERE id = 2", "unit 4711, which does not exist"),
        ("UPDATE outcomes SET value = 'ten' WHERE id = 3", "value stored as 'ten'"),
        ("UPDATE outcomes SET at = 0 WHERE id = 3", "outcome 3 of unit 2: at 0.0 lies outside"),
        ("UPDATE outcomes SET at = 'noon' WHERE id = 3", "outcome 3 of unit 2: at or received"),
        ("UPDATE experiments SET statistics = '{'", "own row cannot be read"),
        ("UPDATE experiments SET state = '[]'", "own row cannot be read"),
        ("UPDATE experiments SET phase = 'gone'", "state stored as 'gone', which is not a state"),
        ("UPDATE experiments SET phase = 'decided'", "decided, without a decision"),
        ("UPDATE history SET statistics = '{'", "s cannot be read"),
        ("UPDATE audit SET detail = '{' WHERE id = 1", "audit entry 1 (create) cannot be read"),
    ],
)
def test_damage_is_listed(
    sound: dict[bs.Design, bs.Experiment], design: bs.Design, statement: str, said: str
) -> None:
    found = differences(sound[design], statement)
    assert any(said in one for one in found), found
    assert sound[design].verify().agrees


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE blocks SET slots = '[[[[0,'", "blocks from 1 on cannot be read"),
        ("DELETE FROM blocks", "its block 1 is not stored"),
        ("INSERT INTO blocks SELECT experiment, 999, slots FROM blocks LIMIT 1", "is stored, but"),
        ("UPDATE assignments SET arm = 1 - arm WHERE number = 5", "handed out as"),
    ],
)
def test_damaged_blocks_are_listed(
    sound: dict[bs.Design, bs.Experiment], statement: str, said: str
) -> None:
    found = differences(sound[TILTED], statement)
    assert any(said in one for one in found), found


def test_all_that_is_wrong_is_listed_at_once(store: bs.Store, clock: bs.ManualClock) -> None:
    test = filled(store, clock, TILTED)
    damage(
        store,
        "UPDATE assignments SET probability = 0.1 WHERE number IN (3, 30)",
        "UPDATE assignments SET arm = 9 WHERE number = 20",
        "UPDATE outcomes SET number = 4711 WHERE id = 2",
        "UPDATE history SET statistics = 'x' WHERE folded = (SELECT min(folded) FROM history)",
    )
    differences = test.verify().differences
    for said in ("unit 3: prob", "unit 30: prob", "unit 20: arm", "unit 4711", "history after"):
        assert any(said in one for one in differences), (said, differences)


def test_the_history_of_recurring_outcomes_counts_stages(
    sound: dict[bs.Design, bs.Experiment],
) -> None:
    found = differences(sound[DAILY], "UPDATE history SET folded = folded + 1000")
    assert any(re.match(r"history after 10\d\d stages, but only \d+ have", one) for one in found), (
        found
    )


def test_an_outcome_that_is_missing_of_a_metric_is_named(store: bs.Store) -> None:
    latency = bs.Metric("latency", bs.Gaussian(1), margin=1.0)
    coins = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always", metrics=[latency])
    test = store.create("test", coins)
    for unit in map(str, range(6)):
        test.assign(unit)
        test.record_many([(unit, 1.0), (unit, 0.5, None, None, "latency")])
    assert test.verify().agrees
    damage(store, "DELETE FROM outcomes WHERE number = 3 AND metric = 'latency'")
    assert "unit 3 cannot be counted: ValueError: it has no outcome of some metric" in str(
        test.verify()
    )


def test_rows_of_no_experiment_are_listed_for_the_store(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    filled(store, clock, TILTED)
    assert all(one.agrees for one in store.verify())
    damage(store, "INSERT INTO outcomes VALUES (1000, 77, 0, 1.0, 0, 0, NULL, NULL, NULL, NULL)")
    test, orphans = store.verify()
    assert test.agrees
    assert orphans.differences == (
        "1 rows of outcomes belong to experiment 77, which does not exist",
    )


@pytest.mark.parametrize(
    "read",
    [
        lambda test: test.audit(),
        lambda test: test.excluded(),
        lambda test: test.history(),
        lambda test: test.store.audit(),
    ],
    ids=["audit", "excluded", "history", "store audit"],
)
def test_no_row_makes_a_listing_fail(
    store: bs.Store, clock: bs.ManualClock, read: Callable[[bs.Experiment], object]
) -> None:
    test = filled(store, clock, TILTED)
    test.record("nobody", 1.0)
    damage(
        store,
        "UPDATE audit SET detail = '{', time = 1e300",
        "UPDATE set_aside SET at = -1e300, value = '', detail = x'00'",
        "UPDATE history SET statistics = '{', time = 1e300 WHERE folded < 20",
    )
    assert read(test)
