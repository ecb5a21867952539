"""No handler keeps the event loop for long, whatever a body holds.

All routes are driven with the largest bodies that they accept, in a loop of this thread, and the
processor time of each step of the loop is measured: that of this thread alone, so that neither a
busy machine nor the threads in which bodies are validated count.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from tests.service.running import DESIGN

import bascule as bs
from bascule.service.auth.keys import create_key
from bascule.service.server.app import make_app
from bascule.service.settings import Settings

LONGEST = 0.05
"""Seconds of processor time that a step of the event loop may take."""

BODIES: dict[str, Any] = {
    "covariates": {"unit": "u", "covariates": {f"{i:x}": "" for i in range(18_000)}},
    "context": {"unit": "u", "context": {f"{i:x}": i for i in range(2900)}},
    "flags": {"context": {"targetingKey": "u", **{f"{i:x}": i for i in range(2900)}}},
    "arms": {"arms": [1] * 140_000},
    "few arms": {"arms": [1] * 2900},
    "lifts": {"lift": [[]] * 2900},
    "sample": {"sample": [0.5] * 100_000, "baseline": "x"},
    "lists": {"sample": [[]] * 140_000},
    "fields": {f"{i:x}": i for i in range(2900)},
    "design": {"name": "a", "design": {"arms": ["a", "b"], "metrics": [{"outcome": {}}] * 900}},
    "outcomes": {"outcomes": [{"unit": f"u{i}", "value": 1.0, "id": str(i)} for i in range(1000)]},
    "wrong outcomes": {"outcomes": [{f"{j:x}": j for j in range(100)} for _ in range(1000)]},
    "empty outcomes": {"outcomes": [{}] * 140_000},
    "text": {"unit": "u" * 900_000},
    "units": {"unit": "u", "experiments": ["x"] * 2900},
    "nested": {"context": [[[]]] * 900},
}

FORMS = {
    "escapes": b"arms=" + b"%41" * 320_000,
    "fields": b"&".join(b"f%d=1" % i for i in range(990)),
    "sample": b"outcome=bounded&sample=" + b"1+" * 400_000,
}


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[float, str]]]:
    """The processor time of each step of the event loop, with what it ran."""
    measured: list[tuple[float, str]] = []
    run = asyncio.events.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        since = time.thread_time()
        run(handle)
        measured.append((time.thread_time() - since, repr(handle)[:300]))

    monkeypatch.setattr(asyncio.events.Handle, "_run", timed)
    gc.collect()
    gc.freeze()
    gc.disable()
    yield measured
    gc.enable()
    gc.unfreeze()


def test_no_route_keeps_the_event_loop(steps: list[tuple[float, str]]) -> None:
    """Before, 95,000 wrong covariates took 720 ms of the loop, and as many arms 2.7 s."""
    with bs.open(":memory:") as store:
        store.create("test", bs.Design.from_dict(DESIGN))
        keys = {role: create_key(store, role) for role in ("client", "viewer", "admin")}
        app = make_app(store, Settings(rate=1e6, guesses=10**6))
        slow = asyncio.run(drive(app, keys, steps))
    assert not slow, "\n".join(slow)


async def drive(app: Any, keys: dict[str, str], steps: list[tuple[float, str]]) -> list[str]:
    """Send every body to every route; which of them kept the loop for too long, and where."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    slow: list[str] = []
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as caller:
        signed = await caller.post("/sign-in", data={"key": keys["admin"]})
        assert signed.status_code == 303, signed.text
        routes = {
            (method, filled(route.path))
            for router in app.state.routers
            for route in router.routes
            if isinstance(route, APIRoute)
            for method in route.methods or ()
        }
        assert len(routes) > 30
        sent = {name: json.dumps(body).encode() for name, body in BODIES.items()}
        for method, path in sorted(routes):
            # What is loaded at the first use is not what is measured.
            await ask(caller, keys, method, path, b"{}", "application/json")
            cases = [(name, body, "application/json") for name, body in sent.items()]
            if not path.startswith(("/v1", "/ofrep")):
                kind = "application/x-www-form-urlencoded"
                await ask(caller, keys, method, path, b"name=x", kind)
                cases = [(name, body, kind) for name, body in FORMS.items()]
            for name, body, kind in cases if method != "GET" else cases[:1]:
                if "plan" in path and name == "sample":
                    # A plan is made of this one, in the planner's process.
                    continue
                steps.clear()
                await asyncio.create_task(ask(caller, keys, method, path, body, kind))
                # The step that ended the request has been measured in the next one.
                await asyncio.sleep(0)
                longest = max(steps)
                if longest[0] > LONGEST:
                    slow.append(f"{method} {path}, {name}: {longest[0]:.3f} s in {longest[1]}")
    await app.state.planner.close()
    await app.state.calls.close()
    return slow


def filled(path: str) -> str:
    """A path with names in place of its parameters."""
    for name, value in (("{name}", "test"), ("{key}", "test"), ("{action}", "pause")):
        path = path.replace(name, value)
    return path


async def ask(
    caller: httpx.AsyncClient, keys: dict[str, str], method: str, path: str, body: bytes, kind: str
) -> None:
    role = (
        "client"
        if path.startswith("/ofrep") or path.endswith(("/assign", "/outcomes"))
        else "admin"
    )
    headers = {"Content-Type": kind}
    if path.startswith(("/v1", "/ofrep", "/metrics")):
        headers["X-API-Key"] = keys[role]
    content = None if method == "GET" else body
    with suppress(TimeoutError):
        # Plans that are accepted take seconds, in another process.
        async with asyncio.timeout(5):
            await caller.request(method, path, content=content, headers=headers)
