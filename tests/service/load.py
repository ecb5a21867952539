"""Load of every kind at once on a running service."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
from tests.service.callers import Caller, Heard, check_answers
from tests.service.running import FLAG, Program, path

PATIENCE = 3.0
"""Seconds in which requests are answered when the load has ended."""

HUNG_UP, REFUSED = "hung up", "connection closed"


class Load:
    """64 connections to a service, each of which makes requests of one kind without a break."""

    def __init__(self, url: str, keys: dict[str, str], seconds: float) -> None:
        self.heard = Heard()
        self._url, self._keys = httpx.URL(url), keys
        self._seconds, self._until = seconds, time.monotonic() + seconds
        self._rng = random.Random(1)

    async def run(self) -> None:
        """Make requests of every kind until the time is over."""
        kinds: list[tuple[int, Callable[[Caller, int, int], Awaitable[None]]]] = [
            (16, self._assign),
            (6, self._outcomes),
            (4, self._batch),
            (5, self._flag),
            (3, self._all_flags),
            (2, self._link),
            (2, self._erase),
            (3, self._no_key),
            (6, self._wrong_key),
            (2, self._absent),
            (2, self._list),
            (3, self._page),
            (2, self._export),
            (2, self._reports),
            (1, self._plan),
            (2, self._slow_body),
            (2, self._broken_body),
            (1, self._hang_up),
        ]
        assert sum(count for count, _ in kinds) == 64
        callers = [asyncio.ensure_future(self._repeat(do, i)) for n, do in kinds for i in range(n)]
        ended, waiting = await asyncio.wait(callers, timeout=self._seconds + PATIENCE)
        for one in waiting:
            # Whoever waits for a plan hangs up.
            one.cancel()
        for one in ended:
            one.result()

    async def _repeat(self, do: Callable[..., Awaitable[None]], number: int) -> None:
        caller, turn = Caller(self._url), 0
        try:
            while time.monotonic() < self._until:
                await do(caller, number, turn)
                turn += 1
        finally:
            caller.close()

    async def _ask(
        self,
        kind: str,
        caller: Caller,
        url: str,
        sent: Any = None,
        role: str | None = "admin",
        fine: tuple[int, ...] = (200,),
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Make a request; its answer if the status is 200, else None."""
        named = {**(headers or {}), **({"X-API-Key": self._keys[role]} if role else {})}
        body = None
        if sent is not None:
            body = json.dumps(sent).encode()
            named["Content-Type"] = "application/json"
        try:
            status, about, content = await caller.ask(url, body, named)
        except (OSError, EOFError, TimeoutError) as problem:
            self.heard.unexpected.add((kind, type(problem).__name__, str(problem)))
            await asyncio.sleep(0.1)
            return None
        self.heard.statuses[kind, status] += 1
        if status not in fine:
            self.heard.unexpected.add((kind, status, content.decode()[:200]))
        if status != 200:
            return None
        is_data = role and about.get("content-type", "").startswith("application/json")
        return json.loads(content) if is_data else content.decode()

    async def _assign(self, caller: Caller, number: int, turn: int) -> None:
        # Two callers ask for each unit, and must hear the same.
        unit = f"unit {number // 2} {turn}"
        since = time.monotonic()
        answer = await self._ask("assign", caller, path("test", "assign"), {"unit": unit}, "client")
        self.heard.seconds.append(time.monotonic() - since)
        if answer is not None:
            self.heard.arm(unit, answer["arm"])

    async def _outcomes(self, caller: Caller, number: int, turn: int) -> None:
        unit = f"buyer {number} {turn}"
        answer = await self._ask(
            "outcomes", caller, path("test", "assign"), {"unit": unit}, "client"
        )
        if answer is not None:
            self.heard.arm(unit, answer["arm"])
            await self._record(caller, "outcomes", [unit])

    async def _batch(self, caller: Caller, number: int, turn: int) -> None:
        known = [unit for unit in self.heard.arms if unit.startswith("unit")]
        if len(known) < 20:
            await asyncio.sleep(0.05)
            return
        units = self._rng.sample(known, 20)
        await self._record(caller, "batch", units, f"{number} {turn} ")

    async def _record(self, caller: Caller, kind: str, units: list[str], mark: str = "") -> None:
        sent = [{"unit": unit, "value": 1.0, "id": f"{mark}{unit}"} for unit in units]
        url = path("test", "outcomes")
        # Units of a batch may all have an outcome already; then none counts.
        fine = (200, 422) if kind == "batch" else (200,)
        answer = await self._ask(kind, caller, url, {"outcomes": sent}, "client", fine)
        if answer is not None:
            receipts = zip(sent, answer["outcomes"], strict=True)
            self.heard.recorded |= {str(one["id"]) for one, got in receipts if got["accepted"]}

    async def _flag(self, caller: Caller, number: int, turn: int) -> None:
        unit = f"flag {number} {turn}"
        sent = {"context": {"targetingKey": unit}}
        answer = await self._ask("OFREP", caller, f"{FLAG}/test", sent, "client")
        if answer is not None:
            self.heard.arm(unit, answer["variant"])

    async def _all_flags(self, caller: Caller, number: int, turn: int) -> None:
        unit = f"unit {number} {turn // 2}"
        before = self.heard.arms.get(unit)
        sent = {"context": {"targetingKey": unit}}
        answer = await self._ask("all flags", caller, FLAG, sent, "client")
        if answer is not None and before is not None:
            assert {flag["variant"] for flag in answer["flags"]} == {before}

    async def _link(self, caller: Caller, number: int, turn: int) -> None:
        pair = f"visitor {number} {turn}", f"person {number} {turn}"
        first = await self._ask("link", caller, path("test", "assign"), {"unit": pair[0]}, "client")
        sent = {"unit": pair[0], "other": pair[1]}
        linked = await self._ask("link", caller, "/v1/units/link", sent, "client")
        if first is not None and linked is not None:
            assert linked["arms"]["test"] == first["arm"]
            self.heard.arm(pair[0], first["arm"])

    async def _erase(self, caller: Caller, number: int, turn: int) -> None:
        unit = f"erased {number} {turn}"
        await self._ask("erase", caller, path("test", "assign"), {"unit": unit}, "client")
        await self._record(caller, "erase", [unit])
        self.heard.recorded.discard(unit)
        answer = await self._ask("erase", caller, "/v1/units/erase", {"unit": unit})
        if answer is not None:
            assert answer["erased"] == ["test"]
            self.heard.erased.add(unit)

    async def _no_key(self, caller: Caller, number: int, turn: int) -> None:
        urls = [path("test"), "/metrics", "/v1/plan", "/nowhere", "/openapi.json"]
        sent = {"lift": "1%"} if turn % 5 == 2 else None
        await self._ask("no key", caller, urls[turn % len(urls)], sent, None, (401, 404, 429, 200))

    async def _wrong_key(self, caller: Caller, number: int, turn: int) -> None:
        key = f"bsc_{self._rng.getrandbits(32):08x}_{turn}"
        headers = {"Authorization": f"Bearer {key}"}
        url = path("test", "assign")
        sent = {"unit": "thief"}
        await self._ask("wrong key", caller, url, sent, None, (401, 429), headers=headers)

    async def _absent(self, caller: Caller, number: int, turn: int) -> None:
        if turn % 2:
            await self._ask("absent", caller, path(f"no-{turn}", "status"), fine=(404,))
        else:
            url, sent = path(f"no-{turn}", "assign"), {"unit": "u"}
            await self._ask("absent", caller, url, sent, fine=(404,))

    async def _list(self, caller: Caller, number: int, turn: int) -> None:
        answer = await self._ask("list", caller, "/v1/experiments", role="viewer")
        if answer is not None:
            assert [one["name"] for one in answer["experiments"]][:1] == ["test"]
        await asyncio.sleep(0.1)

    async def _page(self, caller: Caller, number: int, turn: int) -> None:
        if turn == 0:
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            body = f"key={self._keys['viewer']}".encode()
            _, headers, _ = await caller.ask("/sign-in", body, form)
            caller.cookie = headers["set-cookie"].partition(";")[0]
        urls = ["/", "/tests/test", "/tests/test/live", "/tests/test/diagnostics"]
        await self._ask("page", caller, urls[turn % len(urls)], role=None, fine=(200, 204))
        await asyncio.sleep(0.2)

    async def _export(self, caller: Caller, number: int, turn: int) -> None:
        table = ("assignments", "outcomes")[turn % 2]
        url = f"{path('test', 'export')}?table={table}"
        text = await self._ask("export", caller, url)
        assert text is None or text.startswith("unit,")
        await asyncio.sleep(0.3)

    async def _reports(self, caller: Caller, number: int, turn: int) -> None:
        verbs = ["status", "history", "audit", "diagnostics", "excluded", "report?form=json"]
        url = path("test", verbs[turn % len(verbs)])
        # Reports give way to assignments, and may come to their deadline.
        await self._ask("report", caller, url, role="viewer", fine=(200, 503))
        await asyncio.sleep(0.2)

    async def _plan(self, caller: Caller, number: int, turn: int) -> None:
        outcome = {"kind": "gaussian", "sigma": 5}
        sent = {"outcome": outcome, "baseline": 20, "lift": "50%", "seed": turn}
        await self._ask("plan", caller, "/v1/plan", sent, "viewer", (200, 422, 503))
        await asyncio.sleep(0.5)

    async def _slow_body(self, caller: Caller, number: int, turn: int) -> None:
        """Send one byte of a body at a time, in time or not."""
        unit = f"slow {number} {turn}"
        body = json.dumps({"unit": unit}).encode()
        # One is too slow for the service's patience of 10 s, the other is not.
        pause = 0.6 if number else 0.02
        status, text = await self._raw("slow body", body, len(body), pause)
        if status == 200:
            self.heard.arm(unit, json.loads(text)["arm"])

    async def _broken_body(self, caller: Caller, number: int, turn: int) -> None:
        """Send what is no JSON, less than was announced, or nothing, and leave."""
        bodies = [b'{"unit": "x', b"\xff\xfe", b"[" * 5000, b"", b'{"unit": {"a": 1}}', b"null"]
        body = bodies[turn % len(bodies)]
        missing = 10 if turn % 3 == 2 else 0
        await self._raw("broken body", body, len(body) + missing, 0.0, leave=bool(missing))

    async def _hang_up(self, caller: Caller, number: int, turn: int) -> None:
        """Ask for something and do not wait for the answer."""
        body = json.dumps({"unit": f"gone {turn}"}).encode()
        await self._raw("hang up", body, len(body), 0.0, leave=True)

    async def _raw(
        self, kind: str, body: bytes, length: int, pause: float, leave: bool = False
    ) -> tuple[int | None, bytes]:
        reader, writer = await asyncio.open_connection(self._url.host, self._url.port)
        try:
            head = (
                f"POST {path('test', 'assign')} HTTP/1.1\r\nHost: {self._url.host}\r\n"
                f"X-API-Key: {self._keys['client']}\r\nContent-Type: application/json\r\n"
                f"Connection: close\r\nContent-Length: {length}\r\n\r\n"
            )
            writer.write(head.encode())
            for i in range(len(body)) if pause else ():
                writer.write(body[i : i + 1])
                await writer.drain()
                await asyncio.sleep(pause)
            if not pause:
                writer.write(body)
            await writer.drain()
            if leave:
                self.heard.statuses[kind, HUNG_UP] += 1
                await asyncio.sleep(0.05)
                return None, b""
            answer = await asyncio.wait_for(reader.read(), 40)
        except OSError:
            self.heard.statuses[kind, REFUSED] += 1
            return None, b""
        finally:
            writer.close()
        status = int(answer.split(maxsplit=2)[1]) if answer else None
        self.heard.statuses[kind, status or REFUSED] += 1
        if status not in (200, 400, 408, None):
            self.heard.unexpected.add((kind, status, answer.decode("latin-1")[:200]))
        return status, answer.partition(b"\r\n\r\n")[2]


