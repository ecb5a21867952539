"""A loop that does not turn, and reports that do not end: the service goes on."""

from __future__ import annotations

import os
import re
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
from bascule.service.server import run
from bascule.service.settings import Settings

make_app = run.make_app

def with_traps(store, settings):
    app = make_app(store, settings)

    @app.get("/block")
    async def block():
        time.sleep(5)

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

    def workers(self, count: int) -> list[int]:
        """The processes that have started to serve, when there are so many."""
        deadline = time.monotonic() + 60
        while len(found := re.findall(r'"worker started", "process": (\d+)', self.said())) < count:
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.1)
        return [int(number) for number in found]

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


def test_a_stall_is_logged_with_its_stack_and_counted_and_the_service_goes_on(
    trapped: Callable[[str, int], Trapped], tmp_path: Path
) -> None:
    service = trapped(str(tmp_path / "shop.db"), 1)
    service.ask("/block")
    assert service.get("/healthz", 30) == 200
    deadline = time.monotonic() + 10
    while '"event loop stalled"' not in service.said():
        assert time.monotonic() < deadline, service.said()
        time.sleep(0.1)
    # The log says where the loop stood.
    assert "in block" in service.said()
    counted = httpx.get(f"{service.url}/metrics", trust_env=False).text
    assert "bascule_stalls_total 1.0" in counted
    assert service.process.poll() is None


def test_a_worker_that_dies_is_replaced_and_all_end_with_the_service(
    trapped: Callable[[str, int], Trapped], new_database: Callable[[], str]
) -> None:
    service = trapped(new_database(), 2)
    workers = service.workers(2)
    os.kill(workers[0], signal.SIGKILL)
    after = service.workers(3)
    assert service.get("/healthz", 30) == 200
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(30) == 0
    assert not any(Path(f"/proc/{one}").exists() for one in after)


def test_workers_end_with_a_service_that_was_killed(
    trapped: Callable[[str, int], Trapped], new_database: Callable[[], str]
) -> None:
    service = trapped(new_database(), 2)
    workers = service.workers(2)
    service.process.kill()
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{one}").exists() for one in workers):
        assert time.monotonic() < deadline
        time.sleep(0.1)


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
