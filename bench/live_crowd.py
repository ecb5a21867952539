"""Programs on one store that ask for the same units: `python -m bench.live_crowd sqlite 4 100000`.

Each asks for every unit, in an order of its own, a few at a time. Afterwards all must have been
told the same, no unit may have two arms, and the counts of the blocks must be exact.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.live.conftest import Programs

import bascule as bs
from bascule.live.storage.statements import fetch
from bench.live_places import place

AT_ONCE = 100


def work(location: str, units: int, seed: int) -> dict[int, str]:
    """Ask for all units, and record an outcome for each; what was answered."""
    order = list(range(units))
    random.Random(seed).shuffle(order)
    assigned: dict[int, str] = {}
    with bs.open(location) as store:
        test = store.get("test")
        for first in range(0, units, AT_ONCE):
            some = order[first : first + AT_ONCE]
            assigned |= zip(some, test.assign_many(some), strict=True)
            test.record_many((unit, float(unit % 2), None, str(unit)) for unit in some)
    return assigned


def main(kind: str, programs: int, units: int) -> None:
    """Let the programs loose, then compare."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, place(kind, Path(folder)) as location:
        with bs.open(location) as store:
            store.create("test", Programs.endless)
        with ProcessPoolExecutor(programs, get_context("spawn")) as pool:
            jobs = [pool.submit(work, location, units, seed) for seed in range(programs)]
            assigned = [job.result() for job in jobs]
        taken = time.perf_counter() - started
        assert all(one == assigned[0] for one in assigned), "a unit has two arms"
        with bs.open(location) as store:
            test = store.get("test")
            test.settle()
            with store.reading() as connection:
                rows = fetch(connection, "SELECT unit, arm, deal FROM assignments")
                (events,) = fetch(
                    connection, "SELECT count(*), count(DISTINCT event) FROM outcomes"
                )
            assert len(rows) == len({row[0] for row in rows}) == units, "a unit occurs twice"
            assert tuple(events) == (units, units), "an outcome occurs twice"
            sizes = Counter((row[2], row[1]) for row in rows)
            found = test.verify()
            assert found.agrees, str(found)
    blocks = len({block for block, _ in sizes})
    print(
        f"{kind}: {programs} programs, {units:,} units in {blocks:,} blocks, {taken:.0f} s: ",
        end="",
    )
    print(f"every unit has one arm, every block its counts\n{found}")


if __name__ == "__main__":
    main(sys.argv[1], *(int(given) for given in sys.argv[2:4]))
