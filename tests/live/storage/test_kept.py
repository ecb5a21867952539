"""A store that version 1.0 has made opens, agrees and goes on.

`python tests/live/storage/test_kept.py` makes the file anew; after a release it stays as it is.
"""

import gzip
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import bascule as bs

KEPT = Path(__file__).parent / "kept" / "store-1.0.db.gz"


def make(path: Path) -> None:
    """Make a store with a test that is decided, one that runs, and one with pending units."""
    clock = bs.ManualClock()
    chance = random.Random(1)
    plain = bs.Design(["control", "green"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    day, mean = bs.Measure("1d", "any"), bs.Measure("1d", "mean", missing="exclude")
    latency = bs.Metric("latency", bs.Numeric(), goal="decrease", margin=50.0, measure=mean)
    rule = bs.Tilt(3, effect=0.1, baseline=0.2)
    watched = bs.Design(["control", "green"], bs.Bernoulli(), rule, measure=day, metrics=[latency])
    with bs.open(str(path), clock=clock, shuffle=chance.shuffle) as store:
        decided = store.create("decided", plain)
        while decided.state == "running":
            unit = f"user {decided.status().units}"
            decided.record(unit, float(decided.assign(unit) == "green"))
        running = store.create("running", plain)
        for i in range(200):
            running.assign(f"user {i}")
            running.record(f"user {i}", float(chance.random() < 0.3))
        guarded = store.create("guarded", watched)
        for i in range(100):
            guarded.assign(f"user {i}")
            guarded.record(f"user {i}", float(chance.random() < 0.2))
            guarded.record(f"user {i}", chance.gauss(200.0, 20.0), metric="latency")
            clock.advance("1h")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A copy of the kept store."""
    store = tmp_path / "store.db"
    store.write_bytes(gzip.decompress(KEPT.read_bytes()))
    return store


def test_every_test_agrees_with_its_rows(path: Path) -> None:
    with bs.open(str(path)) as store:
        assert all(one.agrees for one in store.verify())


def test_a_decided_test_stays_decided_and_a_running_one_goes_on(path: Path) -> None:
    with bs.open(str(path)) as store:
        decided = store.get("decided")
        verdict = decided.status().decision
        assert verdict is not None
        assert verdict.name == "green"
        running = store.get("running")
        before = running.status().units
        arm = running.assign("user 0")
        for i in range(20):
            running.record(f"new {i}", float(running.assign(f"new {i}") == "green"))
        assert running.assign("user 0") == arm
        assert running.status().units == before + 20
        assert running.verify().differences == ()


def test_units_that_were_pending_mature(path: Path) -> None:
    with bs.open(str(path)) as store:
        guarded = store.get("guarded")
        guarded.settle()
        status = guarded.status()
        assert status.matured == status.units == 100
        assert [metric.name for metric in status.metrics] == ["latency"]
        assert guarded.verify().differences == ()


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        make(Path(folder) / "store.db")
        made = (Path(folder) / "store.db").read_bytes()
    KEPT.write_bytes(gzip.compress(made, mtime=0))
