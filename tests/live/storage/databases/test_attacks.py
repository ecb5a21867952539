"""Attacks on a store that were first made on SQLite, made on PostgreSQL too."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.live.reports.verification.test_verify import DAILY, TILTED, filled
from tests.live.reports.verification.test_verify import MEASURED as ONE_DAY
from tests.live.test_postgresql import ask
from tests.service.notifications.test_webhooks import decide

import bascule as bs
from bascule.live.api import acting_as, some_rows
from bascule.live.commit.runner import Runner
from bascule.live.reports.verification.verify import verify
from bascule.live.storage.statements import fetch
from bascule.service.auth.keys import (
    create_key,
    find_session,
    make_link,
    open_session,
    use_link,
    write_probe,
)
from bascule.service.notifications.webhooks import WAITS, claim, register, settle

pytestmark = pytest.mark.slow

DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
MEASURED = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"))


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "shop.db")
    return str(request.getfixturevalue("new_database")())


def acted(test: bs.Experiment, name: str) -> None:
    with acting_as(name):
        test.pause()
        test.start()


REFUSED: dict[str, Callable[[bs.Store, bs.Experiment, str], object]] = {
    "a unit": lambda _, test, text: test.assign(text),
    "one of many units": lambda _, test, text: test.assign_many(["fine", text]),
    "a unit with an outcome": lambda _, test, text: test.record(text, 1.0),
    "an id": lambda _, test, text: test.record("ann", 1.0, id=text),
    "a metric": lambda _, test, text: test.record("ann", 1.0, metric=text),
    "a linked name": lambda _, test, text: test.link("ann", text),
    "an erased name": lambda store, _, text: store.erase(text),
    "a test": lambda store, _, text: store.create(text, DESIGN),
    "a test to get": lambda store, _, text: store.get(text),
    "a test to delete": lambda store, _, text: store.delete(text),
    "a description": lambda _, test, text: test.describe(text),
    "a key": lambda store, _, text: create_key(store, "viewer", label=text),
    "an actor": lambda _, test, text: acted(test, text),
    "an arm": lambda store, _, text: store.create(
        "arm", bs.Design(["a", text], bs.Bernoulli(), bs.Tilt(3), reports="always")
    ),
}
"""What a database is given as a text, by callers and by admins."""


def test_no_text_makes_a_database_fail(location: str) -> None:
    with bs.open(location) as store:
        test = store.create("test", DESIGN)
        test.assign_many(["ann", "bob"])
        for text in ("a\0b", "a\ud800b", 100_000 * "x"):
            for what, do in REFUSED.items():
                with pytest.raises(bs.InputError) as refused:
                    do(store, test, text)
                assert len(str(refused.value)) < 400, what
            assert store.audit(text) == []
            # What comes with an outcome is listed, whatever it is.
            assert test.record("ann", text).reason == "not a number"  # type: ignore[arg-type]
            # A context is compared, and not stored.
            assert test.assign("bob", {"country": text}) in ("a", "b")
        strange = ["$1 %s ? :x \\N \\. {0}", "a\u202eb", "\uffff", "\U0001f600", "\x1b[2J", "' --"]
        arms = test.assign_many(strange)
        assert test.assign_many(strange) == arms
        for name in strange:
            assert test.record(name, 1.0, id=name).accepted
            assert store.erase(name) == ("test",)
        assert [one.name for one in store.experiments()] == ["test"]
        assert all(found.agrees for found in store.verify())


def test_names_are_linked_in_many_tests_by_few_transactions(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each had one of its own, so a link in 200 tests took 3 s on PostgreSQL."""
    with bs.open(location) as store:
        names = [f"test-{i}" for i in range(60)]
        for name in names:
            store.create(name, DESIGN).assign_many(["visitor", "user"])
        store.get(names[-1]).stop()
        groups: list[int] = []
        run = Runner.run

        def counted(runner: Runner, jobs: list[Any]) -> None:
            groups.append(len(jobs))
            run(runner, jobs)

        monkeypatch.setattr(store.queue, "_work", partial(counted, store.runner))
        arms = store.link("visitor", "user")
        assert len(arms) == 59
        # The thread that writes may begin before the last of fifty has come.
        assert (sum(groups), len(groups) <= 12) == (59, True), groups
        for name in names[:-1]:
            test = store.get(name)
            assert test.assign_many(["visitor", "user"]) == 2 * [arms[name]]
            assert test.verify().agrees


def guarded(windows: list[str], **kind: Any) -> bs.Design:
    """A test of three arms with a guardrail for each window."""
    return bs.Design(
        ["present", "new", "newer"],
        bs.Gaussian(1),
        bs.Tilt(1),
        metrics=[
            bs.Metric(f"guard-{at}", bs.Gaussian(1), goal="decrease", margin=1.0, measure=window)
            for at, window in enumerate(bs.Measure(one, "last", missing="zero") for one in windows)
        ],
        measure=bs.Measure("4h", "last", missing="zero"),
        **kind,
    )


