"""Ten million events in Parquet: today's answer and the days, against tea-tasting in the same run.

Each answer is taken in a process of its own, imports included, which also tells its peak memory.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure import Figure

EVENTS, USERS, DAYS = 10_000_000, 1_000_000, 28
ROUNDS = 3

MAKE = """
COPY (
    SELECT user_id,
        CASE WHEN hash(user_id) % 2 = 0 THEN 'control' ELSE 'green' END AS variant,
        TIMESTAMP '2026-01-01' + to_microseconds(CAST(
            (came + ({days} * 86400 - came) * later * later) * 1000000 AS BIGINT)) AS ts,
        CASE WHEN buys < 0.2 THEN round(-20 * ln(spent + 1e-9), 2) ELSE 0.0 END AS revenue
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
started = time.perf_counter()
"""

TEA = """
import ibis, tea_tasting as tt
events = ibis.duckdb.connect().read_parquet({path!r})
users = events.group_by("user_id", "variant").agg(
    visits=events.count(), revenue=events.revenue.sum()
)
ratio = tt.RatioOfMeans("revenue", "visits")
asked = {{"a": tt.Mean("revenue"), "b": ratio, "c": tt.SampleRatio()}}
str(tt.Experiment(asked).analyze(users))
"""

OURS = """
import bascule as bs
str(bs.analyze({path!r}, {options}))
"""

FOOT = """
seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(json.dumps([seconds, peak]))
"""

ASKED = {
    "today's answer": ("by_day=False", "<= 1"),
    "day by day": ("", "<= 3"),
    "day by day, a window of 7 days, proven": (
        "window='7d', outcome=bs.Bounded(0, 1000)",
        "",
    ),
}


def make(path: Path, events: int = EVENTS, users: int = USERS) -> None:
    """Write a log of events."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false; SET memory_limit = '1GB'")
        where = {"path": path, "events": events, "users": users, "days": DAYS}
        connection.execute(MAKE.format(**where))


def taken(script: str) -> tuple[float, float]:
    """Seconds and gigabytes of one answer, in a process of its own."""
    command = [sys.executable, "-c", HEAD + script + FOOT]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, peak = json.loads(told.splitlines()[-1])
    return seconds, peak


def figures() -> list[Figure]:
    """Time as a ratio to tea-tasting's, in turns; memory as a part of half a gigabyte."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        make(path)
        against = TEA.format(path=str(path))
        rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ASKED}
        for _ in range(ROUNDS):
            reference, _ = taken(against)
            for name, (options, _) in ASKED.items():
                seconds, peak = taken(OURS.format(path=str(path), options=options))
                rows[name].append((seconds, reference, peak))
    for name, (_, target) in ASKED.items():
        found.append(
            Figure(
                name=f"10,000,000 events, {name}",
                value=statistics.median(seconds for seconds, _, _ in rows[name]),
                reference=statistics.median(reference for _, reference, _ in rows[name]),
                ratio=statistics.median(
                    seconds / reference for seconds, reference, _ in rows[name]
                ),
                target=target,
                unit="s",
                against="tea-tasting on Ibis and DuckDB: Mean, RatioOfMeans, SampleRatio",
            )
        )
    peak = max(peak for some in rows.values() for _, _, peak in some)
    found.append(
        Figure(
            name="10,000,000 events, peak memory",
            value=peak,
            reference=0.5,
            ratio=peak / 0.5,
            target="<= 1",
            unit="GB",
            against="half a gigabyte",
        )
    )
    return found
