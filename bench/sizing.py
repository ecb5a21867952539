"""What a unit costs on PostgreSQL, in bytes and processor time: `python -m bench.sizing [UNITS]`.

The page "Sizing" multiplies these figures. Each is for one unit or outcome; processor time is that
of the program and that of the server, so that it says something on a busy machine too.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

import bascule as bs
from bascule.service.auth.keys import create_key
from bench.live_places import place
from bench.live_rate import DESIGN, process_seconds, server_seconds
from bench.service import measured_load, started

SIZES = """SELECT relname, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class
WHERE relkind = 'r' AND relname IN ('assignments', 'blocks', 'outcomes') ORDER BY relname"""
LOG = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"
COLUMNS = "experiment int, number bigint, unit text, arm int, deal bigint, chance float8, at float8"
PARTS, SECONDS = 16, 2.0


class Meter:
    """Measures what calls take: processor time here and on the server, and bytes of its log."""

    def __init__(self, watch: psycopg.Connection[Any]) -> None:
        self.watch = watch

    @contextmanager
    def of(self, name: str, count: int) -> Iterator[None]:
        """Print what a block takes for each of `count` things."""
        server, client, log = server_seconds(self.watch), time.process_time(), self._log()
        yield
        used = time.process_time() - client
        spent = server_seconds(self.watch) - server
        line = f"{name:<44} {1e6 * used / count:>9.1f} {1e6 * spent / count:>9.1f}"
        print(f"{line} {(self._log() - log) / count:>9.0f}", flush=True)

    def _log(self) -> int:
        return int((self.watch.execute(LOG).fetchone() or (0,))[0])


def groups(units: int, size: int) -> Iterator[list[str]]:
    """Names of new units, so many at a time; as long as random identifiers are."""
    for first in range(0, units, size):
        yield [f"{size:04d}-{first + i:031d}" for i in range(size)]


def main(units: int) -> None:
    """Fill a test in groups of several sizes, and print the table."""
    with (
        tempfile.TemporaryDirectory() as folder,
        place("postgresql", Path(folder)) as location,
        bs.open(location) as store,
        psycopg.connect(location, autocommit=True) as watch,
    ):
        meter = Meter(watch)
        test = store.create("sizing", DESIGN)
        test.assign_many(["first"])
        print(f"{'':44} client us server us log bytes")
        for size in (1, 20, 200, 1000):
            some = min(units, 200 * size)
            with meter.of(f"a new unit, {size} in a transaction", some):
                for names in groups(some, size):
                    test.assign_many(names)
        with meter.of("a unit that the program remembers", 20_000):
            for _ in range(20_000):
                test.assign("first")
        known = [name for some in groups(min(units, 200_000), 1000) for name in some]
        store.memory.forget(test.id)
        with meter.of("a known unit that is looked up, 200 at once", len(known)):
            for first in range(0, len(known), 200):
                test.assign_many(known[first : first + 200])
        for at_once, events in ((200, known[: units // 2]), (5000, known[units // 2 :])):
            with meter.of(f"an outcome with an id, {at_once} at once", len(events)):
                for first in range(0, len(events), at_once):
                    part = events[first : first + at_once]
                    test.record_many((unit, 1.0, None, f"{unit}-1") for unit in part)
        counted, recorded = test.status().units, len(known)
        print("bytes a unit or an outcome, without and with indexes")
        for table, rows, indexes in watch.execute(SIZES).fetchall():
            count = recorded if table == "outcomes" else counted
            print(f"{table:<44} {rows / count:>9.0f} {(rows + indexes) / count:>9.0f}")
        _partitions(watch, units)
        _over_http(location, store)
        began = time.perf_counter()
        test.stop()
        store.delete("sizing")
        print(f"deleting an experiment of {counted:,} units {_since(began)}")


def _partitions(watch: psycopg.Connection[Any], units: int) -> None:
    """Compare a table with one that is cut into parts by experiment, as an exercise."""
    watch.execute(f"CREATE TABLE whole ({COLUMNS}, PRIMARY KEY (experiment, number))")
    watch.execute(
        f"CREATE TABLE cut ({COLUMNS}, PRIMARY KEY (experiment, number)) "
        "PARTITION BY LIST (experiment)"
    )
    for part in range(PARTS):
        watch.execute(f"CREATE TABLE cut_{part} PARTITION OF cut FOR VALUES IN ({part})")
    for table in ("whole", "cut"):
        watch.execute(f"CREATE UNIQUE INDEX ON {table} (experiment, unit)")

    def copy(table: str) -> float:
        before = server_seconds(watch)
        with watch.cursor().copy(f"COPY {table} FROM STDIN") as copied:
            for i in range(units):
                copied.write_row((i % PARTS, i, f"{i:036d}", 0, i // 2, 0.5, float(i)))
        return server_seconds(watch) - before

    ratio = copy("cut") / copy("whole")
    print(f"server time of a row in one of {PARTS} parts, over that in one table: {ratio:.2f}")
    for name, statement in (
        ("deleting a sixteenth of one table", "DELETE FROM whole WHERE experiment = 3"),
        ("dropping one part", "DROP TABLE cut_3"),
    ):
        began = time.perf_counter()
        watch.execute(statement)
        print(f"{name} {_since(began)}")


def _over_http(location: str, store: bs.Store) -> None:
    """Print what a request costs the service, each with one unit, 64 at a time."""
    store.create("bench", DESIGN)
    key = create_key(store, "client")
    process, url = started(location)
    try:
        for what in ("health", "known", "new"):
            measured_load(url, key, what, seconds=1.0)
            before = process_seconds(process.pid)
            answered = SECONDS * measured_load(url, key, what, seconds=SECONDS)["rate"]
            spent = 1e6 * (process_seconds(process.pid) - before) / answered
            print(f"{f'a request over HTTP ({what})':<44} {spent:>9.1f}", flush=True)
    finally:
        process.terminate()
        process.wait()


def _since(began: float) -> str:
    return f"took {1000 * (time.perf_counter() - began):,.0f} ms"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40_000)
