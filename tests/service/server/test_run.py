"""`bascule serve` as a program: where it listens, how it stops, and what a kill leaves behind."""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.running import Program

import bascule as bs
from bascule.cli.main import main
from bascule.service.auth.keys import create_key
from bascule.service.server.run import check
from bascule.service.server.tuning import FREEZES, freezing_callback
from bascule.service.settings import Settings

DESIGN = bs.Design(["a", "b"], bs.Gaussian(100), bs.Tilt(3, batch=2), error=1e-6, reports="always")
SECONDS = float(os.environ.get("BASCULE_KILL_SECONDS", "1"))
"""How long the service is under load, before and after a worker is killed."""


def test_a_program_withstands_what_is_too_large_and_stops_with_a_complete_file(
    tmp_path: Path, programs: list[Program]
) -> None:
    path = tmp_path / "shop.db"
    with bs.open(path) as store:
        store.create("test", DESIGN)
        key = create_key(store, "client")
    program = Program(path)
    programs.append(program)
    # Others may read what it prints.
    assert "token=" not in program.greeting
    assert "bascule key link" in program.greeting
    headers = {"Content-Type": "application/json", "X-API-Key": key}
    with httpx.Client(base_url=program.url, headers=headers, trust_env=False) as client:
        too_large_requests_do_not_fill_memory(program, client)
        for i in range(100):
            client.post("/v1/experiments/test/assign", json={"unit": str(i)}).raise_for_status()
        a_full_disk_is_not_ready(program, client)
    a_stop_answers_what_was_accepted(program, key)
    log = program.wait()
    assert all(json.loads(line)["event"] for line in log.splitlines())
    assert program.process.returncode == 0
    assert not path.with_name("shop.db-wal").exists()
    # A backup that copies the one file has all that was answered.
    copied = tmp_path / "copy.db"
    copied.write_bytes(path.read_bytes())
    with bs.open(copied) as store:
        assert store.get("test").status().units == 101
        assert store.get("test").assignment("late") is not None


def too_large_requests_do_not_fill_memory(program: Program, client: httpx.Client) -> None:
    place = httpx.URL(program.url)

    def attack(times: int) -> int:
        for _ in range(times):
            for body, status in ((b"[" * 900_000, 400), (b"x" * 1_100_000, 413)):
                refused = client.post("/v1/experiments/test/assign", content=body)
                assert refused.status_code == status
            with (
                socket.create_connection((place.host, place.port or 80), timeout=10) as caller,
                pytest.raises((ConnectionResetError, BrokenPipeError)),
            ):
                caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: " + 30_000_000 * b"a")
        return program.peak()

    before = attack(5)
    # Another 800 MB are offered; ten bodies would be 10 MB.
    assert attack(25) - before < 10_000


