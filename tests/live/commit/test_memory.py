"""What is remembered of units has a bound in bytes, whatever their names are."""

from __future__ import annotations

from bascule.live.commit.memory import ENTRY_BYTES, Memory


def test_long_names_do_not_take_more_memory_than_short_ones() -> None:
    memory = Memory(most_units=1000, most_bytes=100_000)
    for first in range(0, 5000, 100):
        memory.learn(1, {f"{i}" + "x" * 400: 0 for i in range(first, first + 100)})
    assert memory.size <= 100_000
    known = memory.of(1)
    assert 100 < len(known) < 200
    # Those that came last are remembered.
    assert "4999" + "x" * 400 in known


def test_the_bound_is_for_all_experiments_together_and_the_largest_gives_way() -> None:
    memory = Memory(most_units=1000, most_bytes=100_000)
    memory.learn(1, {"few": 0})
    for experiment in range(2, 8):
        memory.learn(experiment, {f"{i}": 1 for i in range(400)})
    assert memory.size <= 100_000
    assert memory.of(1) == {"few": 0}


def test_a_unit_that_comes_again_is_counted_once() -> None:
    memory = Memory(most_units=1000, most_bytes=100_000)
    for _ in range(1000):
        memory.learn(1, {"u": 0, "v": 1, "not enrolled": None})
    assert memory.of(1) == {"u": 0, "v": 1}
    assert 2 * ENTRY_BYTES < memory.size < 4 * ENTRY_BYTES
    memory.forget(1)
    assert memory.size == 0
