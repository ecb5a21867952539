"""What the doctor finds in a store that is ill, and that it changes nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import bascule as bs
from bascule.cli.main import main
from bascule.live.reports.verification import doctor

DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with bs.open(tmp_path / "shop.db") as store:
        store.create("button", DESIGN).assign_many([f"u{i}" for i in range(300)])
    return tmp_path / "shop.db"


def problems(path: Path, full: bool = False) -> dict[str, str]:
    return {one.name: one.detail for one in bs.live.doctor(str(path), full=full) if not one.ok}


def run(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as file:
        for statement in statements:
            file.execute(statement)
    file.close()


def test_a_healthy_store_has_no_problem(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--full", "--store", str(path)])
    said = capsys.readouterr().out
    assert left.value.code == 0
    assert [line.split()[0] for line in said.splitlines()] == ["ok"] * 9
    assert "button: recomputed from 300 units" in said


@pytest.mark.parametrize(
    ("statement", "check", "words"),
    [
        ("DELETE FROM experiments", "orphan rows", "300 rows of assignments belong"),
        ("UPDATE bascule_version SET version = '9999'", "version", "this bascule has 1"),
        ("UPDATE experiments SET design = '[]'", "experiment", "it cannot be read"),
        ("DROP TRIGGER audit_keeps_delete", "tables", "trigger audit_keeps_delete is missing"),
        ("ALTER TABLE outcomes DROP COLUMN received", "tables", "column received of outcomes"),
        (
            "UPDATE experiments SET state = json_set(state, '$.enrolment.latest', 'soon')",
            "experiment",
            "latest",
        ),
        ("UPDATE experiments SET phase = 'decided'", "experiment", "without a decision"),
        (
            "UPDATE experiments SET state = json_set(state, '$.enrolment.latest', 9e9)",
            "clock",
            "button (2255-03-14 16:00 UTC)",
        ),
    ],
)
def test_what_is_wrong_is_found(path: Path, statement: str, check: str, words: str) -> None:
    run(path, statement)
    assert words in problems(path)[check]


def test_a_log_that_gives_something_else_is_found_by_the_full_check(path: Path) -> None:
    run(path, "UPDATE assignments SET arm = 1 - arm WHERE number = 7")
    assert problems(path) == {}
    assert "handed out as" in problems(path, full=True)["experiment"]


def test_a_damaged_file_is_found(path: Path) -> None:
    data = bytearray(path.read_bytes())
    with sqlite3.connect(path) as file:
        (root,) = file.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'outcomes_of_unit'"
        ).fetchone()
        (size,) = file.execute("PRAGMA page_size").fetchone()
    file.close()
    data[(root - 1) * size : root * size] = b"\1" * size
    path.write_bytes(data)
    assert problems(path)["integrity"]


def test_a_full_disk_and_a_missing_file_are_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "LEAST_FREE", 2**70)
    assert "make room" in problems(path)["disk"]
    with pytest.raises(bs.InputError, match="there is no store"):
        bs.live.doctor(str(path.parent / "none.db"))
    (path.parent / "text.db").write_text("hello")
    assert "not a store of bascule's" in problems(path.parent / "text.db")["open"]


def test_a_server_is_checked(new_database: Callable[[], str]) -> None:
    location = new_database()
    assert [check.detail for check in bs.live.doctor(location)][:1] == [
        "there are no tables: it is empty"
    ]
    with bs.open(location) as store:
        store.create("button", DESIGN).assign("u")
    assert [check.name for check in bs.live.doctor(location) if check.ok] == [
        *("version", "writing", "tables", "clock", "orphan rows", "experiments")
    ]


def test_a_store_is_not_changed_and_one_without_its_log_is_not_empty(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with bs.open(path) as store:
        store.create("button", DESIGN).assign("u")
    before = path.read_bytes()
    bs.live.doctor(str(path), full=True)
    assert path.read_bytes() == before
    lost = tmp_path / "lost.db"
    with sqlite3.connect(lost) as file:
        file.execute("PRAGMA journal_mode = WAL")
    file.close()
    assert "lost.db-wal was deleted or not copied" in problems(lost)["version"]
