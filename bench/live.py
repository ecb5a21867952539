"""How fast a live test is that loses nothing, against the database on its own."""

from __future__ import annotations

import asyncio
import gc
import random
import sqlite3
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import perf_counter, time

import bascule as bs
from bench.measure import Figure, compare, core_seconds, seconds

CALLERS, EVENTS = 64, 20_000
FEW, MANY = 50, 1000
"""Units that each caller asks for: in a file that is nearly empty, and in a test of some size."""

FEW_ARMS, MANY_ARMS, RECORDS = 10, 50, 100
"""Arms of the tests that are compared, and outcomes recorded beyond one block."""

DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("7d", "any"))

_WEEK = bs.Measure("7d", "mean", "zero")
GUARDED = bs.Design(
    ["a", "b"],
    bs.Bernoulli(),
    bs.Tilt(3),
    measure=bs.Measure("7d", "any"),
    metrics=[
        bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=5, measure=_WEEK),
        bs.Metric("spend", bs.Bounded(0, 100), role="secondary", measure=_WEEK),
    ],
    covariates=[bs.Covariate("spend_before", 0, 100)],
)
"""Two metrics more, and a covariate."""


def _covariates(design: bs.Design, i: int) -> dict[str, float] | None:
    """Return what is known of a unit."""
    return None if design.covariates is None else {"spend_before": float(i % 97)}


def _in_a_folder(work: Callable[..., float], *given: object) -> Callable[[], float]:
    def measure() -> float:
        with tempfile.TemporaryDirectory() as folder:
            return work(Path(folder) / "bench.db", *given)

    return measure


def _assigned(path: Path, asked: int, design: bs.Design = DESIGN) -> float:
    """Durable assignments a second: callers in one event loop, each with a new unit at a time."""
    with bs.open(path) as store:
        test = store.create("bench", design)
        test.assign("first")

        async def call(caller: int) -> None:
            for i in range(asked):
                await test.soon.assign(
                    f"unit {caller} {i}", covariates=_covariates(design, caller + i)
                )

        async def call_all() -> float:
            # As with plain inserts, what comes before and after them is not counted.
            started = perf_counter()
            await asyncio.gather(*(call(caller) for caller in range(CALLERS)))
            return perf_counter() - started

        taken = asyncio.run(call_all())
    return CALLERS * asked / taken


def _assigned_in_batches(path: Path, design: bs.Design) -> float:
    """Durable assignments a second: 500 new units in each call."""
    with bs.open(path) as store:
        test = store.create("bench", design)
        test.assign("first")
        batches = [range(first, first + 500) for first in range(0, EVENTS, 500)]
        units = [[f"unit {i}" for i in batch] for batch in batches]
        known = None
        if design.covariates is not None:
            known = [[_covariates(design, i) for i in batch] for batch in batches]

        def assign() -> None:
            for i, batch in enumerate(units):
                test.assign_many(batch, covariates=None if known is None else known[i])

        return EVENTS / seconds(assign)


def _assigned_in_threads(path: Path, asked: int) -> float:
    """The same with a thread for each caller."""
    with bs.open(path) as store:
        test = store.create("bench", DESIGN)
        test.assign("first")

        def call(caller: int) -> None:
            for i in range(asked):
                test.assign(f"unit {caller} {i}")

        with ThreadPoolExecutor(CALLERS) as callers:
            taken = seconds(lambda: list(callers.map(call, range(CALLERS))))
    return CALLERS * asked / taken


