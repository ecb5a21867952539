"""Backups of a store in use, restored into either database, and experiments that move."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import bascule as bs
from bascule.cli.main import main
from bascule.service.auth.keys import create_key, list_keys, make_link

DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"))


def fill(store: bs.Store, clock: bs.ManualClock) -> None:
    """Two tests, one of them deleted, a key, and a link that signs in."""
    gone = store.create("gone", DESIGN)
    gone.stop()
    store.delete("gone")
    test = store.create("button", DESIGN)
    test.assign_many([f"u{i}" for i in range(40)])
    test.record_many([(f"u{i}", float(i % 2), None, f"e{i}") for i in range(40)])
    test.record("stranger", 1.0)
    clock.advance("2d")
    test.knob(tilt=5)
    test.assign("late")
    store.erase("u3")
    create_key(store, "viewer", label="ann")
    make_link(store, clock.now())


@pytest.mark.parametrize("kinds", ["file to file", "file to server", "server to file"])
def test_a_backup_of_a_store_in_use_is_restored(
    kinds: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    places = {"file": lambda name: str(tmp_path / name)}
    if "server" in kinds:
        create: Callable[[], str] = request.getfixturevalue("new_database")
        places["server"] = lambda _: create()
    first, _, second = kinds.split()
    source, target = places[first]("first.db"), places[second]("second.db")
    clock = bs.ManualClock()
    with bs.open(source, clock=clock) as store:
        fill(store, clock)
        bs.live.backup(source, tmp_path / "copy.db")
        with pytest.raises(bs.InputError, match=r"copy\.db already exists"):
            bs.live.backup(source, tmp_path / "copy.db")
        status, audit = store.get("button").status(), store.audit()
        rows = store.get("button").excluded()
    bs.live.restore(tmp_path / "copy.db", target)
    with bs.open(target, clock=clock) as store:
        test = store.get("button")
        assert test.status() == status
        assert store.audit() == audit
        assert test.excluded() == rows
        assert all(found.agrees for found in store.verify())
        assert [key.label for key in list_keys(store)] == ["ann"]
        with store.reading() as connection:
            assert connection.exec_driver_sql("SELECT * FROM service_sessions").all() == []
        # It goes on, and a new test does not get the number of one that was deleted.
        test.assign_many([f"v{i}" for i in range(10)])
        test.record("v1", 1.0)
        assert store.create("another", DESIGN).id > test.id
        assert all(found.agrees for found in store.verify())
        assert all(check.ok for check in bs.live.doctor(target, full=True))
    with pytest.raises(bs.InputError, match=r"already exists|is not empty"):
        bs.live.restore(tmp_path / "copy.db", target)


def test_stores_are_copied_and_checked_by_path(tmp_path: Path) -> None:
    with bs.open(tmp_path / "a.db", clock=bs.ManualClock()) as store:
        store.create("button", DESIGN)
    bs.live.backup(tmp_path / "a.db", tmp_path / "copy.db")
    bs.live.restore(tmp_path / "copy.db", tmp_path / "b.db")
    assert all(check.ok for check in bs.live.doctor(tmp_path / "b.db", full=True))


@pytest.mark.parametrize("ending", ["wal", "journal"])
def test_a_copy_is_not_written_beside_the_log_of_another_store(ending: str, tmp_path: Path) -> None:
    with bs.open(tmp_path / "shop.db") as store:
        store.create("button", DESIGN)
        store.backup(tmp_path / "copy.db")
        # As after a power failure: the log has rows that the file lacks.
        left = (tmp_path / "shop.db-wal").read_bytes()
    target = tmp_path / "restored.db"
    log = tmp_path / f"restored.db-{ending}"
    log.write_bytes(left)
    words = rf"restored\.db-{ending} is left of another store, .* apply it to .*restored\.db: move"
    with pytest.raises(bs.InputError, match=words):
        bs.live.restore(tmp_path / "copy.db", str(target))
    with pytest.raises(bs.InputError, match=words):
        bs.live.backup(str(tmp_path / "shop.db"), target)
    assert not target.exists()
    assert log.read_bytes() == left
    log.rename(tmp_path / "away")
    bs.live.restore(tmp_path / "copy.db", str(target))
    assert all(check.ok for check in bs.live.doctor(str(target), full=True))


def test_a_backup_is_one_moment_of_a_store_that_is_written(tmp_path: Path) -> None:
    path = tmp_path / "busy.db"
    with bs.open(path) as store:
        test = store.create("button", DESIGN)
        is_over = threading.Event()

        def write() -> None:
            unit = 0
            while not is_over.is_set():
                test.assign_many([f"{unit}-{i}" for i in range(20)])
                test.record_many([(f"{unit}-{i}", 1.0) for i in range(20)])
                unit += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for i in range(4):
                bs.live.backup(str(path), tmp_path / f"copy-{i}.db")
        finally:
            is_over.set()
            writer.join()
    sizes = []
    for i in range(4):
        with bs.open(tmp_path / f"copy-{i}.db") as copy:
            found = copy.get("button").verify()
            assert found.agrees, found
            sizes.append(found.units)
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]
    assert (tmp_path / "copy-0.db").stat().st_mode & 0o077 == 0


def test_an_experiment_moves_to_another_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = bs.ManualClock()
    with bs.open(tmp_path / "first.db", clock=clock) as store:
        fill(store, clock)
        store.create("other", DESIGN)
        status, entries = store.get("button").status(), store.get("button").audit()
        store.backup(tmp_path / "all.db")
    monkeypatch.setenv("BASCULE_STORE", str(tmp_path / "first.db"))
    with pytest.raises(SystemExit):
        main(["experiment", "export", "button", "--form", "store", "--out", str(tmp_path)])
    assert capsys.readouterr().out == f"written to {tmp_path / 'button.db'}\n"
    with bs.open(tmp_path / "second.db", clock=clock) as store:
        store.create("button", DESIGN).assign("u1")
        with pytest.raises(bs.InputError, match="there is an experiment 'button' already"):
            store.import_experiment(tmp_path / "button.db")
        test = store.import_experiment(tmp_path / "button.db", name="moved")
        assert test.status().to_dict() == {**status.to_dict(), "name": "moved"}
        assert [entry["action"] for entry in test.audit()] == [
            *(entry["action"] for entry in entries),
            "import",
        ]
        with pytest.raises(bs.InputError, match="file are button, other: say which one"):
            store.import_experiment(tmp_path / "all.db")
        store.import_experiment(tmp_path / "all.db", experiment="other")
        test.assign("more")
        assert all(found.agrees for found in store.verify())
        assert [one.name for one in store.experiments()] == ["button", "moved", "other"]


def test_files_that_were_tampered_with_are_refused(tmp_path: Path) -> None:
    clock = bs.ManualClock()
    with bs.open(tmp_path / "good.db", clock=clock) as store:
        fill(store, clock)
    good = (tmp_path / "good.db").read_bytes()

    def changed(*statements: str) -> Path:
        path = tmp_path / "changed.db"
        path.write_bytes(good)
        with sqlite3.connect(path) as file:
            for statement in statements:
                file.executescript(statement)
        file.close()
        return path

    spy = "CREATE TRIGGER spy AFTER INSERT ON assignments BEGIN DELETE FROM outcomes; END"
    with bs.open(":memory:") as store:
        for statement, words in [
            (spy, r"has code that is not bascule's \(spy\)"),
            ("CREATE VIEW spy AS SELECT 1", r"\(spy\)"),
            ("CREATE TABLE spy (a CHECK (length(hex(zeroblob(1000000000))) > 0))", r"\(spy\)"),
            ("ALTER TABLE audit ADD COLUMN spy AS (zeroblob(1000000000))", r"\(audit\)"),
            ("CREATE INDEX spy ON outcomes (length(zeroblob(value)))", r"\(spy\)"),
            (
                "DROP INDEX set_aside_events; "
                "CREATE INDEX set_aside_events ON set_aside (length(zeroblob(event)))",
                r"\(set_aside_events\)",
            ),
            ("UPDATE outcomes SET value = 1", "was changed: .* computed as"),
            ("UPDATE experiments SET name = '../x'", "name must be"),
            ("UPDATE experiments SET design = '{}'", "cannot be read"),
            (
                "UPDATE experiments SET design = replace(hex(zeroblob(50000)), '0', '[')",
                "recursion",
            ),
            ("UPDATE assignments SET time = 'soon'", "time stored as 'soon'"),
            ("UPDATE experiments SET name = x'00ff'", "name must be"),
            ("UPDATE experiments SET version = 9223372036854775807", "is not a valid number"),
            (
                "UPDATE experiments SET state = json_set(state, '$.control.since', 'soon')",
                r"control.since: .* \(got 'soon'\)",
            ),
            (
                'UPDATE experiments SET delivery = \'{"audience": null, "values": [1]}\'',
                "values of the arms cannot be used",
            ),
            (
                "INSERT INTO audit (experiment, name, time, actor, action, detail) "
                "SELECT id, name, created, 'eve', 'decide', '{}' FROM experiments",
                "differ about whether there is a decision",
            ),
            ("ALTER TABLE outcomes DROP COLUMN received", "column received of outcomes"),
            ("DROP TRIGGER audit_keeps_update", "trigger audit_keeps_update is missing"),
            ("UPDATE assignments SET arm = -5", "arm stored as -5"),
            ("UPDATE outcomes SET value = 9e999", "was changed"),
            ("UPDATE bascule_version SET version = '9999'", "another bascule"),
            ("DROP TABLE bascule_version", "tables that are not bascule's"),
        ]:
            with pytest.raises((bs.InputError, bs.StoreError), match=words) as refused:
                store.import_experiment(changed(statement))
            assert "copy.db" not in str(refused.value)
            if "SET name" in statement:
                with pytest.raises(bs.InputError, match=words):
                    bs.live.restore(changed(statement), str(tmp_path / "restored.db"))
                assert not (tmp_path / "restored.db").exists()
        half = tmp_path / "half.db"
        half.write_bytes(good[: len(good) // 2])
        with pytest.raises((bs.InputError, bs.StoreError), match=r"damaged|malformed"):
            store.import_experiment(half)
        (tmp_path / "text.db").write_text("unit,arm\n")
        with pytest.raises(bs.InputError, match="is not a store of bascule's"):
            store.import_experiment(tmp_path / "text.db")
        assert store.experiments() == []
    assert (tmp_path / "good.db").read_bytes() == good
    assert not list(tmp_path.glob(".*"))


def test_an_import_puts_no_unit_into_two_tests_of_a_layer(tmp_path: Path) -> None:
    with bs.open(tmp_path / "first.db") as store:
        store.create("first", DESIGN, audience={"layer": {"name": "till", "share": 0.5}})
        store.backup(tmp_path / "all.db")
    with bs.open(tmp_path / "second.db") as store:
        other = store.create("other", DESIGN, audience={"layer": {"name": "till", "share": 0.1}})
        with pytest.raises(bs.InputError, match="have units of layer 'till' in common"):
            store.import_experiment(tmp_path / "all.db")
        other.stop()
        store.import_experiment(tmp_path / "all.db", "first")


def test_a_backup_without_experiments_has_nothing_to_import(tmp_path: Path) -> None:
    with bs.open(tmp_path / "empty.db") as store:
        store.backup(tmp_path / "backup.db")
    with (
        bs.open(":memory:") as store,
        pytest.raises(bs.InputError, match="the file has no experiments"),
    ):
        store.import_experiment(tmp_path / "backup.db")
