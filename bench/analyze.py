"""Logs in Parquet, up to twenty million rows: one look and the days, against tea-tasting and SQL.

Units are integers in order, integers shuffled, or UUIDs as text, with and without times; a unit has
a row of 0 or 1 or of revenue, or ten events; and a CSV file has one value that is no number. Each
answer is taken in a process of its own, imports included, which also tells its peak memory. What is
compared is how long a core is busy. Both packages have been compiled to bytecode before, as
packages are that were installed.

`python -m bench.analyze ROWS [ROUNDS]` takes the figures of logs of one size.
"""

from __future__ import annotations

import compileall
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import bascule
from bench.measure import Figure, show

SIZES, DAYS = (1_000_000, 5_000_000, 20_000_000), 28
ROUNDS = 3


@dataclass(frozen=True)
class Shape:
    """A log: what its units are called, what is measured, and how many rows a unit has."""

    unit: str
    value: str = "revenue"
    times: bool = True
    rows_each: int = 1

    @property
    def name(self) -> str:
        """The shape in words."""
        rows = "ten events a unit" if self.rows_each > 1 else f"a row per unit, {self.value}"
        return f"{rows}, {self.unit}, {'with' if self.times else 'without'} times"


UNITS = {
    "integers in order": "who",
    "integers shuffled": "CAST(hash(who) % 9000000000000 AS BIGINT) * 1000 + who % 1000",
    "UUID text": "CAST(md5(CAST(who AS VARCHAR)) AS UUID)::VARCHAR",
}
"""What units are called, by the number of a unit."""

SHAPES = (
    *(Shape(unit, times=times) for unit in UNITS for times in (True, False)),
    Shape("integers in order", "converted", times=False),
    Shape("integers shuffled", rows_each=10),
    Shape("UUID text", rows_each=10),
)

MAKE = """
COPY (
    SELECT {unit} AS user_id,
        CASE WHEN hash(who) % 2 = 0 THEN 'control' ELSE 'green' END AS variant,
        {time}
        CASE WHEN buys < 0.2 THEN round(-20 * ln(spent + 1e-9), 2) ELSE 0.0 END AS revenue,
        CAST(buys < 0.2 AS INTEGER) AS converted
    FROM (
        SELECT {who} AS who,
            (hash({who} + 11) % ({days} * 86400)) * 1.0 AS came,
            (hash(i * 3 + 2) % 1000003) / 1000003.0 AS later,
            (hash(i * 5 + 3) % 1000033) / 1000033.0 AS buys,
            (hash(i * 11 + 5) % 1000037) / 1000037.0 AS spent
        FROM range({rows}) AS numbers(i)
    )
) TO '{path}' (FORMAT parquet)
"""

TIME = """
        TIMESTAMP '2026-01-01' + to_microseconds(CAST(
            (came + ({days} * 86400 - came) * later * later) * 1000000 AS BIGINT)) AS ts,
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
source = f"(SELECT user_id, variant, sum({column}) AS {column} FROM '{{rows}}' GROUP BY ALL)"
duckdb.execute("SET memory_limit = '1GB'")
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

ASKED = {"one look": ("looks=1", "<= 1.5"), "day by day": ("", "<= 2")}
MOST_BY_UNIT, MOST_MEMORY = "<= 3", 0.6


def make(path: Path, rows: int, shape: Shape) -> None:
    """Write a log of a shape."""
    import duckdb

    who = (
        "i"
        if shape.rows_each == 1
        else f"CAST(hash(i * 7 + 1) % {rows // shape.rows_each} AS BIGINT)"
    )
    time = TIME.format(days=DAYS) if shape.times else ""
    parts = {"path": path, "rows": rows, "days": DAYS, "who": who, "time": time}
    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false; SET memory_limit = '1GB'")
        connection.execute(MAKE.format(unit=UNITS[shape.unit], **parts))


def taken(script: str) -> tuple[float, float]:
    """Seconds of a core and gigabytes of one answer, in a process of its own."""
    command = [sys.executable, "-c", HEAD + script + FOOT]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # DuckDB may have drawn its progress before.
    seconds, peak = json.loads(answer[answer.rindex("[") :])
    return seconds, peak


def figures(sizes: tuple[int, ...] = SIZES, rounds: int = ROUNDS) -> list[Figure]:
    """Return the time of each log as ratios, and the largest peak of memory."""
    compileall.compile_dir(next(iter(bascule.__path__)), quiet=1)
    found: list[Figure] = []
    peaks: list[float] = []
    for rows in sizes:
        for shape in SHAPES:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "rows.parquet"
                make(path, rows, shape)
                found += _of_log(path, rows, shape, rounds, peaks)
    found.append(_with_a_bad_value(max(sizes) * 3 // 20))
    found.append(
        Figure(
            name=f"{max(sizes):,} rows, peak memory",
            value=max(peaks),
            reference=MOST_MEMORY,
            ratio=max(peaks) / MOST_MEMORY,
            target="<= 1",
            unit="GB",
            against="600 MB",
        )
    )
    return found


def _of_log(
    path: Path, rows: int, shape: Shape, rounds: int, peaks: list[float]
) -> Iterator[Figure]:
    """Return each answer against tea-tasting, and for text against SQL that groups by unit."""
    where = {"path": str(path), "grouped": shape.rows_each > 1, "column": shape.value}
    by_unit = where | {"grouped": True}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ASKED}
    grouped: list[tuple[float, float]] = []
    for _ in range(rounds):
        reference, _ = taken(TEA.format(**where))
        for name, (options, _) in ASKED.items():
            seconds, peak = taken(OURS.format(**where, options=options))
            times[name].append((seconds, reference))
            peaks.append(peak)
        if shape.unit == "UUID text":
            grouped.append((times["one look"][-1][0], taken(SQL.format(**by_unit))[0]))
    against = "tea-tasting on Ibis and DuckDB: Mean, SampleRatio, RatioOfMeans"
    for name, pairs in times.items():
        yield _figure(f"{rows:,} rows, {shape.name}, {name}", pairs, ASKED[name][1], against)
    if grouped:
        name = f"{rows:,} rows, {shape.name}, one look, by SQL"
        yield _figure(name, grouped, MOST_BY_UNIT, "DuckDB that groups by unit")


def _figure(name: str, pairs: list[tuple[float, float]], target: str, against: str) -> Figure:
    return Figure(
        name=name,
        value=statistics.median(seconds for seconds, _ in pairs),
        reference=statistics.median(reference for _, reference in pairs),
        ratio=statistics.median(seconds / reference for seconds, reference in pairs),
        target=target,
        unit="s of a core",
        against=against,
    )


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
        make(Path(source), rows, Shape("integers in order"))
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


if __name__ == "__main__":
    show(figures((int(sys.argv[1]),), int((*sys.argv, "1")[2])))