def _plain(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(
        "CREATE TABLE rows (experiment INT, number INT, unit TEXT, arm INT, deal INT, "
        "probability REAL, time REAL, PRIMARY KEY (experiment, number), UNIQUE (experiment, unit))"
    )
    return connection


def _inserted(path: Path, asked: int) -> float:
    """One-row inserts a second of such rows, committed in groups as large as there are callers."""
    connection = _plain(path)

    def insert() -> None:
        for group in range(asked):
            connection.execute("BEGIN IMMEDIATE")
            now = time()
            for caller in range(CALLERS):
                number = group * CALLERS + caller
                row = (1, number, f"unit {caller} {group}", number % 2, number // 2, 0.5, now)
                connection.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            connection.execute("COMMIT")

    taken = seconds(insert)
    connection.close()
    return CALLERS * asked / taken


def _recorded(path: Path) -> float:
    """Outcomes a second, in one call, each with an id of its own."""
    with bs.open(path) as store:
        test = store.create("bench", DESIGN)
        units = [f"unit {i}" for i in range(EVENTS // 10)]
        test.assign_many(units)
        events = [(units[i // 10], 1.0, None, f"event {i}") for i in range(EVENTS)]
        return EVENTS / seconds(lambda: test.record_many(events))


def _recorded_metrics(path: Path, design: bs.Design) -> float:
    """Outcomes a second, in one call, of all metrics in turn."""
    names = (None, *(metric.name for metric in design.metrics))
    with bs.open(path) as store:
        test = store.create("bench", design)
        units = [f"unit {i}" for i in range(EVENTS // 10)]
        test.assign_many(units)
        events = [
            (units[i // 10], 1.0, None, f"event {i}", names[i % len(names)]) for i in range(EVENTS)
        ]
        return EVENTS / seconds(lambda: test.record_many(events))


def _folded_metrics(path: Path, design: bs.Design) -> float:
    """Outcomes a second of units that count at once: recorded, and folded into the statistics."""
    names = (None, *(metric.name for metric in design.metrics))
    bare = [replace(metric, measure=None) for metric in design.metrics]
    with bs.open(path) as store:
        test = store.create("bench", replace(design, measure=None, metrics=bare, reports="always"))
        units = [f"unit {i}" for i in range(EVENTS // 10)]
        known = [_covariates(design, i) for i in range(len(units))]
        test.assign_many(units, covariates=known)
        events = [
            (unit, float(i % 2), None, None, name) for i, unit in enumerate(units) for name in names
        ]

        def record() -> None:
            test.record_many(events)
            test.settle()

        return len(events) / seconds(record)


def _with_metrics(name: str, work: Callable[..., float], *given: object) -> Figure:
    return compare(
        f"{name}, three metrics and a covariate",
        _in_a_folder(work, *given, GUARDED),
        _in_a_folder(work, *given, DESIGN),
        target=">= 0.8",
        unit="1/s",
        against="one metric, no covariate",
        rounds=5,
    )


def _executed(path: Path) -> float:
    """Rows a second of one executemany into a table with the same columns and indexes."""
    connection = _plain(path)
    connection.execute(
        "CREATE TABLE events (id INTEGER PRIMARY KEY, experiment INT, number INT, value REAL, "
        "at REAL, received REAL, event TEXT)"
    )
    connection.execute("CREATE INDEX of_unit ON events (experiment, number)")
    connection.execute("CREATE UNIQUE INDEX of_event ON events (experiment, event)")
    rows = [(1, i // 10, 1.0, 0.0, 0.0, f"event {i}") for i in range(EVENTS)]
    insert = "INSERT INTO events (experiment, number, value, at, received, event) VALUES "

    def execute() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(f"{insert} (?, ?, ?, ?, ?, ?)", rows)
        connection.execute("COMMIT")

    taken = seconds(execute)
    connection.close()
    return EVENTS / taken


def _of_many_arms(arms: int, work: Callable[[bs.Experiment, list[str]], float]) -> float:
    """Do something to a test of tilted blocks on 0/1 outcomes that has seen three blocks."""
    with tempfile.TemporaryDirectory() as folder, bs.open(Path(folder) / "bench.db") as store:
        names = [f"arm {i}" for i in range(arms)]
        test = store.create("bench", bs.Design(names, bs.Bernoulli(), bs.Tilt(3), reports="always"))
        units = [f"unit {i}" for i in range(4 * arms + RECORDS)]
        test.assign_many(units)
        outcomes = random.Random(1).choices((0.0, 1.0), (9, 1), k=3 * arms)
        test.record_many(list(zip(units, outcomes, strict=False)))
        test.status()
        return work(test, units[3 * arms :])


def _status_time(test: bs.Experiment, _: list[str]) -> float:
    """Milliseconds of a core that one status takes."""
    return 1000.0 * min(core_seconds(test.status) for _ in range(5))


def _record_time(test: bs.Experiment, units: list[str]) -> float:
    """Milliseconds of a core that one outcome takes on average, over a whole block or more."""

    def record() -> None:
        for unit in units:
            test.record(unit, 0.0)

    return 1000.0 * core_seconds(record) / len(units)


def _block_time(test: bs.Experiment, units: list[str]) -> float:
    """Milliseconds of a core that the outcome takes which completes a block: the slowest one.

    As in the service, the garbage collector does not look at what is there already.
    """
    gc.freeze()
    gc.disable()
    try:
        return 1000.0 * max(
            core_seconds(lambda unit=unit: test.record(unit, 0.0))  # type: ignore[misc]
            for unit in units
        )
    finally:
        gc.enable()
        gc.unfreeze()


def _many_arms(name: str, work: Callable[..., float], target: str) -> Figure:
    return compare(
        f"{name}, tilted blocks of {MANY_ARMS:,} arms",
        lambda: _of_many_arms(MANY_ARMS, work),
        lambda: _of_many_arms(FEW_ARMS, work),
        target=target,
        unit="ms",
        against=f"{FEW_ARMS} arms",
        rounds=3,
    )


def _assignments(
    name: str, work: Callable[[Path, int], float], asked: int, rounds: int, target: str = ""
) -> Figure:
    return compare(
        f"durable assignments, {name}",
        _in_a_folder(work, asked),
        _in_a_folder(_inserted, asked),
        target=target,
        unit="1/s",
        against=f"plain inserts in groups of {CALLERS}",
        rounds=rounds,
    )


def over_plain_inserts() -> Figure:
    """Return the rate of durable assignments of 64 callers in one event loop."""
    return _assignments("64 callers", _assigned, MANY, 3, target=">= 0.5")


def figures() -> list[Figure]:
    """Every figure of live tests."""
    # A collection of all that other rows have loaded takes as long as what is measured here, and
    # falls into some measurements and not into others. The service exempts modules as well.
    gc.collect()
    gc.freeze()
    return [
        over_plain_inserts(),
        _assignments("64 callers, the first 3,200", _assigned, FEW, 7, target=">= 0.5"),
        _assignments("64 threads", _assigned_in_threads, FEW, 7),
        compare(
            "outcomes ingested",
            _in_a_folder(_recorded),
            _in_a_folder(_executed),
            target=">= 0.3",
            unit="1/s",
            against="one executemany",
        ),
        _with_metrics("durable assignments", _assigned, FEW),
        _with_metrics("assignments in batches of 500", _assigned_in_batches),
        _with_metrics("outcomes ingested", _recorded_metrics),
        _with_metrics("outcomes folded", _folded_metrics),
        _many_arms("status", _status_time, "<= 20"),
        _many_arms("one outcome recorded", _record_time, "<= 10"),
        _many_arms("the outcome that completes a block", _block_time, "<= 20"),
    ]
