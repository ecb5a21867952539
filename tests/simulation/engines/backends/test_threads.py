"""The compiled loop against the rules run step by step, and against itself cut up differently."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bascule as bs
from bascule.core.evidence.radius import radius
from bascule.core.procedures.intervals.state import ROWS
from bascule.core.progress import interval_procedure
from bascule.simulation.engines.backends import threads as engine
from bascule.simulation.kernels import compiled
from bascule.simulation.kernels import intervals as interval_runs
from bascule.simulation.kernels.compiled import STOP, Chunk, RunColumns, new_control
from bascule.simulation.kernels.intervals import build
from bascule.simulation.random import NORMAL

pytestmark = pytest.mark.slow

RULES = (
    *(bs.UCB(1.5), bs.UCB(2), bs.UCB(math.inf), bs.ETC(), bs.ETCPrime()),
    *(bs.UCB(2, radius="mixture"), bs.UCB(2, stop="mixture"), bs.ETC(stop="mixture")),
)


def design(rule: Any, arms: int = 2, **more: Any) -> bs.Design:
    given = {"sides": None if "delta" in more else 1, **more}
    return bs.Design([f"arm {i}" for i in range(arms)], bs.Gaussian(1), rule, **given)


def same(one: bs.simulation.Simulation, two: bs.simulation.Simulation) -> bool:
    return (
        np.array_equal(one.winner, two.winner)
        and np.array_equal(one.decision_time, two.decision_time)
        and np.array_equal(one.units, two.units)
        and one.steps == two.steps
    )


BEYOND_FEW_ARMS = (
    *(bs.UCB(1.5), bs.ETC(), bs.UCB(2, radius="mixture", stop="mixture")),
    bs.UCB(math.inf, stop="mixture"),
)


@pytest.mark.parametrize(
    ("rule", "means"),
    [(rule, means) for rule in RULES for means in ((0.0, 1.0), (0.0, 1.0, 0.3, 0.1))]
    + [(rule, (0.0,) * 6 + (1.5,) + (0.5,) * 4) for rule in BEYOND_FEW_ARMS],
)
def test_compiled_runs_are_the_rules_step_by_step(rule: Any, means: tuple[float, ...]) -> None:
    test = design(rule, len(means), max_units=900)
    result = bs.simulate(test, means, runs=40, seed=5)
    for run in (0, 39):
        *_, last = bs.trace(test, means, seed=5, run=run)
        assert result.units[run].tolist() == [arm.units for arm in last.statistics.arms]
        assert result.winner[run] == (-1 if last.decision is None else last.decision.arm)
        assert result.decision_time[run] == last.statistics.units


@settings(max_examples=25)
@given(
    runs=st.integers(1, 400),
    seed=st.integers(0, 2**64 - 1),
    threads=st.integers(1, 5),
    rule=st.sampled_from(RULES),
    cap=st.one_of(st.none(), st.integers(6, 400)),
)
def test_threads_do_not_matter(
    runs: int, seed: int, threads: int, rule: Any, cap: int | None
) -> None:
    test = design(rule, max_units=cap)
    means = [0.0, 2.0]
    alone = bs.simulate(test, means, runs, seed, threads=1)
    assert same(alone, bs.simulate(test, means, runs, seed, threads=threads))


def test_a_longer_simulation_begins_with_the_shorter_one() -> None:
    test = design(bs.UCB(2))
    short, long = (bs.simulate(test, [0, 1], runs, seed=3) for runs in (70, 700))
    assert np.array_equal(short.units, long.units[:70])


@settings(max_examples=20)
@given(lanes=st.integers(1, 40), chunk=st.integers(1, 200), seed=st.integers(0, 99))
def test_lanes_and_chunks_do_not_matter(lanes: int, chunk: int, seed: int) -> None:
    def chunks(runs: int, threads: int) -> Iterator[tuple[int, int]]:
        return ((k, min(chunk, runs - k)) for k in range(0, runs, chunk))

    test = design(bs.UCB(2), 3)
    before = bs.simulate(test, [0, 1, 0.5], runs=150, seed=seed)
    with (
        mock.patch.object(interval_runs, "_lanes", return_value=lanes),
        mock.patch.object(engine, "_chunks", chunks),
    ):
        assert same(before, bs.simulate(test, [0, 1, 0.5], runs=150, seed=seed))


@pytest.mark.parametrize("size", [1, 200, 400])
def test_arms_that_outgrow_the_table_go_on_as_before(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = design(bs.UCB(2))
    before = bs.simulate(test, [0, 1], runs=100, seed=8)
    assert before.units.max() > 500
    monkeypatch.setattr(interval_runs, "SMALLEST_TABLE", size)
    monkeypatch.setattr(interval_runs, "LARGEST_TABLE", size)
    after = bs.simulate(test, [0, 1], runs=100, seed=8)
    # The table holds what the same function gives, but compiled sums may differ in the last bit.
    assert np.mean(before.decision_time == after.decision_time) > 0.99


def test_runs_that_meet_the_cap_are_undecided() -> None:
    capped = bs.simulate(design(bs.UCB(2), max_units=250), [0, 1], runs=500, seed=1)
    free = bs.simulate(design(bs.UCB(2)), [0, 1], runs=500, seed=1)
    late = free.decision_time > 250
    assert 0 < late.sum() < 500
    assert capped.undecided == late.sum()
    assert np.array_equal(capped.winner == -1, late)
    assert np.all(capped.decision_time[late] == 250)
    assert np.array_equal(capped.decision_time[~late], free.decision_time[~late])
    assert np.all(capped.units.sum(axis=1) == capped.decision_time)


def test_a_decision_at_the_cap_counts() -> None:
    free = bs.simulate(design(bs.UCB(2)), [0, 1], runs=50, seed=1)
    at = int(free.decision_time[10])
    capped = bs.simulate(design(bs.UCB(2), max_units=at), [0, 1], runs=50, seed=1)
    assert capped.winner[10] == 1


@pytest.mark.parametrize("rule", RULES)
def test_the_smallest_cap_gives_every_arm_its_first_units(rule: Any) -> None:
    result = bs.simulate(design(rule, max_units=6), [0, 9], runs=30, seed=1)
    assert result.units.tolist() == [[3, 3]] * 30


def test_a_thousand_arms() -> None:
    means = [0.0] * 999 + [4.0]
    for rule in (bs.UCB(2), bs.ETC()):
        result = bs.simulate(design(rule, 1000), means, runs=4, seed=1)
        assert result.error_rate == 0
        assert result.units.min() >= 3


def test_an_interruption_stops_the_loops_and_gives_no_result() -> None:
    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    test = design(bs.UCB(1.001), max_units=10**9)
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        # Weeks of work if nobody stopped it.
        bs.simulate(test, [0, 0], runs=1000, seed=1, progress=interrupt)
    assert time.perf_counter() - started < 60
    assert threading.active_count() < 5


def test_progress_counts_up_to_all_runs() -> None:
    seen: list[int] = []
    bs.simulate(design(bs.UCB(2)), [0, 1], runs=500, seed=1, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 500


def test_the_loop_runs_uncompiled_too() -> None:
    test = design(bs.UCB(2), error=0.2)
    result = bs.simulate(test, [0, 2], runs=3, seed=2)
    procedure, radii = interval_procedure(test), np.empty(4096)
    means = np.array([0.0, 2.0])
    settings = interval_runs.interval_settings(test, procedure, 10**6, means, radii)
    interval_runs.tabulate_radii(radius, settings)
    play = build(procedure.steps, 2, False, NORMAL, radius, "")
    times, winners, counts = (np.zeros(size, np.int64) for size in (3, 3, 6))
    columns = RunColumns(times, winners, counts, new_control())
    with np.errstate(over="ignore"):
        play(
            np.empty((2, ROWS, 2)), np.empty(8, np.uint64), np.empty(2, np.int64),
            np.empty(2, np.int64), np.empty(64), 2, Chunk(np.uint64(2), 0, 3), settings, columns,
        )  # fmt: skip
    assert np.array_equal(columns.times, result.decision_time)
    assert np.array_equal(columns.winners, result.winner)
    assert np.array_equal(columns.counts.reshape(3, 2), result.units)
    assert columns.control[STOP] == 0


@given(st.integers(1, 5000), st.integers(1, 16))
def test_every_thread_gets_its_part_of_few_runs(runs: int, threads: int) -> None:
    threads = min(threads, runs)
    chunks = list(engine._chunks(runs, threads))
    assert [first for first, _ in chunks] == [
        sum(c for _, c in chunks[:i]) for i in range(len(chunks))
    ]
    assert sum(count for _, count in chunks) == runs
    assert max(count for _, count in chunks) <= max(-(-runs // threads), 1)


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.Tilt(3)])
def test_a_loop_for_one_number_of_arms_plays_the_same_runs(
    rule: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    test, means = design(rule, 3), [0, 1, 0.5]
    general = bs.simulate(test, means, runs=200, seed=2)
    monkeypatch.setattr(compiled, "MANY_RUNS", 1)
    assert same(general, bs.simulate(test, means, runs=200, seed=2))
