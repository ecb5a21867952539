"""A store that version 1.0 has made opens, agrees and goes on."""

import gzip
from pathlib import Path

import pytest

import bascule as bs

KEPT = Path(__file__).parent / "kept" / "store-1.0.db.gz"


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
