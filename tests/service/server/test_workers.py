"""Workers: replaced when they die, and ended with whoever started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bascule as bs

pytestmark = pytest.mark.slow

PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from bascule.service.server.workers import end_with_parent, keep_working

def work(folder, kind):
    if kind == "orphan":
        end_with_parent()
    if kind == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (Path(folder) / str(os.getpid())).write_text("")
    if kind != "weak":
        time.sleep(600)

if __name__ == "__main__":
    # Half a second, with the grace.
    keep_working(work, tuple(sys.argv[1:3]), int(sys.argv[3]), leaving=-4.5)
"""

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "started").mkdir()
    paths = [str(Path(bs.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    running: list[subprocess.Popen[bytes]] = []

    def start_one(kind: str, count: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(program), str(tmp_path / "started"), kind, str(count)]
        running.append(subprocess.Popen(command, env=environment, start_new_session=True))
        return running[-1]

    yield start_one
    for process in running:
        for child in started(tmp_path):
            if is_working(child):
                os.kill(child, signal.SIGKILL)
        process.kill()
        process.wait()


def started(folder: Path) -> list[int]:
    """Who has started to work, in the order of their starts."""
    files = sorted((folder / "started").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    return [int(path.name) for path in files]


def is_working(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_worker_that_hung_when_it_was_killed_is_replaced(start: Start, tmp_path: Path) -> None:
    program = start("steady", 2)
    until(lambda: len(started(tmp_path)) == 2)
    victim, other = started(tmp_path)
    os.kill(victim, signal.SIGSTOP)
    time.sleep(0.5)
    os.kill(victim, signal.SIGKILL)
    until(lambda: len(started(tmp_path)) == 3)
    assert is_working(other)
    program.send_signal(signal.SIGTERM)
    assert program.wait(30) == 0
    assert not any(map(is_working, started(tmp_path)))


def test_workers_that_die_at_once_are_started_ever_more_seldom(
    start: Start, tmp_path: Path
) -> None:
    program = start("weak", 1)
    until(lambda: len(started(tmp_path)) == 4)
    times = [(tmp_path / "started" / str(one)).stat().st_mtime for one in started(tmp_path)]
    # The second comes at once, the third after a second, the fourth after two.
    assert times[2] - times[1] > 1
    assert times[3] - times[2] > 2
    program.send_signal(signal.SIGTERM)
    assert program.wait(30) == 0


def test_a_worker_that_does_not_leave_is_killed(start: Start, tmp_path: Path) -> None:
    program = start("deaf", 1)
    until(lambda: len(started(tmp_path)) == 1)
    program.send_signal(signal.SIGTERM)
    assert program.wait(30) == 0
    assert not any(map(is_working, started(tmp_path)))


def test_workers_end_with_a_program_that_was_killed(start: Start, tmp_path: Path) -> None:
    program = start("orphan", 2)
    until(lambda: len(started(tmp_path)) == 2)
    assert all(map(is_working, started(tmp_path)))
    program.kill()
    until(lambda: not any(map(is_working, started(tmp_path))))
