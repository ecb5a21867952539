"""What is remembered of units has a bound in bytes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import bascule as bs
from bascule.live.commit.runner import ENTRY_BYTES, Memory

DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=1e-9, reports="always")


def test_long_names_do_not_take_more_memory_than_short_ones() -> None:
    memory = Memory(most_bytes=100_000)
    for first in range(0, 5000, 100):
        memory.learn(1, {f"{i}" + "x" * 400: 0 for i in range(first, first + 100)})
    assert memory.size <= 100_000
    known = memory.of(1)
    assert 100 < len(known) < 200
    # Those that came last are remembered.
    assert "4999" + "x" * 400 in known


def test_the_bound_is_for_all_experiments_together_and_the_largest_gives_way() -> None:
    memory = Memory(most_bytes=100_000)
    memory.learn(1, {"few": 0})
    for experiment in range(2, 8):
        memory.learn(experiment, {f"{i}": 1 for i in range(400)})
    assert memory.size <= 100_000
    assert memory.of(1) == {"few": 0}


def test_a_unit_that_comes_again_is_counted_once() -> None:
    memory = Memory(most_bytes=100_000)
    for _ in range(1000):
        memory.learn(1, {"u": 0, "v": 1, "not enrolled": None})
    assert memory.of(1) == {"u": 0, "v": 1}
    assert 2 * ENTRY_BYTES < memory.size < 4 * ENTRY_BYTES
    memory.forget(1)
    assert memory.size == 0


def test_two_programs_that_forget_units_agree_on_all_arms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Memory.__init__, "__defaults__", (30 * 150,))
    chance = random.Random(1)
    path = tmp_path / "store.db"
    given: dict[str, str] = {}
    with bs.open(path) as one, bs.open(path) as two:
        one.create("test", DESIGN)
        tests = [one.get("test"), two.get("test")]
        for step in range(100):
            # Alone at first, then both.
            test = tests[0] if step < 50 else chance.choice(tests)
            units = [*{f"{chance.randrange(100 + 9 * step)}" for _ in range(chance.randrange(9))}]
            for unit, arm in zip(units, test.assign_many(units), strict=True):
                assert given.setdefault(unit, arm) == arm
            if step == 60:
                tests[0].assign("7")
                tests[0].record("7", 1.0)
                one.erase("7")
                given.pop("7", None)
        assert tests[0].verify().agrees
