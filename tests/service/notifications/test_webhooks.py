"""Webhooks: each decision and each alarm is told, signed, once, and again until it is heard."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.running import Service

import bascule as bs
from bascule.live.storage.statements import fetch
from bascule.service.notifications.notify import message
from bascule.service.notifications.webhooks import (
    WAITS,
    EventDelivery,
    Webhook,
    attempt,
    claim,
    register,
    send,
    settle,
    signed,
)
from bascule.service.outgoing import Outgoing
from bascule.service.reading.store_calls import StoreCalls

SECRET = "of the shop"
DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")


class Listener(HTTPServer):
    """Hears webhooks; answers with the status that it is told to."""

    status = 204

    def __init__(self) -> None:
        self.heard: list[tuple[dict[str, str], bytes]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                listener = self.server
                assert isinstance(listener, Listener)
                body = self.rfile.read(int(self.headers["content-length"]))
                listener.heard.append((dict(self.headers.items()), body))
                self.send_response(listener.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/hook"


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def decide(test: bs.Experiment) -> None:
    for i in range(300):
        test.record(i, float(test.assign(i) == "b"))
        if test.state == "decided":
            return


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait, two minutes at most, which only a very busy machine needs."""
    until = time.monotonic() + 120.0
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def subscribed(store: bs.Store) -> int:
    with store.reading() as connection:
        return len(fetch(connection, "SELECT url FROM service_webhooks"))


def tell(store: bs.Store, listener: Listener, now: float) -> list[str]:
    async def round_() -> list[str]:
        async with httpx.AsyncClient(trust_env=False) as client:
            return [
                settle(store, sent, await send(client, listener.url, sent, SECRET, now), now)
                for sent in claim(store, listener.url, now)
            ]

    return asyncio.run(round_())


def test_a_decision_is_told_once_and_signed(listener: Listener) -> None:
    with bs.open(":memory:") as store:
        decide(store.create("before", DESIGN))
        register(store, listener.url)
        register(store, listener.url)
        assert tell(store, listener, 0.0) == []
        decide(store.create("button", DESIGN))
        assert tell(store, listener, 1.0) == ["done"]
        assert tell(store, listener, 1e9) == []
    ((headers, body),) = listener.heard
    told: dict[str, Any] = json.loads(body)
    assert (told["type"], told["data"]["experiment"]) == ("decision", "button")
    assert (told["data"]["name"], told["data"]["guarantee"]) == ("b", "proven")
    assert signed(headers["webhook-id"], body, SECRET, 1).items() <= headers.items()


def test_what_is_not_heard_is_told_again_and_at_last_given_up(
    listener: Listener, tmp_path: Path
) -> None:
    listener.status = 500
    path = tmp_path / "shop.db"
    with bs.open(path) as store:
        register(store, listener.url)
        decide(store.create("button", DESIGN))
        assert tell(store, listener, 0.0) == ["waiting"]
        assert tell(store, listener, WAITS[0] - 1) == []
    now = 0.0
    with bs.open(path) as store:
        # Nothing is lost when the service ends in between.
        for wait in WAITS[:-1]:
            now += wait
            assert tell(store, listener, now) == ["waiting"]
        assert tell(store, listener, now + WAITS[-1]) == ["failed"]
        assert tell(store, listener, 1e9) == []
    ids = {headers["webhook-id"] for headers, _ in listener.heard}
    assert (len(listener.heard), len(ids)) == (len(WAITS) + 1, 1)


def test_a_url_that_hangs_delays_no_other(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "bascule")
    monkeypatch.setattr("bascule.service.server.background.SEND_EVERY", 0.05)
    # Who waits for the URL that hangs waits for an hour.
    monkeypatch.setattr("bascule.service.notifications.webhooks.SECONDS", 3600.0)
    with socket.socket() as hanging:
        hanging.bind(("127.0.0.1", 0))
        hanging.listen()
        hangs = f"http://user:PASS@127.0.0.1:{hanging.getsockname()[1]}/PATH?token=TOKEN"
        service = Service(webhooks=(hangs, listener.url), webhook_secret=SECRET)
        try:
            wait_until(lambda: subscribed(service.store) == 2)
            for name in ("one", "two", "three"):
                decide(service.store.create(name, DESIGN))
            attempt, _ = hanging.accept()
            wait_until(lambda: len(listener.heard) == 3)
            # An attempt that hangs ends, and its failure is logged without the secrets of the URL.
            attempt.close()
            wait_until(lambda: "webhook waiting" in caplog.messages)
        finally:
            service.close()
    said = [getattr(record, "fields", {}) for record in caplog.records]
    assert any("127.0.0.1" in str(fields.get("url")) for fields in said)
    for secret in ("PASS", "PATH", "TOKEN", "hook"):
        assert secret not in str(said)


