"""Limits that Uvicorn lacks: on the size of request heads, and on slow senders and readers.

Uvicorn has no option for the size of a request's head, for the time in which a request has to
arrive, or for a client that does not read its answer, and its middleware sees a request only after
its head is complete. So this module, and no other, extends Uvicorn's protocol class; it relies on
the callbacks of httptools (`on_message_begin` and so on), on `data_received`, on
`send_400_response`, and on the attributes `transport`, `loop` and `cycle`.
`tests/service/server/test_connection.py` attacks a running service and fails when one of them
changes.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, ClassVar, NoReturn

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bascule.service.auth.access import is_known
from bascule.service.auth.rate_limits import source
from bascule.service.responses import MEDIA_TYPE, Problem, encode

LARGEST_HEAD = 32_768
"""Maximum number of bytes of a request line with its headers, and of the trailers of a body."""

LARGEST_REQUEST = 4_000_000
"""Maximum number of bytes of a request on the wire, for bodies that state no length."""

PATIENCE = 10.0
"""Seconds in which a request has to arrive, head and body."""

MOST_OF_ADDRESS = 1000
"""Maximum number of connections from one address; behind a proxy there is no limit."""

CROWDED = 3500
"""Number of connections above which a new one replaces the oldest one without a valid key."""

MOST_PIPELINED = 16
"""Maximum number of requests of a connection that wait for the answer to an earlier one."""

READING_PATIENCE = 30.0
"""Seconds that a slow client has to read more before its connection is ended."""


class GuardedProtocol(HttpToolsProtocol):
    """Uvicorn's HTTP protocol with limits on heads, on slow senders and on slow readers."""

    largest_request = LARGEST_REQUEST
    most_of_address: int | None = MOST_OF_ADDRESS
    by_address: ClassVar[Counter[str]] = Counter()
    """Connections, by address."""
    strangers: ClassVar[dict[GuardedProtocol, None]] = {}
    """Connections without a valid key or session, ordered by their last answer, oldest first."""

    _source = ""
    # The time by which a request must be complete, and the timer that checks it.
    _due: float | None = None
    _sender: asyncio.TimerHandle | None = None
    _reader: asyncio.TimerHandle | None = None
    _in_head = True
    _bytes = 0
    _head = 0
    _refusal: Problem | None = None

    def connection_made(self, transport: Any) -> None:
        """Count a new connection, check the limits, and start the deadline of its first request."""
        super().connection_made(transport)
        self._source = source(self.client[0]) if self.client else ""
        self.by_address[self._source] += 1
        limit = self.most_of_address
        if limit is not None and self.by_address[self._source] > limit:
            self._refuse(Problem(429, f"more than {limit:,} connections of one address: use fewer"))
            return
        if len(self.connections) > CROWDED and self.strangers:
            next(iter(self.strangers)).transport.abort()
        self.strangers[self] = None
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Count what has arrived, and parse it."""
        if self.transport.is_closing():
            return
        self._bytes += len(data)
        super().data_received(data)
        is_idle = self.cycle is None or self.cycle.response_complete
        if self._in_head and is_idle and self._due is None:
            # Bytes before a request, such as empty lines, have stopped the timer: start it again.
            self._await_request()
        if self._in_head and self._bytes > LARGEST_HEAD:
            self._refuse(_head_too_large())
        elif self._bytes > self.largest_request:
            self._refuse(Problem(413, f"the request has more than {self.largest_request:,} bytes"))

    def on_message_begin(self) -> None:
        """Begin a request, whose head has to follow in time."""
        if len(self.pipeline) >= MOST_PIPELINED:
            # All requests in a packet are parsed in one step of the event loop: limit their number.
            self._refuse_parsing(Problem(429, "too many requests at once: wait for their answers"))
        super().on_message_begin()
        self._in_head, self._head = True, 0
        self._await_request()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count and store a header or a trailer."""
        self._head += len(name) + len(value) + 4
        if self._head > LARGEST_HEAD:
            self._refuse_parsing(_head_too_large())
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Note that the head of the request is complete."""
        if self._head + len(self.url) > LARGEST_HEAD:
            self._refuse_parsing(_head_too_large())
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the request is complete."""
        self._in_head, self._bytes, self._due = True, 0, None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Note whether the caller was authenticated, and wait for the next request."""
        super().on_response_complete()
        if self.strangers.pop(self, 0) is None and not is_known(self.cycle.scope):
            self.strangers[self] = None

    def send_400_response(self, msg: str) -> None:
        """Answer a request that cannot be parsed, or whose head is too large."""
        if self._refusal is None:
            super().send_400_response(msg)
        else:
            self._refuse(self._refusal)

    def pause_writing(self) -> None:
        """Start a timer that ends the connection unless the client reads more."""
        super().pause_writing()
        self._reader = self.loop.call_later(READING_PATIENCE, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer of a slow client, since it has read more."""
        self._reader = _cancelled(self._reader)
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, also one whose client never reads the rest of its answer."""
        super().timeout_keep_alive_handler()
        self._abort_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers of a connection that is gone, and count it no more."""
        self._sender, self._reader = _cancelled(self._sender), _cancelled(self._reader)
        self.strangers.pop(self, None)
        self.by_address[self._source] -= 1
        if not self.by_address[self._source]:
            del self.by_address[self._source]
        super().connection_lost(exc)

    def _await_request(self) -> None:
        # The requests of a connection share a timer: one for each would take longer than parsing.
        self._due = self.loop.time() + PATIENCE
        if self._sender is None:
            self._sender = self.loop.call_at(self._due, self._check_deadline)

    def _check_deadline(self) -> None:
        """Refuse a request that is not complete in time; otherwise check at the next deadline."""
        self._sender = None
        if self._due is not None and self.loop.time() < self._due:
            self._sender = self.loop.call_at(self._due, self._check_deadline)
        elif self._due is not None:
            self._give_up()

    def _refuse_parsing(self, problem: Problem) -> NoReturn:
        self._refusal = problem
        # The parser reports it as an error of its own, which ends in `send_400_response`.
        raise ValueError(problem.detail)

    def _give_up(self) -> None:
        self._due = None
        if self.transport.is_closing():
            return
        is_busy = self.cycle is not None and not self.cycle.response_complete
        if self._in_head and is_busy:
            # The client has sent the beginning of the next request and waits for an answer.
            self._await_request()
        elif is_busy:
            self._refuse(Problem(408, f"the request took longer than {PATIENCE:g} s to arrive"))
        else:
            self.transport.close()
            self._abort_later()

    def _refuse(self, problem: Problem) -> None:
        """Send a refusal and close the connection, without reading the rest of the request."""
        if self.transport.is_closing():
            return
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            self.transport.write(raw_response(problem))
        self.transport.close()
        self._abort_later()

    def _abort_later(self) -> None:
        """End a connection later if the client does not read what is left to send."""
        if self.transport.get_write_buffer_size():
            _cancelled(self._reader)
            self._reader = self.loop.call_later(READING_PATIENCE, self.transport.abort)


