"""What is looked up by a list takes an index for every value of it, however large a test is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

import bascule as bs
from bascule.live.storage import queries, statements

DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("7d", "any"))
LISTS = [one for one in vars(queries).values() if re.match("SELECT .* IS_LISTED", str(one))]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[bs.Store]:
    with bs.open(tmp_path / "shop.db") as opened:
        yield opened


@pytest.mark.parametrize("statement", LISTS)
def test_sqlite_searches_for_each_value(store: bs.Store, statement: str) -> None:
    (looked_for,) = re.findall(r"(\w+) IS_LISTED", statement)
    asked = statements.in_sqlite(statement).replace("?", ":list", 1).replace("?", ":experiment")
    with store.reading() as connection:
        given = {"list": "[]", "experiment": 1}
        rows = connection.execute(text(f"EXPLAIN QUERY PLAN {asked}"), given)
        steps = [row.detail for row in rows]
    first, *rest = (step for step in steps if step.startswith(("SCAN", "SEARCH")))
    assert first.startswith("SCAN listed")
    # The numbers of experiments are their primary key.
    key = "(rowid=?)" if looked_for == "id" else f"(experiment=? AND {looked_for}=?)"
    assert rest.pop().endswith(key)
    # Only experiments, which are few, may be gone through.
    assert all(step.startswith("SCAN experiments") for step in rest)


def test_closing_a_stage_reads_the_events_of_that_stage_alone(store: bs.Store) -> None:
    with store.reading() as connection:
        asked = queries._EVENTS_OF_STAGE.replace("?", "1")
        steps = [row.detail for row in connection.execute(text(f"EXPLAIN QUERY PLAN {asked}"))]
    assert any("outcomes_of_stage (experiment=? AND stage=?)" in step for step in steps)
    assert not any(step.startswith("SCAN") for step in steps)


def test_there_are_such_statements() -> None:
    assert len(LISTS) >= 5


def test_an_empty_list_finds_nothing(store: bs.Store) -> None:
    store.create("test", DESIGN)
    with store.reading() as connection:
        assert queries.Rows(connection, 1).find_units([]) == {}
        assert queries.Rows(connection, 1).taken_ids([]) == {}


def test_what_is_found_belongs_to_the_experiment(store: bs.Store) -> None:
    first, second = store.create("first", DESIGN), store.create("second", DESIGN)
    first.assign_many(["ann", "bob"])
    second.assign_many(["bob", "cleo"])
    first.record_many([("ann", 1.0, None, "sale 1"), ("bob", 1.0, None, "sale 2")])
    with store.reading() as connection:
        assert set(queries.Rows(connection, first.id).find_units(["ann", "cleo", "'); --"])) == {
            "ann"
        }
        assert queries.Rows(connection, first.id).taken_ids(["sale 2", "sale 3"]) == {
            ("sale 2", None): (1, 1.0)
        }
        assert queries.Rows(connection, second.id).taken_ids(["sale 2"]) == {}
        assert queries.Rows(connection, first.id).answered([1, 7]) == {(1, None)}


@pytest.mark.parametrize("rows", [1, 31, 32, 33, 70])
def test_rows_of_any_number_are_inserted_or_none_of_them(store: bs.Store, rows: int) -> None:
    test = store.create("test", DESIGN)
    columns, counted = ("experiment", "unit", "identity"), text("SELECT count(*) FROM links")
    given = [(test.id, f"name {i}", "ann") for i in range(rows)]
    with (
        pytest.raises(bs.StoreError, match="UNIQUE"),
        test.store.writing() as connection,
    ):
        statements.insert(connection, "links", columns, [*given, given[rows // 2]])
    with test.store.writing() as connection:
        assert connection.execute(counted).scalar() == 0
        statements.insert(connection, "links", columns, given)
    with store.reading() as connection:
        assert connection.execute(counted).scalar() == rows
        names = [unit for _, unit, _ in given]
        assert queries.Rows(connection, test.id).identities(names) == dict.fromkeys(names, "ann")
