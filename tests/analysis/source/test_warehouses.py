"""Databases of others: read-only roles, SQL in the dialects of warehouses, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bascule as bs

pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.slow
ibis = pytest.importorskip("ibis")
sqlglot = pytest.importorskip("sqlglot")

DIALECTS = ("bigquery", "snowflake", "databricks", "trino", "athena")


def recording(log: Any, seen: list[Any]) -> Any:
    """A table of a DuckDB that is taken for another database, and keeps what is computed."""
    from ibis.backends.duckdb import Backend
    from sqlglot.dialects.duckdb import DuckDB

    class Warehouse(DuckDB):
        """The dialect of that name."""

    class Recorder(Backend):  # type: ignore[misc]
        name = "warehouse"

        def to_pyarrow(self, expression: Any, /, **options: Any) -> Any:
            seen.append(expression)
            return super().to_pyarrow(expression, **options)

    connection = Recorder()
    connection.do_connect()
    connection.con.register("frame", log)
    connection.con.execute("SET TimeZone = 'UTC'; CREATE TABLE log AS SELECT * FROM frame")
    return connection.table("log")


N = 400
RNG = np.random.default_rng(2)
DAYS = RNG.integers(0, 5, N)
LOG = pd.DataFrame(
    {
        "user_id": [f"u{i:04}" for i in range(N)],
        "variant": RNG.choice(["control", "green"], N),
        "revenue": RNG.choice([0.0, 4.0, 9.5], N),
        "visits": RNG.integers(1, 5, N),
        "before": RNG.random(N),
        "ts": pd.Timestamp("2026-03-02") + pd.to_timedelta(DAYS * 86_400 + 60 * np.arange(N), "s"),
    }
)
EVENTS = pd.concat([LOG, LOG.assign(ts=LOG.ts + pd.Timedelta("30h"))])
SHAPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "a row per unit": (LOG, {"metric": "revenue"}),
    "whole numbers as units": (LOG.assign(user_id=np.arange(N)), {"metric": "revenue"}),
    "outcomes that grow": (EVENTS, {"metric": "revenue"}),
    "a window": (EVENTS, {"metric": bs.LogMetric("revenue", window="1d")}),
    "a ratio": (EVENTS, {"metric": "revenue per visits"}),
    "a covariate": (LOG, {"metric": "revenue", "covariate": "before"}),
    "today": (EVENTS, {"metric": "revenue", "looks": "now"}),
}


def numbers(found: bs.analysis.Analysis) -> tuple[float, ...]:
    """The difference and its interval."""
    return found.effects[0].interval


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_queries_are_sql_of_every_warehouse(shape: str) -> None:
    """What is computed in a warehouse is what DuckDB computes, and parses in each dialect."""
    log, options = SHAPES[shape]
    seen: list[Any] = []
    found = bs.analyze(recording(log, seen), **options)
    assert numbers(found) == pytest.approx(numbers(bs.analyze(log, **options)))
    assert len(seen) > 3
    for expression in seen:
        for dialect in DIALECTS:
            text = str(ibis.to_sql(expression, dialect=dialect))
            assert sqlglot.parse_one(text, read=dialect).find(sqlglot.exp.Select), text


@pytest.mark.parametrize("scheme", ["clickhouse", "mysql", "mssql"])
def test_databases_that_are_not_supported_are_named(scheme: str) -> None:
    with pytest.raises(bs.InputError, match="not supported: export the rows to Parquet"):
        bs.analyze(bs.Log(f"{scheme}://ann@host/db", query="SELECT * FROM log"))


def test_a_role_that_may_only_read_is_enough(new_database: Callable[[], str]) -> None:
    import psycopg

    location = new_database()
    with psycopg.connect(location, autocommit=True) as connection:
        connection.execute("CREATE TABLE log (user_id text, variant text, revenue float8, ts date)")
        with connection.cursor().copy("COPY log FROM STDIN") as copy:
            for row in LOG[["user_id", "variant", "revenue", "ts"]].itertuples(index=False):
                copy.write_row(row)
        name = connection.info.dbname
        connection.execute(f"REVOKE ALL ON DATABASE {name} FROM PUBLIC")
        connection.execute("CREATE ROLE reader")
        connection.execute("ALTER ROLE reader SET default_transaction_read_only = on")
        connection.execute("GRANT SELECT ON log TO reader")
        connection.execute(f"ALTER DATABASE {name} SET role = reader")
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with psycopg.connect(location) as connection, pytest.raises(psycopg.Error):
        connection.execute("CREATE TEMPORARY VIEW mine AS SELECT * FROM log")
    query = "SELECT user_id, variant, revenue, ts FROM log -- all of it"
    found = bs.analyze(bs.Log(location, query=query), "revenue")
    wanted = bs.analyze(LOG.assign(ts=LOG.ts.dt.date), "revenue")
    assert numbers(found) == pytest.approx(numbers(wanted))
    with pytest.raises(bs.InputError, match="two columns are called user_id"):
        bs.analyze(bs.Log(location, query="SELECT user_id, user_id FROM log"))
    with pytest.raises(bs.InputError, match='query: column "nothing" does not exist'):
        bs.analyze(bs.Log(location, query="SELECT nothing FROM log"))
