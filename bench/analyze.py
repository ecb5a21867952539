"""Twenty million rows in Parquet: today's answer and the days, against tea-tasting and plain SQL.

A row per unit with outcomes of 0 and 1 or with revenue, ten events a unit, and a CSV file in which
one value is no number. Each answer is taken in a process of its own, imports included, which also
tells its peak memory. What is compared is how long a core is busy. Both packages have been compiled
to bytecode before, as packages are that were installed.
"""

from __future__ import annotations

import compileall
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import bascule
from bench.measure import Figure

ROWS, DAYS = 20_000_000, 28
SHAPES = {
    "a row per unit, 0 or 1": (ROWS, "converted"),
    "a row per unit, revenue": (ROWS, "revenue"),
    "ten events a unit": (ROWS // 10, "revenue"),
}
"""Units of a log, and the column that is compared."""
ROUNDS = 3
BAD_ROWS = ROWS * 3 // 20

MAKE = """
COPY (
    SELECT user_id,
        CASE WHEN hash(user_id) % 2 = 0 THEN 'control' ELSE 'green' END AS variant,
        TIMESTAMP '2026-01-01' + to_microseconds(CAST(
            (came + ({days} * 86400 - came) * later * later) * 1000000 AS BIGINT)) AS ts,
        CASE WHEN buys < 0.2 THEN round(-20 * ln(spent + 1e-9), 2) ELSE 0.0 END AS revenue,
        CAST(buys < 0.2 AS INTEGER) AS converted
    FROM (
        SELECT CAST(hash(i * 7 + 1) % {users} AS BIGINT) AS user_id,
            (hash(hash(i * 7 + 1) % {users} + 11) % ({days} * 86400)) * 1.0 AS came,
            (hash(i * 3 + 2) % 1000003) / 1000003.0 AS later,
            (hash(i * 5 + 3) % 1000033) / 1000033.0 AS buys,
            (hash(i * 11 + 5) % 1000037) / 1000037.0 AS spent
        FROM range({events}) AS numbers(i)
    )
) TO '{path}' (FORMAT parquet)
"""

HEAD = """
import json, resource, time, warnings
warnings.simplefilter("ignore")
"""

TEA = """
import ibis, tea_tasting as tt
rows = ibis.duckdb.connect().read_parquet({path!r})
asked = {{"a": tt.Mean({column!r}), "c": tt.SampleRatio()}}
if {grouped}:
    rows = rows.group_by("user_id", "variant").agg(visits=rows.count(), revenue=rows.revenue.sum())
    asked["b"] = tt.RatioOfMeans("revenue", "visits")
str(tt.Experiment(asked).analyze(rows))
"""

SQL = """
import duckdb
rows = {path!r}
source = f"(SELECT user_id, variant, sum(revenue) AS revenue FROM '{{rows}}' GROUP BY ALL)"
duckdb.execute(f"SELECT variant, count(*), sum({column}), sum({column} * {column}) "
               f"FROM {{source if {grouped} else repr(rows)}} GROUP BY ALL").fetchall()
"""

OURS = """
import bascule as bs
str(bs.analyze({path!r}, {column!r}, {options}))
"""

FOOT = """
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(json.dumps([time.process_time(), peak]))
"""

ASKED = {
    "today's answer": ('looks="now"', "<= 1"),
    "one look": ("looks=1", "<= 1"),
    "day by day": ("", "<= 2"),
}


def make(path: Path, rows: int, users: int) -> None:
    """Write a log of events; as many users as rows have one each."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false; SET memory_limit = '1GB'")
        where = {"path": path, "events": rows, "users": users, "days": DAYS}
        text = MAKE.format(**where)
        if users == rows:
            text = text.replace(f"CAST(hash(i * 7 + 1) % {users} AS BIGINT)", "i")
        connection.execute(text)


def taken(script: str) -> tuple[float, float]:
    """Seconds of a core and gigabytes of one answer, in a process of its own."""
    command = [sys.executable, "-c", HEAD + script + FOOT]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # DuckDB may have drawn its progress before.
    seconds, peak = json.loads(answer[answer.rindex("[") :])
    return seconds, peak


def figures(rows: int = ROWS, rounds: int = ROUNDS) -> list[Figure]:
    """Time as a ratio to tea-tasting's, in turns; memory as a part of half a gigabyte."""
    compileall.compile_dir(next(iter(bascule.__path__)), quiet=1)
    found, peaks = [], []
    for shape, (users, column) in SHAPES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            make(path, rows, users * rows // ROWS)
            times: dict[str, list[tuple[float, float]]] = {name: [] for name in ("SQL", *ASKED)}
            where = {"path": str(path), "grouped": users < ROWS, "column": column}
            for _ in range(rounds):
                reference, _ = taken(TEA.format(**where))
                times["SQL"].append((taken(SQL.format(**where))[0], reference))
                for name, (options, _) in ASKED.items():
                    seconds, peak = taken(OURS.format(**where, options=options))
                    times[name].append((seconds, reference))
                    peaks.append(peak)
        for name, pairs in times.items():
            found.append(
                Figure(
                    name=f"{rows:,} rows, {shape}, {name}",
                    value=statistics.median(seconds for seconds, _ in pairs),
                    reference=statistics.median(reference for _, reference in pairs),
                    ratio=statistics.median(seconds / reference for seconds, reference in pairs),
                    target=ASKED[name][1] if name in ASKED else "",
                    unit="s of a core",
                    against="tea-tasting on Ibis and DuckDB: Mean, SampleRatio, RatioOfMeans",
                )
            )
    found.append(_with_a_bad_value(rows * BAD_ROWS // ROWS))
    found.append(
        Figure(
            name=f"{rows:,} rows, peak memory",
            value=max(peaks),
            reference=0.5,
            ratio=max(peaks) / 0.5,
            target="<= 1",
            unit="GB",
            against="half a gigabyte",
        )
    )
    return found


BAD = """
COPY (
    SELECT user_id, variant, ts,
        CASE WHEN user_id = {rows} - 5 THEN 'n. d.' ELSE CAST(revenue AS VARCHAR) END AS revenue
    FROM '{source}'
) TO '{path}' (HEADER)
"""

PLAIN = """
import duckdb
duckdb.execute("SELECT variant, count(*), sum(revenue), sum(revenue * revenue) FROM "
               "read_csv({path!r}, types = {{'revenue': 'DOUBLE'}}, ignore_errors = true) "
               "GROUP BY ALL").fetchall()
"""


def _with_a_bad_value(rows: int) -> Figure:
    """A CSV file in which one value is no number, against DuckDB that leaves such lines out."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        source, path = (str(Path(folder) / name) for name in ("rows.parquet", "rows.csv"))
        make(Path(source), rows, rows)
        duckdb.execute(BAD.format(rows=rows, source=source, path=path))
        reference, _ = taken(PLAIN.format(path=path))
        seconds, _ = taken(OURS.format(path=path, column="revenue", options=""))
    return Figure(
        name=f"{rows:,} rows of CSV, one bad value",
        value=seconds,
        reference=reference,
        ratio=seconds / reference,
        target="",
        unit="s of a core",
        against="DuckDB that leaves out the line",
    )
