"""Service processes on one PostgreSQL: `python -m bench.live_rate [SECONDS] [WORKERS] [TESTS]`.

Each worker brings new units in groups, as a service process does whose requests share a
transaction, to one test after another. On a busy machine the rate says little; what a new
assignment costs in processor time, commits and waiting for locks says where the limit is.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Engine, event

import bascule as bs
from bench.live_places import place
from bench.measure import Figure

GROUP, WARMING = 20, 2.5
# It comes to no decision: the arms are alike.
DESIGN = bs.Design(
    ["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=1e-9, measure=bs.Measure("1d", "any")
)
TICK = os.sysconf("SC_CLK_TCK")
BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
WAITING = f"SELECT count(*) FROM ({BACKENDS} AND wait_event_type = 'Lock') AS backends"


@dataclass(frozen=True, slots=True)
class Rate:
    """What a round showed; times are of processors, in seconds, and for one assignment."""

    workers: int
    tests: int
    assigned: int
    seconds: float
    client: float
    server: float
    commits: float
    waiting: float

    def __str__(self) -> str:
        return (
            f"{self.workers:>7} {self.tests:>5} {self.assigned / self.seconds:>13,.0f} "
            f"{1e6 * self.client:>9.0f} {1e6 * self.server:>9.0f} {self.commits:>8.3f} "
            f"{100 * self.waiting:>6.0f} %"
        )


HEAD = "workers tests assignments/s client us server us  commits waiting"


def work(location: str, seed: int, tests: int, seconds: float, meet: Any, results: Any) -> None:
    """Assign new units for a while; report how many, their processor time, and commits."""
    with bs.open(location) as store:
        all_tests = [store.get(f"test-{k}") for k in range(tests)]
        commits: list[object] = []
        event.listen(Engine, "commit", commits.append)
        groups = count()

        def assign_for(seconds: float, least: int = 0) -> int:
            """Assign units of one test after the other, in `least` groups or more; how many."""
            begin, end = next(groups), time.perf_counter() + seconds
            for group in groups:
                names = [f"{seed} {group} {i}" for i in range(GROUP)]
                all_tests[(seed + group) % tests].assign_many(names)
                if time.perf_counter() > end and group - begin >= least:
                    return group - begin
            raise AssertionError

        meet.wait()
        # Caches are filled, and each test was seen twice.
        assign_for(WARMING, 2 * tests)
        meet.wait()
        commits.clear()
        used = time.process_time()
        assigned = GROUP * assign_for(seconds)
        results.put((assigned, time.process_time() - used, len(commits)))
        meet.wait()
        meet.wait()


def measured(location: str, workers: int, tests: int, seconds: float) -> Rate:
    """Let workers assign for a while, and watch the database meanwhile."""
    with bs.open(location) as store:
        for k in range(tests):
            store.create(f"test-{k}", DESIGN)
    context = get_context("spawn")
    meet, results = context.Barrier(workers + 1), context.Queue()
    given = (tests, seconds, meet, results)
    started = [context.Process(target=work, args=(location, k, *given)) for k in range(workers)]
    for one in started:
        one.start()
    with psycopg.connect(location, autocommit=True) as watch:
        meet.wait()
        meet.wait()
        before, since = server_seconds(watch), time.perf_counter()
        looks, waiting = 0, 0
        while time.perf_counter() < since + seconds:
            waiting += (watch.execute(WAITING).fetchone() or (0,))[0]
            looks += 1
            time.sleep(0.02)
        meet.wait()
        server, taken = server_seconds(watch) - before, time.perf_counter() - since
        meet.wait()
    found = [results.get() for _ in started]
    for one in started:
        one.join()
    assigned, client, commits = map(sum, zip(*found, strict=True))
    each = (client / assigned, server / assigned, commits / assigned)
    return Rate(workers, tests, assigned, taken, *each, waiting / looks / workers)


def server_seconds(watch: psycopg.Connection[Any]) -> float:
    """Return the processor time that the processes of this database have used so far."""
    return sum(process_seconds(pid) for (pid,) in watch.execute(BACKENDS).fetchall())


def process_seconds(pid: int) -> float:
    """Return the processor time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def figures() -> list[Figure]:
    """What a unit costs four programs on one test, against one program alone.

    Programs wait for each other's locks. The processor time of programs and
    database together does not depend on how many cores a machine has. At twice the time a unit,
    four programs bring twice the units of one, where there are cores for them.
    """
    one, four = rates(2.0, [1, 4], [1])
    alone, together = (1e6 * (rate.client + rate.server) for rate in (one, four))
    return [
        Figure(
            name="a unit of a test that four programs share, PostgreSQL",
            value=together,
            reference=alone,
            ratio=together / alone,
            target="<= 2",
            unit="microseconds of processor time",
            against=f"one program; {four.waiting:.0%} of the time spent waiting for locks",
        )
    ]


def rates(seconds: float, workers: list[int], tests: list[int]) -> Iterator[Rate]:
    """Measure all combinations, each on a database of its own."""
    with tempfile.TemporaryDirectory() as folder, place("postgresql", Path(folder)) as location:
        for few in tests:
            for some in workers:
                name = f"rate_{some}_{few}"
                with psycopg.connect(location, autocommit=True) as admin:
                    admin.execute(f"CREATE DATABASE {name}")
                head, _, options = location.partition("?")
                where = f"{head.rpartition('/')[0]}/{name}?{options}"
                yield measured(where, some, few, seconds)


if __name__ == "__main__":
    given = [*sys.argv[1:], *["3", "1,2,4", "1,10,100"][len(sys.argv) - 1 :]]
    numbers = ([int(one) for one in text.split(",")] for text in given[1:])
    print(HEAD)
    for rate in rates(float(given[0]), *numbers):
        print(rate, flush=True)