@pytest.mark.parametrize(
    "proxy",
    ["", "http://127.0.0.1:1", "socks5://u:SECRET@127.0.0.1:1", "x://SECRET", "http://a:99999999"],
)
def test_a_failed_attempt_is_described_without_the_url(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    """Also where a proxy of the environment cannot be used: it must not end the attempts."""
    monkeypatch.setattr("bascule.service.notifications.webhooks.SECONDS", 0.2)
    monkeypatch.setenv("http_proxy", proxy)
    with socket.socket() as hanging:
        hanging.bind(("127.0.0.1", 0))
        hanging.listen()
        host = f"127.0.0.1:{hanging.getsockname()[1]}"
        for url in (f"http://{host}/SECRET", "http://127.0.0.1:1/SECRET", "http://[/SECRET"):

            async def tried(url: str = url) -> str | None:
                calls, event = StoreCalls(), EventDelivery("key", 1, 1, b"{}")
                with bs.open(":memory:") as store:
                    return await attempt(Webhook(url, SECRET, Outgoing()), store, calls, event)

            problem = asyncio.run(tried())
            assert problem
            assert "SECRET" not in problem


def test_of_two_workers_one_tells(listener: Listener, tmp_path: Path) -> None:
    with bs.open(tmp_path / "shop.db") as one, bs.open(tmp_path / "shop.db") as other:
        register(one, listener.url)
        decide(one.create("button", DESIGN))
        assert [len(claim(store, listener.url, 0.0)) for store in (one, other)] == [1, 0]


def test_the_rollback_of_a_rollout_is_told(listener: Listener) -> None:
    latency = bs.Metric("latency", bs.Gaussian(1), goal="decrease", margin=1.0)
    design = bs.Design(
        ["present", "new"],
        bs.Gaussian(1),
        bs.Tilt(1),
        metrics=[latency],
        decides="guardrails",
        reports="always",
    )
    with bs.open(":memory:") as store:
        register(store, listener.url)
        test = store.create("checkout", design, audience={"ramp": [["0d", 0.5], ["1d", 1.0]]})
        units = [str(i) for i in range(400)]
        slower = {"present": 0.0, "new": 4.0}
        test.record_many(
            (unit, value, None, None, metric)
            for unit, arm in zip(units, test.assign_many(units), strict=True)
            for metric, value in ((None, 0.0), ("latency", slower[arm]))
        )
        assert test.status().headline.startswith("Keep present: every other arm was found harmful")
        assert tell(store, listener, 0.0) == ["done"]
        assert set(test.assign_many(["a new user", *units])) == {"present"}
        title, text = message(store, json.loads(listener.heard[0][1]))
    assert title == "checkout: Keep present: every other arm was found harmful (latency)"
    assert "Guarantee: the control stays because every other arm was found harmful" in text
    ((headers, body),) = listener.heard
    told = json.loads(body)
    assert (told["type"], told["data"]["name"]) == ("decision", "present")
    assert (told["data"]["by"], told["data"]["harm"]) == ("guardrails", ["latency"])
    assert signed(headers["webhook-id"], body, SECRET, 0).items() <= headers.items()


def test_an_alarm_is_told_and_logged_once(listener: Listener) -> None:
    # A shuffle that is none: challengers always come first.
    with bs.open(":memory:", shuffle=lambda slots: slots.sort(reverse=True)) as store:
        register(store, listener.url)
        test = store.create(
            "button", bs.Design(["a", "b"], bs.Gaussian(100), bs.Tilt(3), reports="always")
        )
        test.assign_many([str(i) for i in range(201)])
        flagged = test.alarms()
        assert [found.name for found in flagged] == ["sample ratio"]
        assert test.alarms() == ()
        assert [entry["action"] for entry in test.audit()].count("alarm") == 1
        assert tell(store, listener, 0.0) == ["done"]
    assert json.loads(listener.heard[0][1])["type"] == "alarm"
