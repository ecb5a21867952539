"""The service on a socket: one process on a file, several on PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bascule.core.errors import InputError, StoreError
from bascule.live import open as open_store
from bascule.live.api.store import Store
from bascule.service.auth.keys import list_keys
from bascule.service.server.app import make_app
from bascule.service.server.json_response import encode
from bascule.service.server.logs import log, write_logs
from bascule.service.server.metrics import FOLDER
from bascule.service.server.problems import Problem
from bascule.service.server.settings import Settings
from bascule.service.server.workers import end_with_parent, keep_working

ACTOR = "service"
PATIENCE = 10
"""Seconds in which a request has to arrive, head and body."""

_SLOW = encode(Problem(408, f"the request took longer than {PATIENCE} s").to_dict())
TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/problem+json\r\n"
    b"connection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(_SLOW), _SLOW)
)

LEAVING = 30
"""Seconds in which what was accepted is answered before the service ends."""

MOST_CONNECTIONS = 4000


class Impatient(HttpToolsProtocol):
    """The server's protocol, which lets go of whoever sends a request too slowly."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        self._wait()

    def on_message_begin(self) -> None:
        """A request begins: its head has to follow."""
        super().on_message_begin()
        self._wait()

    def on_message_complete(self) -> None:
        """All of it is there, head and body."""
        self._rest()
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody to wait for."""
        self._rest()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._rest()
        self._patience = self.loop.call_later(PATIENCE, self._let_go)

    def _rest(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _let_go(self) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_started:
            # The head was there, so that someone waits for an answer.
            self.transport.write(TOO_SLOW)
        self.transport.close()


def serve(
    location: str,
    settings: Settings,
    workers: int = 1,
    level: str = "info",
    ready: Callable[[Store, str], None] | None = None,
) -> None:
    """Serve a store until told to stop; `ready` is told where, before the first request."""
    with open_store(location, actor=ACTOR) as store:
        check(store, settings, workers)
        listening = listen(settings)
        if ready is not None:
            ready(store, address(settings, listening))
        write_logs(level)
        if workers == 1:
            run(make_app(store, settings), listening)
            return
    _serve_together(location, settings, workers, level, listening)


def check(store: Store, settings: Settings, workers: int) -> None:
    """Raise where it would not be safe, or would not work."""
    if workers < 1:
        raise InputError("workers", f"workers must be at least 1 (got {workers})")
    if workers > 1 and not store.is_shared:
        raise InputError(
            "workers",
            "several workers need PostgreSQL: give --store postgresql://user@host/database, or "
            "leave --workers out",
        )
    if not settings.is_local and not any(key.revoked is None for key in list_keys(store)):
        raise InputError(
            "host",
            f"{settings.host} can be reached from elsewhere, and there is no key: make one with "
            "bascule key create --role admin, or listen on 127.0.0.1",
        )


def listen(settings: Settings) -> socket.socket:
    """The socket to listen on."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((settings.host, settings.port))
    except (OSError, OverflowError) as problem:
        made.close()
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(
            "port", f"cannot listen on {settings.host}, port {settings.port}: {reason.lower()}"
        ) from None
    made.listen(2048)
    made.set_inheritable(True)
    return made


def address(settings: Settings, listening: socket.socket) -> str:
    """Where the service is found."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listening.getsockname()[1]}"


def run(app: FastAPI, listening: socket.socket) -> None:
    """Serve an application on a socket until told to stop."""
    uvicorn.Server(uvicorn.Config(app, **options())).run(sockets=[listening])


def _serve_together(
    location: str, settings: Settings, workers: int, level: str, listening: socket.socket
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        keep_working(_work, (location, settings, level, listening), workers, LEAVING)


def _work(location: str, settings: Settings, level: str, listening: socket.socket) -> None:
    """What each of several workers does."""
    end_with_parent()
    write_logs(level)
    try:
        store = open_store(location, actor=ACTOR)
    except StoreError as problem:
        log("worker cannot start", level="error", detail=str(problem))
        raise SystemExit(1) from None
    with store:
        run(make_app(store, settings), listening)


def options(**more: Any) -> dict[str, Any]:
    """How the server is run, wherever it is."""
    return {
        "http": Impatient,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": LEAVING,
        "limit_concurrency": MOST_CONNECTIONS,
        "ws": "none",
        **more,
    }
