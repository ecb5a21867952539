"""Live tests: experiments that run on real traffic, and the stores that keep them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bascule.live.api.backup import backup, restore
from bascule.live.api.store import Store
from bascule.live.clock import Clock
from bascule.live.reports.history import HistoryPoint
from bascule.live.reports.status import ArmStatus, Status
from bascule.live.reports.verification.doctor import StoreCheck, doctor
from bascule.live.steps.maturity import Receipt

__all__ = [
    "ArmStatus",
    "HistoryPoint",
    "Receipt",
    "Status",
    "StoreCheck",
    "backup",
    "doctor",
    "open",
    "restore",
]


def open(  # noqa: A001
    location: str | Path,
    *,
    actor: str = "python",
    clock: Clock | None = None,
    shuffle: Callable[[list[int]], None] | None = None,
) -> Store:
    """Open a store of live tests: a file, `":memory:"`, or `postgresql://user@host/database`.

    A file that does not exist is created. The audit log records changes under the name `actor`.

    `clock` replaces the machine's clock: an object such as `ManualClock`, whose method `now`
    returns seconds since 1970-01-01 in UTC. `shuffle` replaces the random order of arms in a block
    (it shuffles a list in place). Both are for tests and replays. An experiment that was created on
    a clock of yours takes any clock. An experiment that was created on the machine's clock refuses
    a clock that differs from the machine's by more than a minute.

    >>> import bascule as bs
    >>> with bs.open(":memory:") as store:
    ...     store.experiments()
    []
    """
    return Store(location, actor, clock, shuffle)
