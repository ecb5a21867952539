"""Closing stages of a recurring test: `python -m bench.live_stages [sqlite|postgresql] [STAGES]`.

Each day brings as many outcomes as the day before. What a stage counts is read by its own outcomes,
so that the time stays the same; the way of tests of earlier versions, which goes through all
outcomes, is measured beside it on the same rows.
"""

from __future__ import annotations

import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

import bascule as bs
from bascule.live.storage.queries import Rows
from bascule.live.storage.state import ExperimentState
from bascule.live.transactions.settle import read_stage
from bench.live_places import place
from bench.measure import core_seconds, seconds

UNITS, EVENTS = 1000, 10
MEASURE = bs.Measure(period="1d")
# It comes to no decision: the arms are alike.
DESIGN = bs.Design(
    ["a", "b"], bs.Recurrent(1, 1), bs.UCB(2, radius="mixture"), error=1e-9, measure=MEASURE
)


def main(kind: str, stages: int) -> None:
    """Record and close stage after stage, and say how long reading one takes."""
    clock = bs.ManualClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        place(kind, Path(folder)) as location,
        bs.open(location, clock=clock) as store,
    ):
        test = store.create("daily", DESIGN)
        names = [f"user-{i}" for i in range(UNITS)]
        test.assign_many(names)
        print("stage  outcomes  recorded/s  closed ms (processor)  its own outcomes ms  all ms")
        for stage in range(1, stages + 1):
            clock.advance(3600)
            events = [
                (one, 1.0, None, f"{stage}-{one}-{k}") for one in names for k in range(EVENTS)
            ]
            recorded = len(events) / seconds(partial(test.record_many, events))
            clock.advance(23 * 3600)
            used = core_seconds(test.settle)
            if stage not in (2, 3) and stage % (stages // 4):
                continue
            with store.reporting() as connection:
                state = store.load(connection, test.id, test.name).state
                assert state.progress == stage
                own = 1000 * min(_taken(connection, test.id, state, stage) for _ in range(3))
            line = f"{stage:>5} {stage * len(events):>9,} {recorded:>11,.0f} {1000 * used:>22.1f}"
            print(f"{line} {own:>20.1f}", flush=True)
        since = time.perf_counter()
        print(test.verify(), f"({time.perf_counter() - since:.1f} s)")


def _taken(connection: Connection, experiment: int, state: ExperimentState, stage: int) -> float:
    return seconds(partial(read_stage, Rows(connection, experiment), MEASURE, state, stage))


if __name__ == "__main__":
    given = [*sys.argv[1:], *["postgresql", "40"][len(sys.argv) - 1 :]]
    main(given[0], int(given[1]))
