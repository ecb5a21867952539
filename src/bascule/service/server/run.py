"""Running the service: one process for an SQLite file, several for PostgreSQL, or a thread."""

from __future__ import annotations

import errno
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from bascule.core.errors import InputError, StoreError, invalid
from bascule.live.api import Store, opened_store
from bascule.service.auth.keys import list_keys
from bascule.service.auth.oidc import check_installed
from bascule.service.notifications.notify import check_targets
from bascule.service.reading.store_calls import THREADS
from bascule.service.server.app import make_app
from bascule.service.server.connection import guarded
from bascule.service.settings import Settings, believed
from bascule.service.telemetry import FOLDER, log, write_logs

ACTOR = "service"

LEAVING = 5
"""Maximum number of seconds that an ending service waits for answers to accepted requests."""

HEALTH_SECONDS = 60
"""Seconds in which a worker has to show that its process runs, or be replaced."""

STOPS = (signal.SIGTERM, signal.SIGINT)

MOST_CONNECTIONS = 4000


def serve(
    location: str,
    settings: Settings,
    workers: int = 1,
    level: str = "info",
    ready: Callable[[Store, str], None] | None = None,
) -> None:
    """Serve a store until SIGTERM or SIGINT.

    `ready` is called with the store and the service's URL before the first request. Either signal
    ends the service in order: no more connections, answers to accepted requests, a closed store,
    and a normal return.
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
    """Raise if the settings would make the service unsafe, or could not work."""
    check_targets(settings.notify)
    check_installed(settings)
    if workers < 1:
        raise invalid(f"workers must be at least 1 (got {workers})")
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
        is_taken = getattr(problem, "errno", None) == errno.EADDRINUSE
        remedy = "end the program that uses the port, or " if is_taken else "check the host, or "
        raise InputError(
            "port",
            f"cannot listen on {settings.host}, port {settings.port}: {reason.lower()}; "
            f"{remedy}choose another port (0 takes a free one)",
        ) from None
    made.listen(2048)
    made.set_inheritable(True)
    return made


def address(settings: Settings, listening: socket.socket) -> str:
    """Return the service's URL, with the port of the socket (port 0 takes a free one)."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listening.getsockname()[1]}"


def run(app: FastAPI, listening: socket.socket) -> None:
    """Serve an application on a socket until a stop signal; return when all is answered."""
    app.state.has_process = True
    server = uvicorn.Server(uvicorn.Config(app, **options(app.state.settings)))

    def stop(*_: object) -> None:
        server.should_exit = True

    # Uvicorn ends by sending its stop signal again to the previous handlers: these must not end
    # the process before the store is closed.
    with _handled(stop):
        server.run(sockets=[listening])


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
    """Return Uvicorn's options for the service, in a process of its own or in a thread."""
    return {
        "http": guarded(settings.largest_body, bool(settings.proxies)),
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": LEAVING,
        "limit_concurrency": MOST_CONNECTIONS,
        "ws": "none",
        # By default Uvicorn trusts forwarded headers from addresses in an environment variable, or
        # else from this machine.
        "proxy_headers": bool(settings.proxies),
        "forwarded_allow_ips": believed(settings.proxies),
    }


def _exit_on_stop() -> Any:
    """End with exit code 0 on a signal to stop that comes before the server runs."""
    return _handled(lambda *_: sys.exit(0))


@contextmanager
def _handled(handler: Callable[..., Any]) -> Iterator[None]:
    """Handle stop signals inside this block; does nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in STOPS}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


def _leave() -> None:
    """End this process at once if a report is still being computed in a thread.

    The store is closed. Python would wait for the thread, whose result nobody needs any more.
    """
    if any(
        thread.name.startswith(THREADS) and thread.is_alive() for thread in threading.enumerate()
    ):
        log("report abandoned", level="warning")
        logging.shutdown()
        os._exit(0)


class WorkerConfig(uvicorn.Config):
    """The configuration of Uvicorn's workers, which is sent to their processes.

    The protocol is a class that depends on the settings, so each worker makes its own.
    """

    def __init__(self, app: Any, settings: Settings, workers: int) -> None:
        arguments = options(settings)
        del arguments["http"]
        super().__init__(
            app,
            factory=True,
            workers=workers,
            timeout_worker_healthcheck=HEALTH_SECONDS,
            **arguments,
        )
        self._protocol = settings.largest_body, bool(settings.proxies)

    def load(self) -> None:
        """Load the application and the protocol."""
        super().load()
        self.http_protocol_class = guarded(*self._protocol)


class Workers(Multiprocess):
    """Uvicorn's supervisor of workers, which notices at once that a worker has died."""

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have died or do not answer."""
        # While the end of a worker's pipe is open here as well, the supervisor would wait for
        # `HEALTH_SECONDS` for the answer of a worker that was killed, and stop no sooner.
        for process in self.processes:
            process.child_conn.close()
        super().keep_subprocess_alive()


def _serve_together(
    location: str, settings: Settings, workers: int, level: str, listening: socket.socket
) -> None:
    """Serve in several processes, which Uvicorn starts, replaces when they die, and ends."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        config = WorkerConfig(partial(_worker, location, settings, level), settings, workers)
        Workers(config, [listening]).run()


def _worker(location: str, settings: Settings, level: str) -> FastAPI:
    """Make the application of one of several processes."""
    parent = multiprocessing.parent_process()
    threading.Thread(target=_outlive, args=(parent,), daemon=True).start()
    write_logs(level)
    try:
        store = Store(location, ACTOR)
    except StoreError as problem:
        log("worker cannot start", level="error", detail=str(problem))
        raise SystemExit(1) from None
    app = make_app(store, settings)
    app.state.has_process = True

    def end() -> None:
        store.close()
        _leave()

    app.state.at_end = end
    log("worker started", process=os.getpid())
    return app


def _outlive(parent: Any) -> None:
    """Stop this process by a signal when its parent process is gone."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