@dataclass(frozen=True)
class Endurance:
    """What became of a service under load: figures to state."""

    assignments: int
    p99: float
    """Seconds of the slowest of a hundred assignments."""
    grown: float
    """Memory at the end, relative to that after a third of the time."""
    health: float
    """Seconds until `/healthz` answered afterwards."""
    end: float
    """Seconds from SIGTERM to the end."""


def endure(program: Program, location: object, keys: dict[str, str], seconds: float) -> Endurance:
    """Load a service, check that it holds, stop it, and check that all its answers are true."""
    load = Load(program.url, keys, seconds)
    memory = []

    async def watched() -> None:
        running = asyncio.ensure_future(load.run())
        await asyncio.sleep(seconds / 3)
        memory.append(program.memory())
        await running

    asyncio.run(watched())
    since = time.monotonic()
    assert httpx.get(f"{program.url}/healthz", trust_env=False, timeout=10).status_code == 200
    health = time.monotonic() - since
    memory.append(program.memory())
    since = time.monotonic()
    log = program.stop()
    end = time.monotonic() - since
    heard = load.heard
    assert not heard.unexpected, (heard.unexpected, heard.statuses, log[-3000:])
    assert program.process.returncode == 0, log[-3000:]
    assert "Traceback" not in log, log[-3000:]
    assert heard.erased
    check_answers(location, heard)
    return Endurance(
        len(heard.seconds),
        float(np.quantile(heard.seconds, 0.99)),
        memory[1] / memory[0],
        health,
        end,
    )