def guarded(largest_body: int, has_proxy: bool = False) -> type[GuardedProtocol]:
    """Return a protocol class for a service with request bodies of at most `largest_body` bytes.

    With `has_proxy`, connections of one address are not limited: a proxy has those of many clients.

    >>> guarded(1_000_000).largest_request
    2065536
    """
    # Twice the body, since a chunked body takes more bytes than its content.
    largest = 2 * largest_body + 2 * LARGEST_HEAD
    own: dict[str, Any] = {
        "largest_request": largest,
        "most_of_address": None if has_proxy else MOST_OF_ADDRESS,
        "by_address": Counter(),
        "strangers": {},
    }
    return type("GuardedProtocol", (GuardedProtocol,), own)


def raw_response(problem: Problem) -> bytes:
    """Return a refusal as raw bytes, for requests that never reach the application.

    >>> raw_response(Problem(431, "too large")).splitlines()[0]
    b'HTTP/1.1 431 Request Header Fields Too Large'
    """
    body = encode(problem.to_dict())
    head = (
        f"HTTP/1.1 {problem.status} {problem.title}\r\ncontent-type: {MEDIA_TYPE}\r\n"
        f"connection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body


def _head_too_large() -> Problem:
    return Problem(431, f"the request's head has more than {LARGEST_HEAD:,} bytes")


def _cancelled(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Cancel a timer, and return None to store in its place."""
    if timer is not None:
        timer.cancel()
    return None
