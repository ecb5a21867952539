"""Several programs on one file, and programs that are killed in the middle of their work."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import create_engine, text

import bascule as bs

WORKER = Path(__file__).parent / "worker.py"
ENDLESS = bs.Design(["a", "b"], bs.Gaussian(100), bs.Tilt(3, batch=2), error=1e-6)


def start(location: object, first: int, last: int, step: int = 1) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), str(location), str(first), str(last), str(step)]
    source = str(Path(bs.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def answers(output: str) -> tuple[dict[int, str], set[int]]:
    """What a worker was answered: arms of units, and units whose outcome was taken."""
    arms, recorded = {}, set()
    # The last line may have been cut off.
    for line in output.splitlines(keepends=True):
        word, *rest = line.split()
        if line.endswith("\n") and word == "assigned":
            arms[int(rest[0])] = rest[1]
        elif line.endswith("\n"):
            recorded.add(int(rest[0]))
    return arms, recorded


def rows(path: Path, question: str) -> list[tuple[Any, ...]]:
    engine = create_engine(f"sqlite:///{path}")
    try:
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(question))]
    finally:
        engine.dispose()


def test_programs_that_ask_for_the_same_units_get_the_same_arms(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    with bs.open(path) as store:
        store.create("test", ENDLESS)
    workers = [start(path, 0, 80), start(path, 79, -1, -1), start(path, 40, 120)]
    heard = [answers(worker.communicate(timeout=100)[0])[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    for arms in heard:
        assert all(heard[0].get(i, arm) == arm for i, arm in arms.items())
    with bs.open(path) as store:
        test = store.get("test")
        assert test.status().units == 120
        assert test.verify().agrees
    assert rows(path, "SELECT count(DISTINCT unit), count(*) FROM assignments") == [(120, 120)]
    assert rows(path, "SELECT count(*) FROM outcomes") == [(120,)]


def test_what_was_answered_survives_a_kill(tmp_path: Path) -> None:
    path, chance = tmp_path / "killed.db", random.Random(7)
    with bs.open(path) as store:
        store.create("test", ENDLESS)
    arms: dict[int, str] = {}
    recorded: set[int] = set()
    for kill in range(4):
        worker = start(path, 100 * kill, 100 * kill + 10_000)
        assert worker.stdout is not None
        first = worker.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.3))
        os.kill(worker.pid, signal.SIGKILL)
        more_arms, more_recorded = answers(first + worker.communicate(timeout=60)[0])
        assert all(arms.get(i, arm) == arm for i, arm in more_arms.items())
        arms |= more_arms
        recorded |= more_recorded
    stored: dict[str, int] = dict(rows(path, "SELECT unit, arm FROM assignments"))
    assert {f"unit {i}": "ab".index(arm) for i, arm in arms.items()}.items() <= stored.items()
    events = Counter(row[0] for row in rows(path, "SELECT event FROM outcomes"))
    assert {f"event {i}" for i in recorded} <= set(events)
    assert set(events.values()) == {1}
    with bs.open(path) as store:
        assert store.get("test").verify().agrees


@pytest.mark.parametrize("location", ["file", "memory"])
def test_many_threads_share_transactions_and_no_unit_has_two_arms(
    tmp_path: Path, location: str
) -> None:
    place = ":memory:" if location == "memory" else tmp_path / "threads.db"
    with bs.open(place) as store:
        test = store.create("test", ENDLESS)
        heard: list[list[str]] = [[] for _ in range(16)]

        def ask(mine: list[str]) -> None:
            for i in range(20):
                mine.append(test.assign(i))
                test.record(i, 1.0, id=str(i))

        threads = [Thread(target=ask, args=(mine,)) for mine in heard]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(mine == heard[0] for mine in heard)
        assert (test.status().units, test.status().matured) == (20, 20)
        assert test.verify().agrees
