"""Running experiments and their storage; databases load when a store is opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bascule.live.api.store import Store
from bascule.live.clock import Clock


def open(  # noqa: A001
    location: str | Path,
    *,
    actor: str = "python",
    clock: Clock | None = None,
    shuffle: Callable[[list[int]], None] | None = None,
) -> Store:
    """A store of live tests: a file, `":memory:"`, or `postgresql://user@host/database`.

    A file that is not there is made. `actor` is who the audit log names; `clock` and `shuffle` are
    for tests and replays.

    >>> import bascule as bs
    >>> with bs.open(":memory:") as store:
    ...     store.experiments()
    []
    """
    return Store(location, actor, clock, shuffle)
