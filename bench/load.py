"""Load for the service, without a client library in the way: 64 connections, each with one request.

    python -m bench.load HOST PORT KEY WHAT SECONDS [COOKIE]

asks for /healthz (`health`), assigns new units (`new`), or units that are in already (`known`).
With the cookie of a session, 20 pages of the test "watched" and 15 of its diagnostics are open at
the same time, each asking again as soon as it is answered. It prints a JSON object: answers a
second, the median and the 99th percentile of their seconds, and how many pages were answered.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from itertools import count

CONNECTIONS = 64
PAGES, DIAGNOSTICS = 20, 15
KNOWN = 1000
END = b"\r\n\r\n"


def requests(key: str, what: str, salt: str) -> tuple[bytes, bytes]:
    """Return what stands before and after the unit's name in a request."""
    if what == "health":
        return b"GET /healthz HTTP/1.1\r\nHost: bench\r\n\r\n", b""
    head = (
        "POST /v1/experiments/bench/assign HTTP/1.1\r\nHost: bench\r\n"
        f"X-API-Key: {key}\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    )
    body = f'{{"unit":"{salt}%08d"}}'
    return (head % len(body % 0)).encode(), body.encode()


def page_request(path: str, cookie: str) -> bytes:
    """Return the request of a page for the part of it that is updated."""
    head = f"GET {path} HTTP/1.1\r\nHost: bench\r\nCookie: {cookie}\r\n"
    return f"{head}HX-Request: true\r\n\r\n".encode()


class Caller(asyncio.Protocol):
    """One connection that asks again as soon as it is answered."""

    def __init__(self, parts: tuple[bytes, bytes], units: count[int], known: bool) -> None:
        self._parts, self._units, self._known = parts, units, known
        self._got = b""
        self.seconds: list[float] = []
        self.failed = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, mark, body = self._got.partition(END)
        if not mark:
            return
        place = head.lower().index(b"content-length: ") + 16
        if len(body) < int(head[place:].split(b"\r", 1)[0]):
            return
        self.seconds.append(time.perf_counter() - self._since)
        self.failed += not head.startswith(b"HTTP/1.1 200")
        self._got = b""
        self._ask()

    def _ask(self) -> None:
        before, after = self._parts
        if after:
            number = next(self._units)
            before += after % (number % KNOWN if self._known else number)
        self._since = time.perf_counter()
        self._transport.write(before)  # type: ignore[attr-defined]


async def main(
    host: str, port: int, key: str, what: str, seconds: float, cookie: str | None = None
) -> None:
    """Ask for so many seconds, and print what was measured."""
    loop = asyncio.get_running_loop()
    known = what == "known"
    parts = requests(key, what, "known-" if known else f"{time.time_ns()}-")
    wanted = [(parts, known)] * CONNECTIONS
    if cookie is not None:
        page = (page_request("/tests/watched/live", cookie), b"")
        diagnostics = (page_request("/tests/watched/diagnostics", cookie), b"")
        wanted += [(page, False)] * PAGES + [(diagnostics, False)] * DIAGNOSTICS
    units = count()
    made = [
        await loop.create_connection(lambda one=one: Caller(one[0], units, one[1]), host, port)  # type: ignore[misc]
        for one in wanted
    ]
    # What came until now is warming up.
    for _, caller in made:
        caller.seconds.clear()
    await asyncio.sleep(seconds)
    taken = sorted(one for _, caller in made[:CONNECTIONS] for one in caller.seconds)
    failed = sum(caller.failed for _, caller in made)
    for transport, _ in made:
        transport.abort()
    measured = {
        "rate": len(taken) / seconds,
        "median": taken[len(taken) // 2],
        "p99": taken[int(0.99 * len(taken))],
        "pages": sum(len(caller.seconds) for _, caller in made[CONNECTIONS:]) / seconds,
        "failed": failed,
    }
    print(json.dumps(measured))


if __name__ == "__main__":
    import uvloop

    host, port, key, what, seconds, *cookie = sys.argv[1:]
    uvloop.run(main(host, int(port), key, what, float(seconds), *cookie))
