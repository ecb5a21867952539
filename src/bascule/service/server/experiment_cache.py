"""Which experiments there are, kept at hand and read again every second.

Another program may have made one, released it or deleted it.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from sqlalchemy import select
from starlette.concurrency import run_in_threadpool

from bascule.live.api.experiment import Experiment
from bascule.live.api.store import Store
from bascule.live.steps.assignment import shipped
from bascule.live.storage.queries import gone
from bascule.live.storage.schema import experiments

NEVER = float("-inf")
FRESH = 1.0
"""Seconds after which the experiments are read again."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An experiment as it was read last; `winner` is what everyone gets once it is released."""

    test: Experiment
    arms: tuple[str, ...]
    state: str
    created: float
    version: int
    winner: str | None

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.test.name


class Directory:
    """The experiments of a store by name."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._entries: dict[str, Entry] = {}
        self._read_at = NEVER
        self._lock = asyncio.Lock()

    async def find(self, name: str) -> Entry:
        """The experiment of that name; raises if there is none."""
        now = time.monotonic()
        if now - self._read_at >= FRESH:
            await self._refresh(now - FRESH)
        found = self._entries.get(name)
        if found is None:
            # It may have been made a moment ago, by another program.
            await self._refresh(now)
            found = self._entries.get(name)
        if found is None:
            raise gone(name)
        return found

    async def all(self) -> list[Entry]:
        """All experiments, the oldest first."""
        await self._refresh(time.monotonic() - FRESH)
        return sorted(self._entries.values(), key=lambda entry: entry.test.id)

    def forget(self) -> None:
        """Read the experiments again at the next request: something was changed."""
        self._read_at = NEVER

    async def _refresh(self, since_when: float) -> None:
        """Read the experiments unless that was done after some time; those who wait share it."""
        async with self._lock:
            if self._read_at > since_when:
                return
            since = time.monotonic()
            before = {entry.test.id: entry for entry in self._entries.values()}
            self._entries = await run_in_threadpool(self._read, before)
            self._read_at = since

    def _read(self, before: dict[int, Entry]) -> dict[str, Entry]:
        found = {}
        asked = select(experiments.c.id, experiments.c.name, experiments.c.version)
        with self._store.reading() as connection:
            for row in connection.execute(asked).all():
                known = before.get(row.id)
                if known is None or known.version != row.version:
                    loaded = self._store.load(connection, row.id, row.name)
                    arms = tuple(loaded.design.arms)
                    state = loaded.state
                    winner = arms[shipped(state)] if state.released else None
                    test = known.test if known else Experiment(self._store, row.id, row.name)
                    known = Entry(test, arms, loaded.phase, loaded.created, loaded.version, winner)
                found[row.name] = known
        return found
