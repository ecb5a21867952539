"""Outcomes of a live test from a warehouse: each row counts once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import bascule as bs
from bascule.cli.main import main
from bascule.core.errors import InputError
from bascule.steering.sync import QueryColumns, sync

START = datetime(2026, 3, 2, 6, tzinfo=UTC)
DESIGN = bs.Design(
    ["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any", grace="1d")
)
COLUMNS = QueryColumns("order_id")


def warehouse(folder: Path, rows: Sequence[tuple[str, str | None, datetime]]) -> str:
    """A database with orders of everyone; its address."""
    path = folder / "warehouse.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE IF NOT EXISTS orders (order_id, user_id, ts, total)")
        database.executemany(
            "INSERT INTO orders VALUES (?, ?, ?, 9.5)",
            [(name, unit, at.replace(tzinfo=None).isoformat(" ")) for name, unit, at in rows],
        )
    database.close()
    return f"sqlite://{path}"


def test_rows_are_recorded_once_and_strangers_are_left_out(tmp_path: Path) -> None:
    clock = bs.ManualClock(START)
    soon = START + timedelta(hours=2)
    with bs.open(tmp_path / "store.db", clock=clock) as store:
        test = store.create("button", DESIGN)
        for unit in range(40):
            test.assign(f"user-{unit}")
        clock.advance("3h")
        url = warehouse(tmp_path, [(f"order-{k}", f"user-{k}", soon) for k in range(0, 50, 5)])
        first = sync(test, url, COLUMNS, query="SELECT * FROM orders")
        assert (first.rows, first.recorded, first.before, first.strangers) == (10, 8, 0, 2)
        again = sync(test, url, COLUMNS, query="orders")
        assert (again.recorded, again.before, again.strangers) == (0, 8, 2)
        assert test.excluded() == []
        clock.advance("3d")
        late = [("order-late", "user-1", soon)]
        third = sync(test, warehouse(tmp_path, late), COLUMNS, query="orders")
        assert (third.recorded, third.before, dict(third.excluded)) == (0, 8, {"late": 1})
        sync(test, url, COLUMNS, query="orders")
        assert len(test.excluded()) == 1
        status = test.status()
        assert sum((arm.mean or 0.0) * arm.matured for arm in status.arms) == 8.0
        assert test.verify().agrees


def test_values_and_metrics_come_from_their_columns(tmp_path: Path) -> None:
    revenue = bs.Metric(
        "revenue", bs.Bounded(0, 100), role="secondary", measure=bs.Measure("1d", "sum")
    )
    design = bs.Design(
        ["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"), metrics=[revenue]
    )
    clock = bs.ManualClock(START)
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("button", design)
        for unit in range(4):
            test.assign(f"user-{unit}")
        clock.advance("3h")
        url = warehouse(tmp_path, [("1", "user-1", START + timedelta(hours=1))])
        columns = QueryColumns("order_id", value="total")
        done = sync(test, url, columns, query="orders", metric="revenue")
        assert done.recorded == 1


def test_rows_that_lack_something_are_refused(tmp_path: Path) -> None:
    with bs.open(":memory:") as store:
        test = store.create("button", DESIGN)
        url = warehouse(tmp_path, [("1", None, START)])
        with pytest.raises(InputError, match="row 1 has no unit, so that nothing was recorded"):
            sync(test, url, COLUMNS, query="orders")
        with sqlite3.connect(tmp_path / "warehouse.db") as database:
            database.execute("UPDATE orders SET user_id = 'ann'")
            database.execute("INSERT INTO orders VALUES ('2', 'bob', NULL, 9.5)")
        database.close()
        with pytest.raises(InputError, match="row 2 has no time, so that nothing was recorded"):
            sync(test, url, COLUMNS, query="orders")
        with pytest.raises(InputError, match="there is no column 'order'"):
            sync(test, url, QueryColumns("order"), query="orders")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "store.db"
    with bs.open(path) as store:
        test = store.create("button", DESIGN)
        test.assign("user-1")
    url = warehouse(tmp_path, [("1", "user-1", datetime.now(UTC)), ("2", "user-2", START)])
    options = ["--source", url, "--query", "SELECT * FROM orders", "--id", "order_id"]
    for recorded in (1, 0):
        with pytest.raises(SystemExit) as left:
            main(["experiment", "sync", "button", "--store", str(path), *options, "--json"])
        assert not left.value.code
        found = json.loads(capsys.readouterr().out)
        assert (found["recorded"], found["strangers"]) == (recorded, 1)
    with pytest.raises(SystemExit):
        main(["experiment", "sync", "button", "--store", str(path), *options])
    assert "0 of 2 rows are new outcomes; 1 were recorded before" in capsys.readouterr().out