@pytest.mark.parametrize("windows", [["30m", "2h"], ["1h", "1h"], ["30m", "2h", "4h"]])
@pytest.mark.parametrize("kind", [{"decides": "guardrails"}, {}])
def test_several_guardrails_of_several_arms_are_harmed_at_once(
    location: str, kind: dict[str, Any], windows: list[str]
) -> None:
    """Windows close at different times, and units are erased that counted in the shortest alone."""
    clock, design = bs.ManualClock(), guarded(windows, **kind)
    ramp = {"ramp": [["0h", 0.3], ["6h", 1.0]]} if kind else None
    with bs.open(location, clock=clock) as store:
        test = store.create("test", design, audience=ramp)
        for step in range(40):
            units = [f"{step} {i}" for i in range(30)]
            arms = dict(zip(units, test.assign_many(units), strict=True))
            entered = [unit for unit in units if test.assignment(unit) is not None]
            events: list[tuple[Any, ...]] = [(unit, 0.0) for unit in entered]
            for metric in test.metrics:
                worse = [(unit, 3.0 * (arms[unit] != "present")) for unit in entered]
                events += [(unit, value, None, None, metric) for unit, value in worse]
            assert all(one.accepted for one in test.record_many(events))
            for unit in entered[:2]:
                store.erase(unit)
            clock.advance("20m")
            test.settle()
            assert test.verify().agrees
            if test.state == "decided":
                break
        decision = test.status().decision
        assert decision is not None
        assert decision.name == "present"
        assert {*decision.harm} <= {*test.metrics}
        assert decision.harm
        assert decision.error <= design.harm_error
        actions = [entry["action"] for entry in test.audit()]
        assert actions.count("decide") == 1
        assert actions.count("harm") <= 1
        if kind:
            assert {test.assign(f"later {i}") for i in range(20)} == {"present"}
        test.stop()
        assert test.verify().agrees


DAMAGE = {
    "UPDATE outcomes SET value = 'NaN' WHERE id = 3": "value stored as nan",
    "UPDATE outcomes SET value = 'Infinity' WHERE id = 3": "",
    "UPDATE outcomes SET at = '-Infinity', received = 'NaN' WHERE id = 3": "not stored as a time",
    "UPDATE outcomes SET number = 4711 WHERE id = 2": "unit 4711, which does not exist",
    "UPDATE assignments SET time = 'NaN' WHERE number = 3": "time stored as nan",
    "UPDATE assignments SET time = 'Infinity' WHERE number = 39": "time stored as inf",
    "UPDATE assignments SET probability = 'NaN' WHERE number = 4": "probability stored as nan",
    "UPDATE assignments SET arm = 2147483647 WHERE number = 3": "arm stored as 2147483647",
    "DELETE FROM assignments WHERE number = 6": "unit 6, which does not exist",
    "UPDATE experiments SET created = 'NaN'": "created stored as nan",
    "UPDATE experiments SET version = 9223372036854775807": "is not a valid number",
    "UPDATE experiments SET state = '[]'": "own row cannot be read",
    "UPDATE experiments SET name = '../x'": "name stored as '../x'",
    "UPDATE history SET time = 'NaN'": "time stored as nan",
    "INSERT INTO erased VALUES (1, 3, 'NaN')": "unit 3 is listed as erased",
    "INSERT INTO set_aside (experiment, unit, value, received, reason, detail) "
    "VALUES (1, 'u', '1', 'NaN', 'late', '')": "excluded stored as 0, but 1 outcomes are listed",
}
"""Statements that PostgreSQL takes, and what is found. It has numbers that SQLite has not."""


@pytest.mark.parametrize("design", [TILTED, ONE_DAY, DAILY], ids=["blocks", "measured", "daily"])
def test_on_postgresql_damage_is_listed_and_stops_no_reader(
    new_database: Callable[[], str], design: bs.Design
) -> None:
    clock = bs.ManualClock()
    with bs.open(new_database(), clock=clock) as store:
        test = filled(store, clock, design)
        for statement, said in DAMAGE.items():
            with store.writing() as connection:
                connection.exec_driver_sql("SAVEPOINT sound")
                connection.exec_driver_sql(statement)
                found = verify(connection, test.id, test.name).differences
                connection.exec_driver_sql("ROLLBACK TO sound")
            assert any(said in one for one in found), (statement, found)
        assert test.verify().agrees
        for statement in DAMAGE:
            if "outcomes SET at" in statement or "history" in statement or "set_aside" in statement:
                with store.writing() as connection:
                    connection.exec_driver_sql(statement)
        test.assign("one more")
        str(test.status(diagnostics=True))
        for read in (test.history, test.audit, test.excluded, test.alarms):
            read()
        store.unit_data("0 3")
        some_rows(test, "outcomes", None)


