"""What a log holds is data: names of columns, arms and files are never executed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bascule as bs
from bascule.analysis.call import call_of
from bascule.analysis.source.open import connections, open_tables
from bascule.analysis.source.places import Source
from bascule.cli.main import main

ROWS = [(i, "ab"[i % 2], float(i % 3), f"2026-01-0{1 + i // 10}") for i in range(40)]
NAMES = ("unit", "arm", "value", "time")


def write_csv(path: Path, extra: str = "note") -> Path:
    """A log of forty units whose last column, which nobody asks for, has the name `extra`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    quoted = extra.replace('"', '""')
    lines = [",".join(NAMES) + f',"{quoted}"']
    lines += [f"{unit},{arm},{value},{time},x" for unit, arm, value, time in ROWS]
    path.write_text("\n".join(lines) + "\n")
    return path


def columns(**other: Any) -> dict[str, list[Any]]:
    return dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True)) | other


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one, with a file that nobody may read beside it."""
    (tmp_path / "secret.txt").write_text("the key")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def statement(here: Path) -> list[str]:
    """Statements that would write a file, and copy one."""
    target, secret = here / "written.csv", here.parent / "secret.txt"
    return [
        f"COPY (SELECT 42 AS x) TO '{target}'",
        f"COPY (SELECT content FROM read_text('{secret}')) TO '{target}'",
    ]


@pytest.mark.parametrize(
    "wrapped",
    [
        "a': 'VARCHAR'}}); {0}; --",
        "a'': ''VARCHAR''}}); {0}; --",
        'a"}}); {0}; --',
        "a'); {0}; --",
        '"; {0}; --',
    ],
)
def test_a_header_is_not_executed(here: Path, wrapped: str) -> None:
    extra = wrapped.format("; ".join(statement(here)))
    log = write_csv(here / "log.csv", extra)
    found = bs.analyze(log)
    assert found.units == 40
    assert bs.analyze(log, segment=extra).units == 40
    assert not (here / "written.csv").exists()


def test_a_header_is_not_executed_by_the_command(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_csv(here / "log.csv", f"a': 'VARCHAR'}}); {statement(here)[0]}; --")
    with pytest.raises(SystemExit) as caught:
        main(["analyze", str(log), "--json"])
    assert caught.value.code == 0
    assert json.loads(capsys.readouterr().out)["units"] == 40
    assert not (here / "written.csv").exists()


def test_a_file_name_is_not_executed(here: Path) -> None:
    write_csv(here / "log.csv")
    name = f"log.csv', auto_detect=true); {statement(here)[0]}; --.csv"
    assert bs.analyze(str(write_csv(Path(name)))).units == 40
    assert not (here / "written.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", ["it's", 'a "log"', "log[1]", "a*", "a?b", "{x,y}", "50 %", "a;b"])
def test_signs_in_a_file_name_mean_that_file(here: Path, name: str, ending: str) -> None:
    import pandas as pd

    wanted, other = pd.DataFrame(columns()), pd.DataFrame(columns(arm=["c", "d"] * 20))
    for frame, path in ((wanted, f"{name}.{ending}"), (other, f"log1.{ending}")):
        if ending == "csv":
            frame.to_csv(path, index=False)
        elif ending == "jsonl":
            frame.to_json(path, orient="records", lines=True)
        else:
            frame.to_parquet(path)
    assert bs.analyze(f"{name}.{ending}").design.arms == ("a", "b")


def test_a_pattern_means_every_file_that_fits(here: Path) -> None:
    write_csv(here / "part" / "1.csv")
    write_csv(here / "part" / "[2].csv")
    assert bs.analyze("part/*.csv").rows == 80
    with pytest.raises(bs.InputError, match="no file matches"):
        bs.analyze("other/*.csv")


ODD = ["a'b", 'a"b', "a\\", "'; DROP TABLE bascule_events; --", "${x}", "%s", "{0}", "a\nb"]


@pytest.mark.parametrize("name", ODD)
def test_names_of_columns_and_arms_may_have_any_signs(here: Path, name: str) -> None:
    data = columns()
    odd = {f"{name}{field}": column for field, column in data.items()}
    odd[f"{name}arm"] = [f"{name}{arm}" for arm in data["arm"]]
    named: dict[str, Any] = {field: f"{name}{field}" for field in NAMES}
    found = bs.analyze(**call_of(odd, **named))
    assert found.design.arms == (f"{name}a", f"{name}b")
    assert found.units == 40
    (here / "log.json").write_text(
        json.dumps([dict(zip(odd, row, strict=True)) for row in zip(*odd.values(), strict=True)])
    )
    assert bs.analyze(**call_of("log.json", **named)).arms == found.arms


@pytest.mark.parametrize("name", ODD)
def test_the_same_in_postgresql(name: str, new_database: Callable[[], str]) -> None:
    import psycopg
    from psycopg import sql

    location = new_database()
    with psycopg.connect(location) as connection:
        made = sql.SQL("CREATE TABLE events ({} bigint, {} text, {} float8, ts timestamp)")
        connection.execute(made.format(*(sql.Identifier(f"{name}{x}") for x in NAMES[:3])))
        connection.cursor().executemany(
            "INSERT INTO events VALUES (%s, %s, %s, %s)",
            [(unit, f"{name}{arm}", value, time) for unit, arm, value, time in ROWS],
        )
    named: dict[str, Any] = {field: f"{name}{field}" for field in NAMES[:3]}
    found = bs.analyze(**call_of(location, query="events", **named))
    assert found.design.arms == (f"{name}a", f"{name}b")
    assert found.units == 40


def test_once_the_source_is_open_nothing_else_can_be_reached(here: Path) -> None:
    import duckdb

    log = write_csv(here / "log.csv")
    secret = here.parent / "secret.txt"
    with connections("100MB") as opened:
        (table,) = open_tables(opened, [Source(log, None, "events")])
        for attack in (
            *statement(here),
            f"FROM read_text('{secret}')",
            f"ATTACH '{here / 'other.db'}'",
            "FROM read_csv('http://127.0.0.1:9/x.csv')",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            "SET autoinstall_known_extensions = true",
        ):
            with pytest.raises(duckdb.Error):
                opened.local.con.execute(attack).fetchall()
        assert table.count().to_pyarrow().as_py() == 40
    assert sorted(path.name for path in here.iterdir()) == ["log.csv"]


def test_views_of_a_database_file_reach_no_other_file(here: Path) -> None:
    import duckdb

    with duckdb.connect("log.duckdb") as connection:
        connection.register("frame", __import__("pyarrow").table(columns()))
        connection.execute("CREATE TABLE events AS FROM frame")
        secret = here.parent / "secret.txt"
        connection.execute(
            f"CREATE VIEW trap AS SELECT *, (SELECT content FROM read_text('{secret}')) AS x "
            "FROM events"
        )
    assert bs.analyze(bs.Log("log.duckdb", query="events")).units == 40
    with pytest.raises(bs.InputError) as caught:
        bs.analyze(bs.Log("log.duckdb", query="trap"), segment="x")
    assert "the key" not in str(caught.value)


def test_frames_and_files_are_read_together(here: Path) -> None:
    log = write_csv(here / "log.csv")
    who = {name: column for name, column in columns().items() if name != "value"}
    found = bs.analyze(log, bs.LogMetric(window="1d"), until="2026-01-09", assignments=who)
    assert found.units == 40
