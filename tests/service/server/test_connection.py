"""Clients that send too much or too slowly, or do not read: each costs little and delays nobody."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from tests.service.running import Service

from bascule.service.server import connection
from bascule.service.server.connection import LARGEST_HEAD

GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
FORM = b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\nkey=ab"


@pytest.fixture
def raw(service: Service) -> Iterator[socket.socket]:
    with _connected(service) as made:
        yield made


def _connected(service: Service) -> socket.socket:
    port = int(service.url.rpartition(":")[2])
    return socket.create_connection((service.settings.host, port), timeout=10)


def answer(made: socket.socket) -> bytes:
    """All that the service sends until it closes the connection, or pauses."""
    received = b""
    try:
        while part := made.recv(65536):
            received += part
    except (TimeoutError, ConnectionResetError):
        pass
    return received


def flood(made: socket.socket, part: bytes, times: int, pause: float = 0.0) -> int:
    """Send the same again and again; the bytes sent until the service closed the connection."""
    for i in range(times):
        try:
            made.sendall(part)
        except (ConnectionResetError, BrokenPipeError):
            return i * len(part)
        time.sleep(pause)
    raise AssertionError(f"{times * len(part)} bytes were accepted")


@pytest.mark.parametrize(
    "head",
    [
        b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % (LARGEST_HEAD * b"a"),
        GET + b"X-A: %s\r\n\r\n" % (LARGEST_HEAD * b"a"),
        GET + 3000 * b"X-A: aaaaaaaa\r\n" + b"\r\n",
        GET + b"X-A: %s" % (2 * LARGEST_HEAD * b"a"),
        b"POST /v1/experiments HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
        + b"X-A: %s\r\n\r\n" % (LARGEST_HEAD * b"a"),
    ],
    ids=["path", "one header", "many headers", "no end", "trailer"],
)
def test_a_head_that_is_too_large_is_refused(raw: socket.socket, head: bytes) -> None:
    raw.sendall(head)
    assert b"HTTP/1.1 431 Request Header Fields Too Large" in answer(raw)


def test_a_head_of_the_size_that_clients_send_is_accepted(raw: socket.socket) -> None:
    raw.sendall(GET + b"Cookie: %s\r\nConnection: close\r\n\r\n" % (16_000 * b"a"))
    assert answer(raw).startswith(b"HTTP/1.1 200")


def test_a_body_without_end_is_refused_also_without_a_key(service: Service) -> None:
    head = b"POST /v1/experiments HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + 65536 * b"a" + b"\r\n"
    with _connected(service) as made:
        made.sendall(head)
        sent = flood(made, chunk, 1000)
    # What lies in the buffers of the kernel on both sides comes on top of the limit.
    assert sent < 20_000_000


def test_a_large_body_and_the_next_request_arrive_in_one_piece(service: Service) -> None:
    body = b'{"unit": "%s"}' % (100_000 * b"a")
    key = service.keys["client"].encode()
    head = (
        b"POST /v1/experiments/x/assign HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (key, len(body))
    )
    with _connected(service) as made:
        made.sendall(head + body + GET + b"Connection: close\r\n\r\n")
        received = answer(made)
    assert received.startswith(b"HTTP/1.1 400")
    assert b"HTTP/1.1 200 OK" in received


def test_a_client_that_begins_a_request_and_sends_no_more_is_let_go(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bascule.service.server.connection.PATIENCE", 0.3)
    head = b"POST /v1/experiments HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    key = f"X-API-Key: {service.keys['admin']}\r\n".encode()
    part = head + key + b"Content-Length: 9\r\n\r\n{"
    expected = {b"\r\n": b"", GET: b"", part: b"HTTP/1.1 408"}
    made = {sent: _connected(service) for sent in expected}
    for sent, one in made.items():
        # Requests that were there in time give the next ones no more time, and no less.
        for _ in range(2):
            one.sendall(GET + b"\r\n")
            received = b""
            while not received.endswith(b"}"):
                received += one.recv(65536)
        one.sendall(sent)
    since = time.monotonic()
    for sent, one in made.items():
        assert answer(one)[:12] == expected[sent]
        assert 0.2 < time.monotonic() - since < 5
        one.close()


def test_a_client_that_does_not_read_is_let_go(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bascule.service.server.connection.READING_PATIENCE", 0.3)
    asked = b"GET /static/vendor/htmx.min.js HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.settimeout(10)
        made.connect((service.settings.host, int(service.url.rpartition(":")[2])))
        # Enough requests that their answers fill every buffer on the way.
        flood(made, asked, 2000, pause=0.002)
        with service.caller() as other:
            assert other.get("/healthz").status_code == 200


def test_clients_that_hang_up_leave_no_traceback(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    key = service.keys["admin"].encode()
    form = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 500\r\n\r\nkey=a"
    json = b"Content-Type: application/json\r\nContent-Length: 500\r\nX-API-Key: %s\r\n\r\n{" % key
    for head in (
        b"POST /sign-in HTTP/1.1\r\nHost: x\r\n" + form,
        b"POST /v1/experiments HTTP/1.1\r\nHost: x\r\n" + json,
        b"POST /v1/plan HTTP/1.1\r\nHost: x\r\n" + json,
        b"GET /v1/experiments HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n" % key,
    ):
        with _connected(service) as made:
            made.sendall(head)
            time.sleep(0.1)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    time.sleep(0.3)
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        GET + b"X-API-Key: bsc_00000000_x\r\n\r\n",
        b"GET / HTTP/1.1\r\nCookie: a=b\r\nAcc",
        FORM,
    ],
    ids=["nothing", "a wrong key", "half a head", "half a form"],
)
def test_connections_without_a_valid_key_give_way(
    service: Service, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """A wrong key, or a request that does not end, kept a connection open before."""
    monkeypatch.setattr(connection, "CROWDED", 20)
    keyed = _connected(service)
    request = b"GET /v1/experiments HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n"
    keyed.sendall(request % service.keys["viewer"].encode())
    assert keyed.recv(65536).startswith(b"HTTP/1.1 200")
    strangers = []
    for _ in range(60):
        strangers.append(_connected(service))
        strangers[-1].sendall(sent)
    with _connected(service) as another:
        another.sendall(GET + b"\r\n")
        assert another.recv(65536).startswith(b"HTTP/1.1 200")
    # The oldest were closed; one that has shown a valid key was not.
    strangers[0].settimeout(5)
    with suppress(ConnectionResetError):
        while strangers[0].recv(65536):
            pass
    keyed.sendall(GET + b"\r\n")
    assert keyed.recv(65536).startswith(b"HTTP/1.1 200")
    for made in (keyed, *strangers):
        made.close()


def test_requests_that_do_not_wait_for_answers_are_refused(service: Service) -> None:
    """All of a packet are parsed in one step: 500 of each of 64 connections took seconds."""
    with _connected(service) as made:
        made.sendall(10 * (GET + b"\r\n"))
        seen = b""
        while seen.count(b"HTTP/1.1 200") < 10:
            seen += made.recv(65536)
        made.sendall(500 * (GET + b"\r\n"))
        rest = answer(made)
    assert rest.count(b"HTTP/1.1 200") <= connection.MOST_PIPELINED + 1


def test_an_address_has_a_limited_number_of_connections() -> None:
    service = Service()
    try:
        protocol: Any = service._server.config.http_protocol_class
        protocol.most_of_address = most = 5
        made = [_connected(service) for _ in range(8)]
        answers = [one.recv(65536) for one in made[most:]]
        assert all(one.startswith(b"HTTP/1.1 429") for one in answers)
        made[0].sendall(GET + b"\r\n")
        assert made[0].recv(65536).startswith(b"HTTP/1.1 200")
        for one in made:
            one.close()
    finally:
        service.close()
