"""`python -m bench.load HOST PORT KEY WHAT SECONDS`: many connections, a request at a time on each.

As wrk does it, in a process of its own: as soon as a connection has its answer it asks again. WHAT
is `health`, `new` (a new unit with every request) or `known` (units that were assigned before).
Prints one JSON object: answers a second, and the median and the 99th percentile of their seconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from itertools import count

CONNECTIONS = 64
KNOWN = 1000
END = b"\r\n\r\n"


def requests(key: str, what: str, salt: str) -> tuple[bytes, bytes]:
    """What stands before and after the unit's name in a request."""
    if what == "health":
        return b"GET /healthz HTTP/1.1\r\nHost: bench\r\n\r\n", b""
    head = (
        "POST /v1/experiments/bench/assign HTTP/1.1\r\nHost: bench\r\n"
        f"X-API-Key: {key}\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    )
    body = f'{{"unit":"{salt}%08d"}}'
    return (head % len(body % 0)).encode(), body.encode()


class Caller(asyncio.Protocol):
    """One connection."""

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


async def main(host: str, port: int, key: str, what: str, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    known = what == "known"
    parts = requests(key, what, "known-" if known else f"{time.time_ns()}-")
    units = count()
    made = [
        await loop.create_connection(lambda: Caller(parts, units, known), host, port)
        for _ in range(CONNECTIONS)
    ]
    # What came until now is warming up.
    for _, caller in made:
        caller.seconds.clear()
    await asyncio.sleep(seconds)
    taken = sorted(one for _, caller in made for one in caller.seconds)
    failed = sum(caller.failed for _, caller in made)
    for transport, _ in made:
        transport.abort()
    told = {
        "rate": len(taken) / seconds,
        "median": taken[len(taken) // 2],
        "p99": taken[int(0.99 * len(taken))],
        "failed": failed,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    import uvloop

    host, port, key, what, seconds = sys.argv[1:]
    uvloop.run(main(host, int(port), key, what, float(seconds)))