def a_full_disk_is_not_ready(program: Program, client: httpx.Client) -> None:
    assert client.get("/readyz").status_code == 200
    # No file of the service can grow any more.
    resource.prlimit(program.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    deadline = time.monotonic() + 10
    while client.get("/readyz").status_code == 200:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    refused = client.get("/readyz")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert client.get("/healthz").status_code == 200
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(program.process.pid, resource.RLIMIT_FSIZE, unlimited)
    assert client.get("/readyz").status_code == 200


def a_stop_answers_what_was_accepted(program: Program, key: str) -> None:
    host, _, port = program.url.removeprefix("http://").partition(":")
    body = b'{"unit": "late"}'
    head = (
        f"POST /v1/experiments/test/assign HTTP/1.1\r\nHost: {host}\r\nX-API-Key: {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        "Expect: 100-continue\r\n\r\n"
    ).encode()
    with socket.create_connection((host, int(port)), timeout=60) as caller:
        caller.sendall(head)
        # The service waits for the body now.
        assert caller.recv(4000).startswith(b"HTTP/1.1 100")
        caller.sendall(body[:5])
        program.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        caller.sendall(body[5:])
        answer = caller.recv(4000)
    assert answer.startswith(b"HTTP/1.1 200"), answer


def test_a_stop_before_the_first_request_is_a_normal_end(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from bascule.cli.main import main; main()", "serve"]
    paths = [str(Path(bs.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    with subprocess.Popen(
        [*command, "--store", str(tmp_path / "x.db"), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=40)
    assert process.returncode == 0


def test_what_would_not_be_safe_is_refused() -> None:
    with bs.open(":memory:") as store:
        with pytest.raises(bs.InputError, match="bascule key create"):
            check(store, Settings(host="0.0.0.0"), 1)
        with pytest.raises(bs.InputError, match="PostgreSQL"):
            check(store, Settings(), 2)
        create_key(store, "viewer")
        check(store, Settings(host="0.0.0.0"), 1)


def test_a_port_that_is_taken_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with pytest.raises(SystemExit) as ended:
            main(["serve", "--store", str(tmp_path / "x.db"), "--port", port])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert re.fullmatch(r"bascule: cannot listen on .*: address already in use; end .*\n", said)


class Load:
    """Callers that assign and record without a break, and remember what they were answered."""

    def __init__(self, url: str, key: str, callers: int = 8) -> None:
        self.arms: list[tuple[str, str]] = []
        self.recorded: list[str] = []
        self.failures: set[str] = set()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._call, args=(url, key, number))
            for number in range(callers)
        ]
        for thread in self._threads:
            thread.start()

    def go_on(self, answers: int) -> int:
        """Wait for some more answers, and for some time; the assignments so far."""
        enough, deadline = len(self.arms) + answers, time.monotonic() + 60
        time.sleep(SECONDS)
        while len(self.arms) < enough and time.monotonic() < deadline:
            time.sleep(0.05)
        return len(self.arms)

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _call(self, url: str, key: str, number: int) -> None:
        headers = {"X-API-Key": key}
        base = f"{url}/v1/experiments/test"
        client: Any = None
        count = 0
        while not self._over.is_set():
            client = client or httpx.Client(headers=headers, trust_env=False, verify=False)
            # Every unit is asked for by two callers, who must hear the same.
            unit = f"unit {number // 2} {count}"
            event: dict[str, Any] = {"unit": unit, "value": 1.0, "id": f"{unit} {number}"}
            try:
                answer = client.post(f"{base}/assign", json={"unit": unit})
                if answer.status_code == 200:
                    self.arms.append((unit, answer.json()["arm"]))
                told = client.post(f"{base}/outcomes", json={"outcomes": [event]})
                if told.status_code == 200 and told.json()["outcomes"][0]["accepted"]:
                    self.recorded.append(event["id"])
                # The unit's other caller may have recorded first; then this outcome is refused.
                refused = told.status_code == 422 and "second outcome" in told.json()["detail"]
                self.failures |= {
                    str(one.status_code)
                    for one in (answer, told)
                    if one.status_code != 200 and not (one is told and refused)
                }
                count += 1
            except httpx.TransportError:
                # The worker that was killed: come again, as a client does.
                client.close()
                client = None
        if client is not None:
            client.close()


@pytest.mark.slow
def test_a_worker_that_dies_while_it_is_asked_delays_no_stop(
    new_database: Callable[[], str], programs: list[Program]
) -> None:
    program = Program(new_database(), "--workers", "2")
    programs.append(program)
    victim = program.workers()[0]
    os.kill(victim, signal.SIGSTOP)
    time.sleep(2)  # The supervisor asks every half second, and waits for an answer meanwhile.
    os.kill(victim, signal.SIGKILL)
    started = time.monotonic()
    program.stop()
    assert time.monotonic() - started < 30


@pytest.mark.slow
def test_a_killed_worker_loses_nothing_and_the_others_go_on(
    new_database: Callable[[], str], programs: list[Program]
) -> None:
    location = new_database()
    with bs.open(location) as store:
        test = store.create("test", DESIGN)
        key, watching = create_key(store, "client"), create_key(store, "viewer")
    program = Program(location, "--workers", "2")
    programs.append(program)
    load = Load(program.url, key)
    before = load.go_on(40)
    victim = program.workers()[0]
    os.kill(victim, signal.SIGKILL)
    assert load.go_on(40) >= before + 40
    load.stop()
    assert not load.failures
    again = program.workers()
    assert victim not in again
    told = httpx.get(f"{program.url}/metrics", headers={"X-API-Key": watching}, trust_env=False)
    counted = re.search(r'bascule_outcomes_total{result="accepted"} (\S+)', told.text)
    # The counts of all workers together, those of the one that was killed included.
    assert counted
    assert float(counted[1]) >= len(load.recorded)
    program.stop()
    assert program.process.returncode == 0
    with bs.open(location) as store:
        test = store.get("test")
        heard = dict(load.arms)
        assert set(load.arms) == set(heard.items()), "a unit has two arms"
        stored = {row[0]: row[1] for row in _rows(test, "assignments")}
        assert heard.items() <= stored.items()
        assert test.status().units == len(stored)
        assert test.verify().agrees
        assert set(load.recorded) <= {row[5] for row in _rows(test, "outcomes")}


def _rows(test: bs.Experiment, table: str) -> list[tuple[Any, ...]]:
    from bascule.live.api.exports import some_rows

    rows: list[tuple[Any, ...]] = []
    after: tuple[int, ...] | None = None
    while True:
        some, after = some_rows(test, table, after)
        rows += some
        if after is None:
            return rows


def test_the_first_full_collections_exempt_what_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    freezes: list[int] = []
    monkeypatch.setattr(gc, "freeze", lambda: freezes.append(1))
    collected = freezing_callback()
    collected("start", {"generation": 2})
    collected("stop", {"generation": 1})
    assert not freezes
    for _ in range(FREEZES + 2):
        collected("stop", {"generation": 2})
    # Not for ever: a cycle that is in use when it is exempted is never freed.
    assert len(freezes) == FREEZES


@pytest.mark.slow
def test_a_log_that_nobody_reads_does_not_stop_the_service(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with bs.open(path) as store:
        create_key(store, "client")
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as log, os.fdopen(writes, "wb") as given:
        program = Program(path, stderr=given)
        given.close()
        try:
            with httpx.Client(base_url=program.url, trust_env=False) as client:
                # Each is a line of the log, and a pipe holds 64 kB.
                for _ in range(1000):
                    refused = client.get("/v1/experiments", headers={"X-API-Key": "bsc_0_wrong"})
                    assert refused.status_code in (401, 429)
                assert client.get("/healthz").status_code == 200
            program.process.send_signal(signal.SIGINT)
            program.process.communicate(timeout=20)
            assert program.process.returncode == 0
            assert len(log.read()) >= 60_000
        finally:
            program.close()
