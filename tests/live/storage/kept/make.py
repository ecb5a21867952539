"""`python tests/live/storage/kept/make.py`: make the store that every later version has to open.

It was made once, by version 1.0, and is kept as it is. A change that cannot open it needs a
migration, not a new file.
"""

from __future__ import annotations

import gzip
import random
import tempfile
from pathlib import Path

import bascule as bs

STORE = Path(__file__).parent / "store-1.0.db.gz"

NAMES = ("decided", "running", "guarded")


def make(path: Path) -> None:
    """Write a store with a decided test, a running one and one with a window and a guardrail."""
    clock = bs.ManualClock()
    rng = random.Random(1)
    with bs.open(str(path), clock=clock, shuffle=rng.shuffle) as store:
        for name in NAMES[:2]:
            design = bs.Design(["control", "green"], bs.Bernoulli(), bs.Tilt(3), reports="always")
            test = store.create(name, design)
            better = 0.8 if name == "decided" else 0.2
            for i in range(200):
                arm = test.assign(f"user {i}")
                test.record(
                    f"user {i}", float(rng.random() < (0.2 if arm == "control" else better))
                )
                if test.state != "running":
                    break
        guarded = bs.Design(
            ["control", "green"],
            bs.Bernoulli(),
            bs.Tilt(3, effect=0.1, power=0.8, baseline=0.2),
            measure=bs.Measure("1d", "any"),
            metrics=[
                bs.Metric(
                    "latency",
                    bs.Numeric(),
                    goal="decrease",
                    margin=50.0,
                    measure=bs.Measure("1d", "mean", "exclude"),
                )
            ],
        )
        test = store.create(NAMES[2], guarded)
        for i in range(100):
            test.assign(f"visitor {i}")
            test.record(f"visitor {i}", float(rng.random() < 0.2))
            test.record(f"visitor {i}", rng.gauss(300.0, 40.0), metric="latency", id=f"l{i}")
            clock.advance("1h")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "store.db"
        make(made)
        STORE.write_bytes(gzip.compress(made.read_bytes(), mtime=0))