def test_files_that_were_tampered_with_enter_no_server(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    clock = bs.ManualClock()
    with bs.open(tmp_path / "good.db", clock=clock) as store:
        test = store.create("button", MEASURED)
        test.assign_many(range(20))
        test.record_many([(i, 1.0) for i in range(10)])
        clock.advance("2d")
        test.status()
    good, changed, location = (tmp_path / "good.db").read_bytes(), tmp_path / "x.db", new_database()
    with bs.open(location, clock=clock) as store:
        for statement, words, is_restored in [
            ("UPDATE experiments SET name = '../x'", "name must be", False),
            ("UPDATE experiments SET name = x'00ff'", "name must be", False),
            ("UPDATE experiments SET name = 'a' || char(0)", "name must be", False),
            ("UPDATE assignments SET unit = unit || char(0)", "stored as", False),
            ("UPDATE assignments SET unit = CAST(x'ff' AS text) || number", "UTF-8", False),
            ("UPDATE outcomes SET value = 1 - value", "was changed", True),
            ("UPDATE experiments SET version = 9223372036854775807", "not a valid number", True),
            ("UPDATE assignments SET time = 'soon'", "time stored as 'soon'", False),
            ("DROP TRIGGER audit_keeps_update", "trigger audit_keeps_update", False),
            ("CREATE VIEW spy AS SELECT 1", "spy", False),
        ]:
            changed.write_bytes(good)
            with sqlite3.connect(changed) as file:
                file.execute(statement)
            file.close()
            with pytest.raises((bs.InputError, bs.StoreError), match=words) as refused:
                store.import_experiment(changed)
            assert "copy.db" not in str(refused.value)
            assert store.experiments() == []
            if not is_restored:
                target = new_database()
                with pytest.raises((bs.InputError, bs.StoreError)):
                    bs.live.restore(changed, target)
                with bs.open(target) as other:
                    assert other.is_empty
        changed.write_bytes(good)
        assert store.import_experiment(changed).verify().agrees


def test_reports_read_ten_times_the_rows_of_ten_times_the_units(
    new_database: Callable[[], str],
) -> None:
    """A join that reads all units for each outcome would read a hundred times as many."""
    read = {}
    for count in (400, 4000):
        location, units = new_database(), [str(i) for i in range(count)]
        with bs.open(location) as store:
            design = bs.Design(
                ["a", "b"], bs.Gaussian(100), bs.Tilt(3, batch=2), error=1e-6, reports="always"
            )
            test = store.create("test", design)
            test.assign_many(units)
            test.record_many([(unit, float(i % 2)) for i, unit in enumerate(units)])
        ask(location, "ANALYZE")
        ask(location, "SELECT pg_stat_reset()")
        with bs.open(location) as store:
            test = store.get("test")
            test.status()
            test.diagnostics()
            test.alarms()
            assert test.verify().agrees
        # Counts of a connection are there when it has been closed.
        ((read[count],),) = ask(
            location,
            "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) "
            "FROM pg_stat_user_tables",
        )
    assert 4000 < read[4000] <= 15 * read[400]


def test_on_postgresql_clocks_that_differ_tell_nothing_twice_and_keep_sessions(
    new_database: Callable[[], str],
) -> None:
    """A worker's clock is an hour ahead of another's, or a day behind: the database's counts."""
    location, now, ahead, behind = new_database(), time.time(), 3600.0, -86400.0
    url = "http://127.0.0.1:1/"
    with bs.open(location) as one, bs.open(location) as other:
        register(one, url)
        decide(one.create("button", DESIGN))
        (sent,) = claim(one, url, now + behind)
        # The lease of a worker that is behind is not over for one that is ahead.
        assert claim(other, url, now + ahead) == []
        assert settle(one, sent, "not delivered", now + ahead) == "waiting"
        assert claim(other, url, now) == []
        with one.reading() as connection:
            ((due,),) = fetch(connection, "SELECT due FROM service_deliveries")
        assert abs(due - WAITS[0] - time.time()) < 60.0
        link = make_link(one, now + behind)
        session = use_link(other, link, now + ahead, 1.0)
        assert session is not None
        assert find_session(one, session.token, now + behind) is not None
        assert find_session(other, session.token, now + 2 * ahead) is not None
        stale = open_session(one, None, now + 2 * ahead, -1.0)
        assert find_session(other, stale.token, now + behind) is None


def test_a_worker_whose_clock_is_wrong_is_not_ready(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    location, real = new_database(), time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600.0)
    with bs.open(location) as store, pytest.raises(bs.StoreError, match="ahead of the database's"):
        write_probe(store, real())
    monkeypatch.undo()
    with bs.open(location) as store:
        write_probe(store, real())
