"""Ten million outcomes: `python -m bench.live_large [sqlite|postgresql] [UNITS]`.

It takes a quarter of an hour, and is not part of `make bench`. Targets: a status within 100 ms,
500 MB of memory, and at the end at least 0.8 of the assignments a second of the start.
"""

from __future__ import annotations

import random
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import bascule as bs
from bascule.live.storage.queries import fetch
from bench.live_places import place
from bench.measure import seconds

GROUP, EVENTS = 2000, 10
# It comes to no decision: the arms are alike.
DESIGN = bs.Design(
    ["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=1e-9, measure=bs.Measure("1d", "any")
)


def main(kind: str, units: int) -> None:
    """Fill a store, and say how it went."""
    chance, clock = random.Random(1), bs.ManualClock()
    rates, looks = [], []
    started = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        place(kind, Path(folder)) as location,
        bs.open(location, clock=clock) as store,
    ):
        test = store.create("large", DESIGN)
        for group in range(units // GROUP):
            names = [f"user-{group * GROUP + i}" for i in range(GROUP)]
            # Time on the processor: on a machine that others use too, the clock says little.
            before = time.process_time()
            test.assign_many(names)
            rates.append(GROUP / (time.process_time() - before))
            test.record_many(
                (name, float(chance.random() < 0.01), None, f"{name}-{k}")
                for name in names
                for k in range(EVENTS)
            )
            clock.advance(7200)
            test.settle()
            looks.append(seconds(test.status))
            if group % 25 == 0:
                told = f"{(group + 1) * GROUP:>9,} units, {rates[-1]:,.0f} assignments/s"
                print(f"{told}, status {1000 * looks[-1]:.1f} ms, {_memory():.0f} MB", flush=True)
        tenth = max(1, len(rates) // 10)
        first, last = statistics.median(rates[:tenth]), statistics.median(rates[-tenth:])
        size = _size(store, Path(folder)) / 1e9
        print(f"{units:,} units, {EVENTS * units:,} outcomes, {size:.1f} GB on disk")
        print(f"filled in {time.perf_counter() - started:.0f} s")
        print(f"assignments at the end over those at the start: {last / first:.2f}")
        worst = sorted(looks)[-max(1, len(looks) // 100)]
        print(f"status: median {1000 * statistics.median(looks):.1f} ms, ", end="")
        print(f"99 % within {1000 * worst:.1f} ms, the last {1000 * looks[-1]:.1f} ms")
        print(f"memory: {_memory():.0f} MB")
        print(test.verify(), f"({_memory():.0f} MB then)")


def _size(store: bs.Store, folder: Path) -> int:
    """Return the bytes of the tables with their indexes."""
    if not store.is_shared:
        return sum(part.stat().st_size for part in folder.iterdir())
    with store.reading() as connection:
        return int(fetch(connection, "SELECT pg_database_size(current_database())")[0][0])


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    chosen = [*sys.argv[1:], *["sqlite", "1000000"][len(sys.argv) - 1 :]]
    main(chosen[0], int(chosen[1]))
