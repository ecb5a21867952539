"""Programs killed while they write: `python -m bench.live_kills sqlite 200`, or `postgresql 50`.

Each assigns and records as fast as it can and is killed at a random moment. On PostgreSQL half of
them work in pairs. Afterwards every answer that was given must be in the store exactly once, and
`verify` must agree. `python -m bench.live_kills sqlite 20 --http` kills a service instead, and on
PostgreSQL one of its two workers, while eight connections assign and record.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.live.conftest import Programs
from tests.service.callers import check_answers, prepare
from tests.service.kills import kill

import bascule as bs
from bascule.live.storage.statements import fetch
from bench.live_places import place


def main(kind: str, kills: int, seed: int = 0) -> None:
    """Kill, then count."""
    programs = Programs()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, place(kind, Path(folder)) as location:
        with bs.open(location) as store:
            store.create("test", Programs.endless)
        pairs = kills // 4 if kind == "postgresql" else 0
        arms, recorded = programs.kill_together(location, pairs, seed)
        for done in range(kills - 2 * pairs):
            first = 10**9 + 20 * done
            more, outcomes = programs.kill(location, 1, seed=seed + done, first=first)
            assert all(arms.get(unit, arm) == arm for unit, arm in more.items()), "an arm changed"
            arms |= more
            recorded |= outcomes
        with bs.open(location) as store:
            with store.reading() as connection:
                rows = fetch(connection, "SELECT unit, arm FROM assignments")
                events = Counter(row[0] for row in fetch(connection, "SELECT event FROM outcomes"))
            stored = dict(tuple(row) for row in rows)
            answered = {f"unit {unit}": "ab".index(arm) for unit, arm in arms.items()}
            assert answered.items() <= stored.items(), "an assignment is lost"
            assert len(stored) == len(rows), "a unit has two arms"
            assert {f"event {i}" for i in recorded} <= set(events), "an outcome is lost"
            assert set(events.values()) <= {1}, "an outcome occurs twice"
            found = store.get("test").verify()
            assert found.agrees, str(found)
    print(
        f"{kind}: {kills} kills, {len(arms):,} assignments and {len(recorded):,} outcomes", end=""
    )
    print(f" answered, none lost; {len(rows):,} and {len(events):,} stored; ", end="")
    print(f"{time.perf_counter() - started:.0f} s\n{found}")


def kill_services(kind: str, kills: int) -> None:
    """Kill services, or workers of one, and check all that they had answered."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, place(kind, Path(folder)) as location:
        key = prepare(location)["client"]
        heard = kill(location, key, kills, 1 if kind == "sqlite" else 2, seed=0)
        check_answers(location, heard)
    print(f"{kind}: {kills} kills of a service, {len(heard.arms):,} assignments and ", end="")
    print(f"{len(heard.recorded):,} outcomes answered, none lost; ", end="")
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    if "--http" in sys.argv:
        kill_services(sys.argv[1], int(sys.argv[2]))
    else:
        main(sys.argv[1], *(int(given) for given in sys.argv[2:4]))
