"""The service on a socket: one process on a file, several on PostgreSQL, or a thread."""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI

from bascule.core.errors import InputError, StoreError
from bascule.live.api import Store, opened_store
from bascule.service.auth.keys import list_keys
from bascule.service.auth.oidc import check_installed
from bascule.service.notifications.notify import check_targets
from bascule.service.reading.store_calls import THREADS
from bascule.service.server.app import make_app
from bascule.service.server.connection import guarded
from bascule.service.server.workers import end_with_parent, handled, keep_working
from bascule.service.settings import Settings, believed
from bascule.service.telemetry import FOLDER, log, write_logs

ACTOR = "service"

LEAVING = 5
"""Seconds in which accepted requests are answered before the service ends."""

MOST_CONNECTIONS = 4000


def serve(
    location: str,
    settings: Settings,
    workers: int = 1,
    level: str = "info",
    ready: Callable[[Store, str], None] | None = None,
) -> None:
    """Serve a store until SIGTERM or SIGINT; `ready` gets its address before the first request.

    Either signal ends it in order: no more connections, answers to accepted requests, a closed
    store, and a normal return.
    """
    with _exit_on_stop(), opened_store(location, ACTOR) as store:
        check(store, settings, workers)
        listening = listen(settings)
        if ready is not None:
            ready(store, address(settings, listening))
        write_logs(level)
        if workers == 1:
            run(make_app(store, settings), listening)
    if workers == 1:
        _leave()
    else:
        _serve_together(location, settings, workers, level, listening)


def check(store: Store, settings: Settings, workers: int) -> None:
    """Raise where the service would not be safe, or would not work."""
    check_targets(settings.notify)
    check_installed(settings)
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
    """Open the socket to listen on."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((settings.host, settings.port))
    except (OSError, OverflowError) as problem:
        made.close()
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(
            "port",
            f"cannot listen on {settings.host}, port {settings.port}: {reason.lower()}; end the "
            "program that uses the port, or choose another port (0 takes a free one)",
        ) from None
    made.listen(2048)
    made.set_inheritable(True)
    return made


def address(settings: Settings, listening: socket.socket) -> str:
    """The URL of the service."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listening.getsockname()[1]}"


def run(app: FastAPI, listening: socket.socket) -> None:
    """Serve an application on a socket until a signal to stop; return when all was answered."""
    app.state.is_watched = True
    server = uvicorn.Server(uvicorn.Config(app, **options(app.state.settings)))

    def stop(*_: object) -> None:
        server.should_exit = True

    # Uvicorn sends the signal that ended it again to the handlers that it found: they must not end
    # the process before the store is closed.
    with handled(stop):
        sys.setswitchinterval(SWITCH)
        gc.freeze()
        callback = freezing_callback()
        gc.callbacks.append(callback)
        server.run(sockets=[listening])
        # DuckDB complains of leaks at exit if what it made stays exempt.
        gc.callbacks.remove(callback)
        gc.unfreeze()


SWITCH = 0.0005
"""Seconds after which a thread that computes lets others run: a page that is rendered must not hold
up assignments for Python's usual 5 ms at a time."""

FREEZES = 3
"""How often objects are exempted from garbage collection: modules are loaded when first needed."""


def freezing_callback() -> Callable[[str, Mapping[str, int]], None]:
    """Return a callback of `gc` that exempts what the first full collections have found in use.

    That is nearly all modules, which stay for as long as the process. To go through them again and
    again kept the event loop for 90 ms every few seconds.
    """
    left = FREEZES

    def collected(phase: str, info: Mapping[str, int]) -> None:
        nonlocal left
        if phase == "stop" and info["generation"] == 2 and left:
            left -= 1
            gc.freeze()

    return collected


@contextmanager
def serving(store: Store, settings: Settings) -> Iterator[str]:
    """Serve a store in a thread inside this block, and yield the service's URL."""
    listening = listen(settings)
    server = uvicorn.Server(uvicorn.Config(make_app(store, settings), **options(settings)))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield address(settings, listening)
    finally:
        server.should_exit = True
        thread.join()


def options(settings: Settings) -> dict[str, Any]:
    """The options of Uvicorn for a service, wherever it runs."""
    return {
        "http": guarded(settings.largest_body),
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": LEAVING,
        "limit_concurrency": MOST_CONNECTIONS,
        "ws": "none",
        # By default Uvicorn believes every program on this machine, and an environment variable.
        "proxy_headers": bool(settings.proxies),
        "forwarded_allow_ips": believed(settings.proxies),
    }


def _exit_on_stop() -> Any:
    """End with exit code 0 on a signal to stop that comes before the server runs."""
    return handled(lambda *_: sys.exit(0))


def _leave() -> None:
    """End this process at once where a report is still being computed in a thread.

    The store is closed. Python would wait for the thread, whose result nobody needs any more.
    """
    if any(one.name.startswith(THREADS) and one.is_alive() for one in threading.enumerate()):
        log("report abandoned", level="warning")
        logging.shutdown()
        os._exit(0)


def _serve_together(
    location: str, settings: Settings, workers: int, level: str, listening: socket.socket
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        keep_working(_work, (location, settings, level, listening), workers, LEAVING)


def _work(location: str, settings: Settings, level: str, listening: socket.socket) -> None:
    """Serve in one of several worker processes."""
    end_with_parent()
    write_logs(level)
    with _exit_on_stop():
        try:
            store = Store(location, ACTOR)
        except StoreError as problem:
            log("worker cannot start", level="error", detail=str(problem))
            raise SystemExit(1) from None
        with store:
            run(make_app(store, settings), listening)
    _leave()
