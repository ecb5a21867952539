"""A loop that does not turn, and reports that do not end: the service goes on, or ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

import bascule as bs

pytestmark = pytest.mark.slow

PROGRAM = """
import sys, time
from starlette.concurrency import run_in_threadpool
from bascule.service.server import background, run
from bascule.service.settings import Settings

background.STALLED = 2.0
make_app = run.make_app

def with_traps(store, settings):
    app = make_app(store, settings)

    @app.get("/block")
    async def block():
        time.sleep(600)

    @app.get("/report")
    async def report():
        await app.state.calls.long(time.sleep, 600)

    return app

run.make_app = with_traps

if __name__ == "__main__":
    ready = lambda store, url: print(url, flush=True)
    run.serve(sys.argv[1], Settings(port=0), int(sys.argv[2]), ready=ready)
"""


class Trapped:
    """A service with a path that blocks its loop, and one whose report takes ten minutes."""

    def __init__(self, folder: Path, location: str, workers: int) -> None:
        program = folder / "program.py"
        program.write_text(PROGRAM)
        paths = [str(Path(bs.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, str(program), location, str(workers)],
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.get("/healthz", 60) == 200

    def get(self, path: str, seconds: float = 5.0) -> int | None:
        """The status of an answer; None if there is none in time."""
        try:
            return httpx.get(self.url + path, trust_env=False, timeout=seconds).status_code
        except httpx.TransportError:
            return None

    def ask(self, path: str) -> None:
        """Ask for something and do not wait for it."""
        threading.Thread(target=self.get, args=(path, 30.0), daemon=True).start()
        time.sleep(0.5)

    def said(self) -> str:
        """What is in its log."""
        self.log.seek(0)
        return self.log.read()

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        self.log.close()


@pytest.fixture
def trapped(tmp_path: Path) -> Iterator[Callable[[str, int], Trapped]]:
    made: list[Trapped] = []

    def start(location: str, workers: int) -> Trapped:
        made.append(Trapped(tmp_path, location, workers))
        return made[-1]

    yield start
    for one in made:
        one.close()


def test_a_worker_whose_loop_does_not_turn_is_replaced(
    trapped: Callable[[str, int], Trapped], new_database: Callable[[], str]
) -> None:
    service = trapped(new_database(), 2)
    service.ask("/block")
    deadline = time.monotonic() + 40
    while service.said().count('"worker started"') < 3:
        assert time.monotonic() < deadline, service.said()
        time.sleep(0.2)
    # The log says where the loop stood.
    assert "in block" in service.said()
    assert service.get("/healthz", 30) == 200
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(20) == 0


def test_one_process_whose_loop_does_not_turn_ends_so_that_it_can_be_started_again(
    trapped: Callable[[str, int], Trapped], tmp_path: Path
) -> None:
    service = trapped(str(tmp_path / "shop.db"), 1)
    service.ask("/block")
    assert service.process.wait(20) == 1
    assert "in block" in service.said()


def test_a_stop_does_not_wait_for_a_long_report(
    trapped: Callable[[str, int], Trapped], tmp_path: Path
) -> None:
    service = trapped(str(tmp_path / "shop.db"), 1)
    service.ask("/report")
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(10) == 0
    assert '"report abandoned"' in service.said()
    assert "Traceback" not in service.said()
    assert not (tmp_path / "shop.db-wal").exists()
