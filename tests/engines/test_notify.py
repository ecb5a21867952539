"""Notifications in plain words, sent by a real Apprise to a server of the test's own."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from tests.service.notifications.test_webhooks import DESIGN, Listener, decide, listener
from tests.service.running import DESIGN as PLAIN
from tests.service.running import Program, Service, path

import bascule as bs
from bascule.service.notifications.notify import (
    LONGEST_TEXT,
    LONGEST_TITLE,
    NotificationTarget,
    check_targets,
    message,
)
from bascule.service.notifications.webhooks import EventDelivery
from bascule.service.reading.store_calls import StoreCalls

pytest.importorskip("apprise")

__all__ = ["listener"]

# Some of Apprise's services use modules that Python will drop.
pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def test_a_decision_is_told_in_plain_words_and_no_password_is_stored(
    listener: Listener, tmp_path: Path
) -> None:
    listener.status = 200
    address = listener.url.replace("http://", "json://ann:secret-word@")
    service = Service(str(tmp_path / "shop.db"), notify=(address,))
    try:
        until = time.monotonic() + 30
        while b"notify:" not in _files(tmp_path) and time.monotonic() < until:
            time.sleep(0.02)
        decide(service.store.create("button", DESIGN))
        while not listener.heard and time.monotonic() < until:
            time.sleep(0.02)
        (_, body), *_ = listener.heard
        told = json.loads(body)
        assert told["title"].startswith("button: Ship b: +")
        assert "false positive rate at most 5 %" in told["message"]
    finally:
        service.close()
    assert b"secret-word" not in _files(tmp_path)


@pytest.mark.parametrize(
    "address",
    [
        "slacc://secret-word",
        "slack://secret-word",
        "secret-word",
        "slack:/secret-word",
        "json://shop.example/secret-word json://shop.example",
        "json://shop.example/, mailto://ann:secret-word@shop.example",
        "json://shop.example/a,json://shop.example/secret-word",
    ],
)
def test_an_address_that_is_wrong_is_refused_without_its_secrets(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Apprise itself logs `Could not load Slack URL: slack://secret-word`."""
    with pytest.raises(bs.InputError, match="an address that Apprise knows") as refused:
        check_targets([address])
    assert "secret-word" not in str(refused.value) + caplog.text


