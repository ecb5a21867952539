"""Reads across experiments: one transaction for a list, and only what is due is settled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import bascule as bs
from bascule.live.api.reads import read_statuses, read_summaries
from bascule.live.storage import queries

DAY = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(1), measure=bs.Measure("1d", "any"))


@pytest.fixture(autouse=True)
def some_tests(store: bs.Store) -> None:
    for i in range(6):
        test = store.create(f"test-{i}", DAY)
        test.assign_many([f"u{k}" for k in range(10)])
        test.record("u1", 1.0)


def test_a_list_reads_each_experiment_once(
    store: bs.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    loaded_row = queries.loaded_row

    def counted(row: Sequence[Any]) -> queries.Loaded:
        read.append(row[0])
        return loaded_row(row)

    monkeypatch.setattr(queries, "loaded_row", counted)
    found, _ = read_summaries(store, {})
    statuses = read_statuses(store, list(found.values()))
    assert len(read) <= len(found) == 6
    assert [statuses[entry.test.id] for entry in found.values()] == [
        entry.test.status() for entry in found.values()
    ]


def test_what_has_units_that_matured_is_left_to_be_settled(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    found, _ = read_summaries(store, {})
    entries = list(found.values())
    entries[0].test.pause()
    clock.advance("2d")
    entries[1].test.status()
    assert read_statuses(store, entries) == {}
    assert entries[2].test.status().matured == 10
    again, _ = read_summaries(store, {entry.test.id: entry for entry in entries})
    assert set(read_statuses(store, list(again.values()))) == {2, 3}
