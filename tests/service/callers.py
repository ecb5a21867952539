"""Callers of a running service, what they were answered, and a check that it is still true."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

import bascule as bs
from bascule.live.api import Event, some_rows
from bascule.service.auth.keys import create_key

ENDLESS = bs.Design(["a", "b"], bs.Gaussian(100), bs.Tilt(3, batch=2), error=1e-6, reports="always")
"""A design that comes to no decision."""

LONGEST = 70.0
"""Seconds that a caller waits for an answer: the service refuses with 503 after 60."""


@dataclass
class Heard:
    """What the service has answered."""

    arms: dict[str, str] = field(default_factory=dict)
    contradicted: set[str] = field(default_factory=set)
    """Units that were told two arms."""
    recorded: set[str] = field(default_factory=set)
    """Ids of outcomes that were accepted."""
    erased: set[str] = field(default_factory=set)
    statuses: Counter[tuple[str, object]] = field(default_factory=Counter)
    """How often each kind of caller had each status."""
    unexpected: set[tuple[str, object, str]] = field(default_factory=set)
    """Kinds of callers, statuses that they must not have, and texts."""
    seconds: list[float] = field(default_factory=list)
    """Of assignments."""

    def arm(self, unit: str, arm: str) -> None:
        """Keep what a unit was told."""
        if self.arms.setdefault(unit, arm) != arm:
            self.contradicted.add(unit)


class Caller:
    """One connection that is kept, and opened again when the service has closed it.

    Plain, so that the load is that of the service and not that of the callers.
    """

    def __init__(self, url: httpx.URL) -> None:
        self._url = url
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.cookie = ""

    async def ask(
        self, url: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        """Make a request; its status, headers and body."""
        async with asyncio.timeout(LONGEST):
            for attempt in range(2):
                is_kept = self._streams is not None
                try:
                    return await self._exchange(self._head(url, body, headers), body or b"")
                except (OSError, EOFError):
                    self.close()
                    # A connection that was kept may have been closed for its idleness.
                    if attempt or not is_kept:
                        raise
        raise AssertionError

    def close(self) -> None:
        """Close the connection; what was not yet sent is not sent any more."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None

    async def end(self) -> None:
        """Close the connection, and wait until it is."""
        if self._streams is not None:
            _, writer = self._streams
            self.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _head(self, url: str, body: bytes | None, headers: dict[str, str]) -> bytes:
        lines = [
            f"{'GET' if body is None else 'POST'} {url} HTTP/1.1",
            f"Host: {self._url.host}:{self._url.port}",
            *[f"{name}: {value}" for name, value in headers.items()],
        ]
        lines += [f"Cookie: {self.cookie}"] if self.cookie else []
        lines += [] if body is None else [f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode()

    async def _exchange(self, head: bytes, body: bytes) -> tuple[int, dict[str, str], bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._url.host, self._url.port)
        reader, writer = self._streams
        writer.write(head + body)
        await writer.drain()
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = [line.partition(": ") for line in lines if line]
        headers = {name.lower(): value for name, _, value in pairs}
        content = b""
        if headers.get("transfer-encoding") == "chunked":
            while size := int((await reader.readline()).strip(), 16):
                content += await reader.readexactly(size)
                await reader.readexactly(2)
            await reader.readexactly(2)
        else:
            content = await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            self.close()
        return int(first.split()[1]), headers, content


def prepare(location: object) -> dict[str, str]:
    """Make the tests and the keys that the load needs; the key of each role."""
    with bs.open(str(location)) as store:
        test = store.create("test", ENDLESS)
        units = [f"early {i}" for i in range(40)]
        test.assign_many(units)
        test.record_many([Event(unit, 1.0) for unit in units])
        return {role: create_key(store, role) for role in ("client", "viewer", "admin")}


def check_answers(location: object, heard: Heard) -> None:
    """Check that what a service answered is what its store has."""
    assert not heard.contradicted
    with bs.open(str(location)) as store:
        test = store.get("test")
        stored = {row[0]: row[1] for row in rows(test, "assignments")}
        events = {row[5] for row in rows(test, "outcomes")}
        assert test.verify().agrees
        assert test.status().units == len(stored)
    lost = {unit for unit, arm in heard.arms.items() if stored.get(unit) != arm}
    assert not lost
    assert heard.recorded <= events
    assert not heard.erased & stored.keys()
    assert not heard.erased & events


def rows(test: bs.Experiment, table: str) -> list[tuple[Any, ...]]:
    """All rows of a log."""
    found: list[tuple[Any, ...]] = []
    after: tuple[int, ...] | None = None
    while True:
        some, after = some_rows(test, table, after)
        found += some
        if after is None:
            return found