class Slow(threading.Thread):
    """A target that answers with a byte now and then until it is let go, and then takes all."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.heard = 0
        self.let_go = threading.Event()
        self.address = f"json://ann:secret-word@127.0.0.1:{self.socket.getsockname()[1]}/"
        self.start()

    def run(self) -> None:
        while True:
            try:
                caller, _ = self.socket.accept()
            except OSError:
                return
            with caller:
                caller.recv(100_000)
                self.heard += 1
                try:
                    caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Slow: ")
                    while not self.let_go.wait(0.2):
                        caller.sendall(b"x")
                    caller.sendall(b"\r\n\r\n")
                except OSError:
                    pass


@pytest.fixture
def slow() -> Iterator[Slow]:
    made = Slow()
    yield made
    made.let_go.set()
    made.socket.close()


MESSAGE = json.dumps({"type": "alarm", "data": {"experiment": "x", "message": "m"}}).encode()


def test_a_target_that_hangs_takes_one_process_and_gets_each_message_once(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bascule.service.notifications.notify.SECONDS", 0.5)

    async def use(store: bs.Store) -> None:
        calls, target = StoreCalls(), NotificationTarget(slow.address)

        async def attempt(entry: int) -> str | None:
            return await target.deliver(store, calls, EventDelivery("key", entry, 1, MESSAGE))

        async def until_taken(entry: int) -> None:
            async with asyncio.timeout(60):
                while problem := await attempt(entry):
                    assert problem == "not sent within 0.5 s"

        assert await attempt(1) == "not sent within 0.5 s"
        async with asyncio.timeout(60):
            while slow.heard == 0:
                await asyncio.sleep(0.01)
        for entry in (2, 3, 4):
            assert await attempt(entry) == "an earlier message is still being sent"
        assert await attempt(1) == "not sent within 0.5 s"
        assert (slow.heard, len(multiprocessing.active_children())) == (1, 1)
        slow.let_go.set()
        async with asyncio.timeout(60):
            while multiprocessing.active_children():
                await asyncio.sleep(0.01)
        # The first is not asked about before the second has been sent.
        await until_taken(2)
        await until_taken(1)
        assert slow.heard == 2
        await calls.close()

    with bs.open(":memory:") as store:
        asyncio.run(use(store))


def test_a_target_s_answer_fills_no_memory_and_leads_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An answer without end, two redirects and an error; the next message is sent."""
    monkeypatch.setattr("bascule.service.notifications.notify.SECONDS", 120.0)
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 4000000000\r\n\r\n"
    with (
        socket.create_server(("127.0.0.1", 0)) as inside,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        inside.settimeout(0.2)
        moved = f"Location: http://127.0.0.1:{inside.getsockname()[1]}/latest\r\n".encode()
        answers = [
            endless,
            *(b"HTTP/1.1 %d No\r\n%sContent-Length: 0\r\n\r\n" % (n, moved) for n in (302, 307)),
            b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        ]

        def answer() -> None:
            for one in answers:
                caller, _ = server.accept()
                with caller, suppress(OSError):
                    caller.recv(100_000)
                    caller.sendall(one)
                    for _ in range(4000 if one is endless else 0):
                        caller.sendall(bytes(1_000_000))

        threading.Thread(target=answer, daemon=True).start()
        address = f"json://ann:secret-word@127.0.0.1:{server.getsockname()[1]}/"

        async def use(store: bs.Store) -> list[str | None]:
            calls, target = StoreCalls(), NotificationTarget(address)
            problems = [
                await target.deliver(store, calls, EventDelivery("key", entry, 1, MESSAGE))
                for entry in range(len(answers))
            ]
            await calls.close()
            return problems

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with bs.open(":memory:") as store:
            assert asyncio.run(use(store)) == [*4 * ["not delivered"], None]
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
        with pytest.raises(TimeoutError):
            inside.accept()


@pytest.mark.parametrize("most", [2**30 - 2**20, resource.RLIM_INFINITY])
def test_a_message_is_sent_also_where_memory_is_limited_already(most: int) -> None:
    """A limit above that of the system is an error of the system, and no message was ever sent."""
    lines = (
        "import resource, signal",
        "from bascule.service.notifications.apprise_process import LONGEST, limit_process",
        f"resource.setrlimit(resource.RLIMIT_AS, ({most}, {most}))",
        "limit_process()",
        "print(resource.getrlimit(resource.RLIMIT_AS)[0], signal.alarm(0) > LONGEST - 60)",
    )
    command = [sys.executable, "-c", "\n".join(lines)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    limit = 2**30 if most == resource.RLIM_INFINITY else most
    assert (ran.stdout.split(), ran.stderr) == ([str(limit), "True"], "")


def test_a_service_ends_while_a_target_hangs_and_says_no_secret(slow: Slow, tmp_path: Path) -> None:
    program = Program(tmp_path / "shop.db", "--notify", slow.address)
    try:
        with httpx.Client(base_url=program.url, trust_env=False) as caller:
            caller.post("/v1/experiments", json={"name": "button", "design": PLAIN})
            until = time.monotonic() + 60
            while b"notify:" not in _files(tmp_path) and time.monotonic() < until:
                time.sleep(0.02)
            for unit in map(str, range(120)):
                arm = caller.post(path("button", "assign"), json={"unit": unit}).json()["arm"]
                outcome = {"unit": unit, "value": float(arm == "green")}
                caller.post(path("button", "outcomes"), json={"outcomes": [outcome]})
        while not slow.heard and time.monotonic() < until:
            time.sleep(0.02)
        assert slow.heard == 1
        since = time.monotonic()
        log = program.stop()
        assert (program.process.returncode, time.monotonic() - since < 10) == (0, True)
        assert "secret-word" not in log
    finally:
        program.close()
    assert b"secret-word" not in _files(tmp_path)


def test_a_message_is_one_title_and_a_text_of_limited_length() -> None:
    """A line break in a title would begin another header of a mail."""
    with bs.open(":memory:") as store:
        data = {"experiment": "x\r\nBcc: eve@evil.example", "message": "m\0\x1b[2J" + 20_000 * "y"}
        title, text = message(store, {"type": "alarm", "data": data})
        assert title == "x Bcc: eve@evil.example: alarm"
        assert text.startswith("m  [2Jyyy")
        assert text.endswith("(10,006 characters more on the test's page)")
        for arm in ("b\r\nBcc: eve@evil.example", "b\0", "b\ud800", "b\u2028", 201 * "b"):
            design = bs.Design(["a", arm], bs.Bernoulli(), bs.Tilt(3), reports="always")
            with pytest.raises(bs.InputError, match="one line of at most 200") as refused:
                store.create("x", design)
            assert refused.value.field == "arms"
        arms = [f"{i:02}" + 198 * "z" for i in range(50)]
        test = store.create("x", bs.Design(arms, bs.Bernoulli(), bs.Tilt(3), reports="always"))
        test.assign_many(range(100))
        test.record_many((str(i), 1.0) for i in range(100))
        test.stop()
        title, text = message(store, {"type": "end", "data": {"experiment": "x"}})
        assert len(title) < LONGEST_TITLE + 60
        assert len(text) < LONGEST_TEXT + 60


def test_a_target_that_fails_is_described_without_its_address(tmp_path: Path) -> None:
    address = "json://ann:secret-word@127.0.0.1:1/token-word"

    async def use(store: bs.Store) -> str | None:
        calls = StoreCalls()
        problem = await NotificationTarget(address).deliver(
            store, calls, EventDelivery("key", 1, 1, MESSAGE)
        )
        await calls.close()
        return problem

    with bs.open(tmp_path / "shop.db") as store:
        assert asyncio.run(use(store)) == "not delivered"


def _files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())
