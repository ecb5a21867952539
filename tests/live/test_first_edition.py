"""A store that the first edition wrote opens, verifies, and goes on.

`data/first-edition.db.gz` was written by version 0.1.0: six tests, one for each family of rules,
with 120 units each where units arrive one by one, and an arm that was dropped by hand.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

import bascule as bs

STORED = Path(__file__).parent / "data" / "first-edition.db.gz"

MEANS = {
    "tilt-clicks": (0.1429, 0.7143),
    "tilt-three": (-0.1028, 0.0295, -0.5847),
    "ucb-mixture": (0.0503, 0.9595),
    "etc-prime": (4.8013, 4.9545),
    "recurrent": (1.2949, 1.3702),
    "static-pop": (0.5132, 0.4278),
}
"""What the first edition said of each arm."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[bs.Store]:
    path = tmp_path / "first-edition.db"
    path.write_bytes(gzip.decompress(STORED.read_bytes()))
    clock = bs.ManualClock()
    clock.advance("4d")
    clock.advance("10h")
    with bs.open(path, clock=clock) as opened:
        yield opened


def test_every_test_shows_what_the_first_edition_showed(store: bs.Store) -> None:
    shown = {}
    for test in store.experiments():
        means = [arm.mean for arm in test.status().arms]
        shown[test.name] = tuple(None if mean is None else round(mean, 4) for mean in means)
    assert shown == MEANS
    assert store.get("tilt-clicks").status().decision is not None


@pytest.mark.parametrize("name", MEANS)
def test_every_test_verifies(store: bs.Store, name: str) -> None:
    assert store.get(name).verify().differences == ()


@pytest.mark.parametrize("name", ["tilt-three", "ucb-mixture", "etc-prime"])
def test_a_running_test_goes_on_and_verifies(store: bs.Store, name: str) -> None:
    test = store.get(name)
    before = test.status().units
    for i in range(40):
        arm = test.assign(f"new-{i}")
        assert test.assign(f"new-{i}") == arm
        assert test.record(f"new-{i}", 1.0).accepted
    assert test.status().units == before + 40
    assert test.verify().differences == ()


def test_a_unit_of_the_first_edition_keeps_its_arm(store: bs.Store) -> None:
    test = store.get("tilt-three")
    known = test.assignment("u7")
    assert known is not None
    assert test.assign("u7") == test.arms[known.arm]


def test_an_arm_dropped_in_the_first_edition_stays_dropped(store: bs.Store) -> None:
    test = store.get("tilt-three")
    assert {test.assign(f"later-{i}") for i in range(12)} == {"a", "b"}
