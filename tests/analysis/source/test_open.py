"""The same log gives the same numbers wherever it lies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.call import call_of

ASKED: dict[str, dict[str, Any]] = {
    "as it grows": {},
    "in a window": {"window": "3d", "outcome": bs.Bounded(0, 60)},
    "again and again": {"value": "revenue", "per": "row"},
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
def expected(events: Any) -> dict[str, bs.analysis.Analysis]:
    return {name: bs.analyze(**call_of(events, **asked)) for name, asked in ASKED.items()}


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


def as_fine_times(events: Any, folder: Path) -> Any:
    """Zoned times in nanoseconds, as older versions of pandas write them."""
    zoned = events.assign(ts=events.ts.dt.tz_localize("UTC").astype("datetime64[ns, UTC]"))
    return as_parquet(zoned, folder)


def as_sqlite(events: Any, folder: Path) -> Any:
    import sqlite3

    with sqlite3.connect(folder / "log.sqlite") as connection:
        events.assign(ts=events.ts.astype(str)).to_sql("events", connection, index=False)
    connection.close()
    return bs.Log(f"sqlite://{folder}/log.sqlite", query="events")


def as_dataset(events: Any, folder: Path) -> Any:
    import pyarrow.dataset as ds

    as_parquet(events, folder)
    return ds.dataset(folder / "log.parquet")


def as_reader(events: Any, folder: Path) -> Any:
    return as_arrow(events, folder).to_reader()


def as_folder(events: Any, folder: Path) -> Any:
    for part in (0, 1):
        events[part::2].to_csv(folder / f"{part}.csv", index=False)
    return folder


FRAMES = (as_polars, as_lazy, as_arrow, as_reader, as_zoned, as_text)
FILES = (as_csv, as_folder, as_lines, as_parquet, as_fine_times, as_dataset, as_ibis, as_sqlite)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("source", FRAMES + FILES, ids=lambda source: source.__name__)
def test_a_file_or_a_frame(
    source: Callable[[Any, Path], Any],
    events: Any,
    expected: dict[str, bs.analysis.Analysis],
    tmp_path: Path,
) -> None:
    assert_same(bs.analyze(source(events, tmp_path)), expected["as it grows"])


@pytest.mark.parametrize("name", ASKED)
def test_postgresql(name: str, database: str, expected: dict[str, bs.analysis.Analysis]) -> None:
    found = bs.analyze(**call_of(database, query="SELECT * FROM events", **ASKED[name]))
    assert_same(found, expected[name])


def test_assignments_and_events_in_postgresql(database: str, events: Any) -> None:
    who = "SELECT user_id, variant, min(ts) AS ts FROM events GROUP BY 1, 2"
    found = bs.analyze(
        bs.Log(database, query="SELECT user_id, revenue, ts FROM events"),
        bs.LogMetric(window="3d"),
        assignments=bs.Log(database, query=who),
    )
    assert_same(found, bs.analyze(events, bs.LogMetric(window="3d")))


@pytest.fixture(scope="module")
def duckdb_file(events: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import duckdb

    path = tmp_path_factory.mktemp("duckdb") / "log.duckdb"
    with duckdb.connect(path) as connection:
        connection.register("frame", as_arrow(events, path))
        connection.execute("CREATE SCHEMA web; CREATE TABLE web.events AS SELECT * FROM frame")
    return path


@pytest.mark.parametrize("prefix", ["", "duckdb://"])
@pytest.mark.parametrize("query", ["web.events", "SELECT * FROM web.events;"])
def test_a_file_of_duckdb(
    duckdb_file: Path, prefix: str, query: str, expected: dict[str, bs.analysis.Analysis]
) -> None:
    found = bs.analyze(bs.Log(f"{prefix}{duckdb_file}", query=query))
    assert_same(found, expected["as it grows"])


def test_the_only_table_of_a_duckdb_file_needs_no_query(
    duckdb_file: Path, expected: dict[str, bs.analysis.Analysis], tmp_path: Path
) -> None:
    import duckdb

    assert_same(bs.analyze(duckdb_file), expected["as it grows"])
    with duckdb.connect(tmp_path / "two.duckdb") as connection:
        connection.execute("CREATE TABLE a (x int); CREATE TABLE b (x int)")
    with pytest.raises(bs.InputError, match=r"query is missing: name a table .* \(it has a, b\)"):
        bs.analyze(tmp_path / "two.duckdb")
    with pytest.raises(bs.InputError, match="query must be one statement"):
        bs.analyze(bs.Log(duckdb_file, query="SELECT 1; SELECT 2"))
    with duckdb.connect(duckdb_file) as connection:
        names = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal")
        assert names.fetchall() == []


def test_a_folder_has_files_of_one_form(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x")
    (tmp_path / "b.jsonl").write_text("{}")
    with pytest.raises(bs.InputError, match=r"of one form, .* \(it has 1 csv, 1 json\)"):
        bs.analyze(tmp_path)


def assert_same(found: bs.analysis.Analysis, wanted: bs.analysis.Analysis) -> None:
    """To nine digits, day by day; floating sums may be taken in another order."""
    assert (found.units, found.decided) == (wanted.units, wanted.decided)
    assert [day.date for day in found.days] == [day.date for day in wanted.days]
    for mine, theirs in zip(found.days, wanted.days, strict=True):
        assert mine.units == theirs.units
        for one, other in zip(mine.effects, theirs.effects, strict=True):
            for field in ("difference", "low", "high"):
                assert getattr(one, field) == pytest.approx(getattr(other, field), rel=1e-9)


@pytest.mark.parametrize("order", ["ordered", "shuffled", "as text"])
def test_a_row_a_unit_gives_the_same_in_any_order(order: str) -> None:
    import pandas as pd

    rng = np.random.default_rng(2)
    units = 600
    log = pd.DataFrame(
        {
            "user_id": np.arange(units),
            "variant": rng.choice(["control", "Control ", "green"], units),
            "ts": pd.Timestamp("2026-03-01") + pd.to_timedelta(np.arange(units) // 60, unit="D"),
            "revenue": rng.gamma(2.0, 3.0, units),
        }
    )
    wanted = log.groupby(log.variant.str.strip().str.lower()).revenue.agg(["size", "mean"])
    if order == "shuffled":
        log = log.sample(frac=1.0, random_state=1)
    if order == "as text":
        log = log.assign(user_id=log.user_id.astype(str))
    found = bs.analyze(log, looks="now")
    assert [arm.units for arm in found.arms] == list(wanted["size"])
    assert [arm.mean for arm in found.arms] == pytest.approx(list(wanted["mean"]), rel=1e-12)
    twice = pd.concat([log, log[:1].assign(revenue=1.0)])
    assert bs.analyze(twice, looks="now").units == units


def test_a_lazy_frame_is_not_collected(
    events: Any, expected: dict[str, bs.analysis.Analysis], monkeypatch: pytest.MonkeyPatch
) -> None:
    import polars

    heights: list[int] = []
    original = polars.LazyFrame.collect

    def counted(frame: Any, *arguments: Any, **options: Any) -> Any:
        answer = original(frame, *arguments, **options)
        heights.append(answer.height if isinstance(answer, polars.DataFrame) else 0)
        return answer

    monkeypatch.setattr(polars.LazyFrame, "collect", counted)
    found = bs.analyze(polars.from_pandas(events).lazy())
    assert_same(found, expected["as it grows"])
    assert sum(heights) == 0
