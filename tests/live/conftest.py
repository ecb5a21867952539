"""A store on a clock that the test moves, and programs that work on a store beside the tests."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import bascule as bs

WORKER = Path(__file__).parent / "worker.py"
START = datetime(2026, 1, 1, tzinfo=UTC)


class Programs:
    """Starts workers, kills them, and understands what they say."""

    endless = bs.Design(
        ["a", "b"], bs.Gaussian(100), bs.Tilt(3, batch=2), error=1e-6, reports="always"
    )
    """A design that comes to no decision."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[str]] = []

    def start(self, location: object, first: int, last: int, step: int = 1, group: int = 1) -> None:
        """Start a worker on some units, so many at a time."""
        command = [sys.executable, str(WORKER), str(location)]
        command += map(str, (first, last, step, group))
        paths = [str(Path(bs.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        self.started.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        )

    def finish(self) -> list[dict[int, str]]:
        """Wait for all workers; the arms that each of them was told."""
        told = [answers(worker.communicate(timeout=100)[0])[0] for worker in self.started]
        assert {worker.returncode for worker in self.started} == {0}
        return told

    def kill(
        self, location: object, kills: int, seed: int, first: int = 0
    ) -> tuple[dict[int, str], set[int]]:
        """Start workers and kill each in the middle; all that they were told, arms and outcomes."""
        chance = random.Random(seed)
        arms: dict[int, str] = {}
        recorded: set[int] = set()
        for i in range(kills):
            begin = first + 50 * i
            self.start(location, begin, begin + 10_000)
            worker = self.started[-1]
            assert worker.stdout is not None
            line = worker.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.3))
            worker.send_signal(signal.SIGKILL)
            # Not `communicate`, which would miss what was read together with the first line.
            with worker.stdout as output:
                more_arms, more_recorded = answers(line + output.read())
            worker.wait(timeout=60)
            assert all(arms.get(unit, arm) == arm for unit, arm in more_arms.items())
            arms |= more_arms
            recorded |= more_recorded
        return arms, recorded

    def kill_together(
        self,
        location: object,
        rounds: int,
        seed: int,
        group: int = 120,
    ) -> tuple[dict[int, str], set[int]]:
        """Start two workers on units of their own at a time, and kill both; what they were told."""
        chance = random.Random(seed)
        arms: dict[int, str] = {}
        recorded: set[int] = set()
        for i in range(rounds):
            pair = [len(self.started), len(self.started) + 1]
            for k in range(2):
                begin = 1_000_000 * (2 * i + k)
                self.start(location, begin, begin + 1_000_000, 1, group)
            texts = ["", ""]
            turns = chance.randint(4, 8)
            while turns > 0:
                turns -= 1
                for k, place in enumerate(pair):
                    output = self.started[place].stdout
                    assert output is not None
                    for _ in range(2 * group):
                        texts[k] += output.readline()
            for k, place in enumerate(pair):
                worker = self.started[place]
                time.sleep(chance.uniform(0.0, 0.05))
                worker.send_signal(signal.SIGKILL)
                assert worker.stdout is not None
                with worker.stdout as output:
                    more_arms, more_recorded = answers(texts[k] + output.read())
                worker.wait(timeout=60)
                arms |= more_arms
                recorded |= more_recorded
        return arms, recorded


@pytest.fixture
def clock() -> bs.ManualClock:
    return bs.ManualClock(START)


@pytest.fixture
def store(clock: bs.ManualClock) -> Iterator[bs.Store]:
    with bs.open(":memory:", clock=clock) as opened:
        yield opened


@pytest.fixture
def programs() -> Iterator[Programs]:
    made = Programs()
    yield made
    for worker in made.started:
        if worker.poll() is None:
            worker.kill()
            worker.communicate()


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
