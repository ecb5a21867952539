"""The same log gives the same numbers wherever it lies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bascule as bs

ASKED: dict[str, dict[str, Any]] = {
    "as it grows": {},
    "in a window": {"window": "3d", "outcome": bs.Bounded(0, 60)},
    "again and again": {"outcome": "recurrent"},
}


@pytest.fixture(scope="module")
def database(events: Any, new_database: Callable[[], str]) -> str:
    import psycopg

    location = new_database()
    with psycopg.connect(location) as connection:
        connection.execute(
            "CREATE TABLE events (user_id bigint, variant text, revenue float8, ts timestamptz)"
        )
        connection.execute("SET TIME ZONE 'UTC'")
        with connection.cursor().copy("COPY events FROM STDIN") as copy:
            for row in events.itertuples(index=False):
                copy.write_row(row)
    return location


@pytest.fixture(scope="module")
def expected(events: Any) -> dict[str, bs.Analysis]:
    return {name: bs.analyze(events, **asked) for name, asked in ASKED.items()}


def as_polars(events: Any, _: Path) -> Any:
    import polars

    return polars.from_pandas(events)


def as_lazy(events: Any, folder: Path) -> Any:
    return as_polars(events, folder).lazy()


def as_arrow(events: Any, _: Path) -> Any:
    import pyarrow

    return pyarrow.Table.from_pandas(events, preserve_index=False)


def as_zoned(events: Any, _: Path) -> Any:
    return events.assign(ts=events.ts.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))


def as_text(events: Any, _: Path) -> Any:
    return events.assign(
        ts=events.ts.dt.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), revenue=events.revenue.astype(str)
    )


def as_csv(events: Any, folder: Path) -> Any:
    events.to_csv(folder / "log.csv", index=False)
    return folder / "log.csv"


def as_lines(events: Any, folder: Path) -> Any:
    events.to_json(folder / "log.jsonl", orient="records", lines=True, date_format="iso")
    return folder / "log.jsonl"


def as_parquet(events: Any, folder: Path) -> Any:
    events.to_parquet(folder / "log.parquet")
    return str(folder / "*.parquet")


def as_ibis(events: Any, folder: Path) -> Any:
    import ibis

    return ibis.duckdb.connect().read_parquet(as_parquet(events, folder))


SOURCES = (as_polars, as_lazy, as_arrow, as_zoned, as_text, as_csv, as_lines, as_parquet, as_ibis)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_a_file_or_a_frame(
    source: Callable[[Any, Path], Any],
    events: Any,
    expected: dict[str, bs.Analysis],
    tmp_path: Path,
) -> None:
    assert_same(bs.analyze(source(events, tmp_path)), expected["as it grows"])


@pytest.mark.parametrize("name", ASKED)
def test_postgresql(name: str, database: str, expected: dict[str, bs.Analysis]) -> None:
    found = bs.analyze(database, query="SELECT * FROM events", **ASKED[name])
    assert_same(found, expected[name])


def test_assignments_and_events_in_postgresql(database: str, events: Any) -> None:
    who = "SELECT user_id, variant, min(ts) AS ts FROM events GROUP BY 1, 2"
    found = bs.analyze(
        database,
        query="SELECT user_id, revenue, ts FROM events",
        assignments=database,
        assignments_query=who,
        window="3d",
    )
    assert_same(found, bs.analyze(events, window="3d"))


def test_a_file_of_duckdb(events: Any, expected: dict[str, bs.Analysis], tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(tmp_path / "log.duckdb") as connection:
        connection.register("frame", as_arrow(events, tmp_path))
        connection.execute("CREATE TABLE events AS SELECT * FROM frame")
    found = bs.analyze(f"duckdb://{tmp_path / 'log.duckdb'}", query="events")
    assert_same(found, expected["as it grows"])


def assert_same(found: bs.Analysis, wanted: bs.Analysis) -> None:
    """To nine digits, day by day; floating sums may be taken in another order."""
    assert (found.units, found.decided) == (wanted.units, wanted.decided)
    assert [day.date for day in found.days] == [day.date for day in wanted.days]
    for mine, theirs in zip(found.days, wanted.days, strict=True):
        assert mine.units == theirs.units
        for one, other in zip(mine.effects, theirs.effects, strict=True):
            for field in ("difference", "low", "high"):
                assert getattr(one, field) == pytest.approx(getattr(other, field), rel=1e-9)
