"""Ten million outcomes: `python -m bench.live_large [sqlite|postgresql] [UNITS] [SECONDS]`.

It takes a quarter of an hour, and is not part of `make bench`. After SECONDS it assigns no more
units. Targets: a status within 100 ms, 500 MB of memory, and at the end at least 0.8 of the
assignments at the start per second of the program's CPU time. Wall times say little on a machine
that other programs use.
"""

from __future__ import annotations

import random
import resource
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

import bascule as bs
from bascule.live.storage.statements import fetch
from bench.live_places import place
from bench.live_rate import server_seconds
from bench.measure import seconds

GROUP, EVENTS, LOOKED_EVERY, SHOWN_EVERY = 2000, 10, 5, 25
# It comes to no decision: the arms are alike.
DESIGN = bs.Design(
    ["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=1e-9, measure=bs.Measure("1d", "any")
)


class Meter:
    """Seconds that each kind of call took so far: by the clock, here, and on the server."""

    def __init__(self, watch: psycopg.Connection[Any] | None) -> None:
        self._watch = watch
        self.spent: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])

    def of(self, name: str, call: Callable[[], object]) -> list[float]:
        """Make a call, and return the seconds that it took: by the clock, here, on the server."""
        before = self._now()
        call()
        taken = [now - then for now, then in zip(self._now(), before, strict=True)]
        self.spent[name] = [a + b for a, b in zip(self.spent[name], taken, strict=True)]
        return taken

    def rate(self, name: str, things: str, count: int) -> str:
        """What one thing took on average."""
        clock, client, server = self.spent[name]
        parts = f"{1e6 * client / count:.1f} us here, {1e6 * server / count:.1f} us on the server"
        return f"{count / clock:,.0f} {things}/s; each {parts}"

    def _now(self) -> tuple[float, float, float]:
        server = 0.0 if self._watch is None else server_seconds(self._watch)
        return time.perf_counter(), time.process_time(), server


def main(kind: str, units: int, longest: float) -> None:
    """Fill a store for so many seconds at most, and say how it went."""
    chance, clock = random.Random(1), bs.ManualClock()
    spent, looks = [], []
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        location = stack.enter_context(place(kind, Path(folder)))
        store = stack.enter_context(bs.open(location, clock=clock))
        watch = None
        if store.is_shared:
            watch = stack.enter_context(psycopg.connect(location, autocommit=True))
        meter, test = Meter(watch), store.create("large", DESIGN)
        empty = _size(store, Path(folder))
        for group in range(units // GROUP):
            names = [f"user-{group * GROUP + i}" for i in range(GROUP)]
            events = [
                (name, float(chance.random() < 0.01), None, f"{name}-{k}")
                for name in names
                for k in range(EVENTS)
            ]
            spent.append(meter.of("assign", partial(test.assign_many, names)))
            meter.of("record", partial(test.record_many, events))
            clock.advance(7200)
            meter.of("settle", test.settle)
            done = (group + 1) * GROUP
            if group % LOOKED_EVERY == 0:
                looks.append(seconds(test.status))
            if group % SHOWN_EVERY == 0:
                line = f"{done:>9,} units, {time.perf_counter() - started:.0f} s"
                print(f"{line}, status {1000 * looks[-1]:.1f} ms, {_memory():.0f} MB", flush=True)
            if time.perf_counter() - started > longest:
                break
        units = done
        tenth = max(1, len(spent) // 10)
        first, last = (
            [statistics.median(column) for column in zip(*part, strict=True)]
            for part in (spent[:tenth], spent[-tenth:])
        )
        size = _size(store, Path(folder)) - empty
        counted = f"{units:,} units, {EVENTS * units:,} outcomes, {size / 1e9:.1f} GB on disk"
        print(f"{counted}, {size / units:.0f} bytes a unit with its {EVENTS} outcomes")
        print(f"filled in {time.perf_counter() - started:.0f} s")
        print(f"assigning: {meter.rate('assign', 'units', units)}")
        print(f"recording: {meter.rate('record', 'outcomes', EVENTS * units)}")
        print(f"settling: {meter.rate('settle', 'units', units)}")
        speed = f"{first[1] / last[1]:.2f} (by the clock {first[0] / last[0]:.2f})"
        print(f"assignments at the end over those at the start: {speed}")
        worst = sorted(looks)[-max(1, len(looks) // 100)]
        print(f"status: median {1000 * statistics.median(looks):.1f} ms, ", end="")
        print(f"99 % within {1000 * worst:.1f} ms, the last {1000 * looks[-1]:.1f} ms")
        print(f"memory: {_memory():.0f} MB", flush=True)
        since = time.perf_counter()
        print(f"{test.verify()} ({time.perf_counter() - since:.0f} s, {_memory():.0f} MB then)")


def _size(store: bs.Store, folder: Path) -> int:
    """Return the bytes of the tables with their indexes."""
    if not store.is_shared:
        return sum(part.stat().st_size for part in folder.iterdir())
    with store.reading() as connection:
        return int(fetch(connection, "SELECT pg_database_size(current_database())")[0][0])


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    chosen = [*sys.argv[1:], *["sqlite", "1000000", "inf"][len(sys.argv) - 1 :]]
    main(chosen[0], int(chosen[1]), float(chosen[2]))
