"""Simulations on the workers of an executor give what they give in this process."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.simulation.engines.backends import cluster
from bascule.simulation.engines.backends.cluster import Task, chunk_answers

pytestmark = pytest.mark.slow

DESIGN = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05, max_units=2000, sides=1)
MEANS = [0.0, 0.5]
RUNS = 600


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        yield executor


def same_runs(one: bs.simulation.Simulation, other: bs.simulation.Simulation) -> bool:
    columns = ("winner", "decision_time", "regret", "units")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)


@pytest.mark.parametrize("world", [None, "rising"])
def test_other_processes_play_the_same_runs_to_the_last_bit(
    processes: Executor, world: str | None
) -> None:
    here = bs.simulate(DESIGN, MEANS, RUNS, seed=5, world=world)
    there = bs.simulate(DESIGN, MEANS, RUNS, seed=5, world=world, executor=processes)
    assert same_runs(here, there)
    assert there.steps == here.steps


@pytest.mark.parametrize(
    "design",
    [
        bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.UCB(2), error=0.05, max_units=400, sides=1),
        bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.research.Static(60), error=0.05, sides=1),
    ],
    ids=["recurrent", "static"],
)
def test_runs_of_recurring_outcomes_do_not_depend_on_where_they_are_played(
    design: bs.Design,
) -> None:
    here = bs.simulate(design, MEANS, 40, seed=1)
    with ThreadPoolExecutor(2) as threads:
        assert same_runs(here, bs.simulate(design, MEANS, 40, seed=1, executor=threads))


def test_what_simulates_on_its_own_uses_the_executor_of_the_context() -> None:
    asked: list[Any] = []

    class Counting(ThreadPoolExecutor):
        def submit(self, *call: Any, **options: Any) -> Any:
            asked.append(call)
            return super().submit(*call, **options)

    with Counting(1) as executor, bs.simulation.use_executor(executor):
        audit = bs.research.audit(DESIGN, MEANS, runs=20, worlds=["steady"])
    assert asked
    assert audit.rows == bs.research.audit(DESIGN, MEANS, runs=20, worlds=["steady"]).rows


def test_few_chunks_are_handed_out_at_a_time_and_the_rest_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "MOST_IN_FLIGHT", 3)
    task = Task(DESIGN, bs.worlds.World(MEANS), 0)
    played: list[int] = []

    monkeypatch.setattr(Task, "play", lambda _, first, __: played.append(first))
    with ThreadPoolExecutor(1) as executor:
        answers = chunk_answers(executor, task, 10_000)
        next(answers)
        answers.close()
    assert len(played) <= 3


def test_something_else_than_an_executor_is_refused() -> None:
    with pytest.raises(bs.InputError, match=r"executor must be one of concurrent\.futures"):
        bs.simulate(DESIGN, MEANS, 10, executor="tcp://127.0.0.1:8786")  # type: ignore[arg-type]
