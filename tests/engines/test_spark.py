"""Logs in Spark: the numbers of DuckDB to nine digits, and nothing but sums leaves the cluster."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.call import call_of

pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs a Java runtime"),
    pytest.mark.filterwarnings("ignore"),
]

Table = Callable[[Any], Any]


@pytest.fixture(scope="module")
def in_spark() -> Iterator[Table]:
    """A function that makes a data frame a table of Ibis in a local Spark."""
    import ibis
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    backend = ibis.pyspark.connect(session)
    count = iter(range(1000))

    def made(frame: Any) -> Any:
        name = f"log_{next(count)}"
        session.createDataFrame(frame).createOrReplaceTempView(name)
        return backend.table(name)

    yield made
    session.stop()


def log_of(users: int) -> Any:
    """Four visits of each user over about two weeks, some with revenue."""
    import pandas as pd

    rng, visits = np.random.default_rng(4), 4
    user = np.repeat(np.arange(users), visits)
    rows = len(user)
    days = np.repeat(10 * rng.random(users), visits) + rng.exponential(2.0, rows) % 4.0
    arm = np.repeat(rng.choice(["control", "green"], users), visits)
    revenue = np.where(rng.random(rows) < 0.3, rng.gamma(2.0, 5.0, rows), 0.0)
    return pd.DataFrame(
        {
            "user_id": user,
            "variant": arm,
            "ts": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.round(days * 86400), unit="s"),
            "revenue": np.round(revenue, 2),
            "country": np.where(user % 3 == 0, "fr", "de"),
            "before": np.repeat(np.round(rng.gamma(2.0, 2.0, users), 2), visits),
            "sessions": 1 + user % 3,
        }
    )


@pytest.fixture(scope="module")
def log() -> Any:
    return log_of(300)


def one_row_each(log: Any) -> Any:
    first = log.drop_duplicates("user_id").reset_index(drop=True)
    return first.assign(bought=(first.revenue > 0).astype(int), p=0.5)


def assigned_by_shop(log: Any) -> Any:
    shop = log.user_id % 40
    return log.assign(shop=shop, variant=np.where(shop % 2, "green", "control"))


def messy(log: Any) -> Any:
    text = log.revenue.astype(str)
    text = text.where(log.user_id % 50 > 0, "yes").where(log.user_id % 70 > 0, "abc")
    arm = log.variant.where(log.user_id % 9 > 0, log.variant.str.upper() + " ")
    return log.assign(revenue=text, variant=arm)


def counts(log: Any) -> Any:
    rows = one_row_each(log).assign(day=lambda rows: rows.ts.dt.floor("D"))
    return rows.groupby(["variant", "day"], as_index=False).agg(
        units=("bought", "size"), sales=("bought", "sum")
    )


def snapshots(log: Any) -> Any:
    rows = counts(log).sort_values("day", ignore_index=True)
    sums = rows.groupby("variant")[["units", "sales"]].cumsum()
    return rows.assign(units=sums.units, sales=sums.sales)


def as_it_is(log: Any) -> Any:
    return log


def numbered_days(log: Any) -> Any:
    return log.assign(ts=log.ts.dt.day)


def with_copies(log: Any) -> Any:
    import pandas as pd

    return pd.concat([log, log[:50]], ignore_index=True)


SHARES: dict[str, Any] = {"value": "sales", "count": "units", "outcome": bs.Bernoulli()}

MODES: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "as it grows": (as_it_is, {}),
    "today": (as_it_is, {"looks": "now", "aggregate": "mean"}),
    "one look": (as_it_is, {"looks": 1}),
    "window": (as_it_is, {"window": "3d", "outcome": bs.Bounded(0, 60)}),
    "last": (as_it_is, {"aggregate": "last", "block": "week", "until": "2026-01-09"}),
    "missing": (as_it_is, {"missing": 2.0, "aggregate": "mean"}),
    "segments": (as_it_is, {"segment": "country", "aggregate": "any"}),
    "probability": (one_row_each, {"value": "bought", "probability": "p"}),
    "row is unit": (one_row_each, {"value": "bought", "unit": "user_id"}),
    "ratio": (as_it_is, {"per": "sessions", "covariate": "before"}),
    "cluster": (assigned_by_shop, {"cluster": "shop"}),
    "messy": (messy, {}),
    "counts": (counts, SHARES),
    "snapshots": (snapshots, SHARES | {"cumulative": True}),
    "numbered days": (numbered_days, {"looks": "now"}),
    "copies": (with_copies, {"looks": "now"}),
}


@pytest.mark.parametrize("name", MODES)
def test_spark_and_duckdb_agree(name: str, log: Any, in_spark: Table) -> None:
    make, options = MODES[name]
    frame, options = make(log), {"value": "revenue"} | options
    assert_same(
        bs.analyze(**call_of(in_spark(frame), **options)), bs.analyze(**call_of(frame, **options))
    )


@pytest.mark.parametrize("there", ["both in Spark", "assignments in memory"])
def test_assignments_and_events(there: str, log: Any, in_spark: Table) -> None:
    who = one_row_each(log)[["user_id", "variant", "ts"]].assign(ts=log.ts.min())
    events = log[log.revenue > 0][["user_id", "revenue", "ts"]]
    options: dict[str, Any] = {"value": "revenue", "window": "7d", "missing": "exclude"}
    assignments = in_spark(who) if there == "both in Spark" else who
    found = bs.analyze(**call_of(in_spark(events), assignments=assignments, **options))
    assert_same(found, bs.analyze(**call_of(events, assignments=who, **options)))


def test_many_tests_in_one_table(log: Any, in_spark: Table) -> None:
    frame = log.assign(test=np.where(log.country == "fr", "one", "two")).drop(columns="country")
    options: dict[str, Any] = {"test": "test", "value": "revenue", "looks": "now"}
    found, wanted = (
        bs.analyze_each(**call_of(table, **options)) for table in (in_spark(frame), frame)
    )
    for mine, theirs in zip(found.to_rows(), wanted.to_rows(), strict=True):
        assert_close(mine, theirs)


@pytest.mark.parametrize("options", [{}, {"window": "3d"}])
def test_only_sums_come_to_the_driver(
    options: dict[str, Any], in_spark: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import classic

    fetched: list[int] = []
    original = classic.dataframe.DataFrame.toPandas

    def counted(frame: Any) -> Any:
        answer = original(frame)
        fetched.append(len(answer))
        return answer

    monkeypatch.setattr(classic.dataframe.DataFrame, "toPandas", counted)
    most = {}
    for users in (100, 3000):
        fetched.clear()
        found = bs.analyze(**call_of(in_spark(log_of(users)), value="revenue", **options))
        assert found.units == users
        most[users] = max(fetched)
    # Units are counted by the hour of their arrival, which the check of shares within a day needs;
    # the sums of outcomes that grow, by day of arrival and day, are fewer in a test of two weeks.
    hours = 14 * 24
    assert most[3000] <= 2 * hours < 1000


def assert_same(found: bs.analysis.Analysis, wanted: bs.analysis.Analysis) -> None:
    """Every number to nine digits, every word alike but for where the log is."""
    assert_close(plain(found.to_dict()), plain(wanted.to_dict()))


def assert_close(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert mine.keys() == theirs.keys()
    for key, value in theirs.items():
        if isinstance(value, float):
            assert mine[key] == pytest.approx(value, rel=1e-9, abs=1e-12), key
        elif not key.endswith(("/reading/log", "/reading/assignments")):
            assert mine[key] == value, key


def plain(data: Any, at: str = "") -> dict[str, Any]:
    """Nested data as a flat dictionary."""
    if not isinstance(data, (dict, list, tuple)):
        return {at: data}
    parts = data.items() if isinstance(data, dict) else enumerate(data)
    return {key: one for name, part in parts for key, one in plain(part, f"{at}/{name}").items()}
