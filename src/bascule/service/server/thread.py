"""A service in a thread of its own, for programs that do something else beside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from bascule.live.api.store import Store
from bascule.service.server.app import make_app
from bascule.service.server.run import address, listen, options
from bascule.service.server.settings import Settings


@contextmanager
def serving(store: Store, settings: Settings) -> Iterator[str]:
    """Serve a store inside this block; where it is found."""
    listening = listen(settings)
    server = uvicorn.Server(uvicorn.Config(make_app(store, settings), **options()))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield address(settings, listening)
    finally:
        server.should_exit = True
        thread.join()
