"""The transactions of a store: each does the jobs of a group and keeps at hand what it has read."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from time import perf_counter

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from bascule.core.errors import InputError, StoreError
from bascule.live.clock import Clock
from bascule.live.commit.memory import Memory
from bascule.live.commit.pending_jobs import Job, do_all
from bascule.live.steps.assignment import Shuffle, shipped
from bascule.live.storage.database import Database
from bascule.live.storage.queries import Loaded, load
from bascule.live.storage.state import Deal
from bascule.live.transactions.unit_of_work import Work

CONFLICTS = (sqlite3.IntegrityError, IntegrityError)

FRESH = 1.0
"""Seconds for which a program need not ask whether others have released the units."""


@dataclass(slots=True)
class _Kept:
    """What is known of an experiment from its last transaction."""

    loaded: Loaded
    deals: dict[int, Deal]


class Transactions:
    """Does jobs, a group in one transaction, and remembers what came of them."""

    def __init__(self, database: Database, clock: Clock, shuffle: Shuffle, actor: str) -> None:
        self._database = database
        self._clock = clock
        self._shuffle = shuffle
        self._actor = actor
        self._kept: dict[int, _Kept] = {}
        self._seen: dict[int, tuple[Loaded, float]] = {}
        self.memory = Memory()

    def do(self, jobs: list[Job]) -> None:
        """Do them; they are on disk when this returns, or nothing has happened."""
        try:
            self._try(jobs)
        except StoreError as problem:
            if not isinstance(problem.__cause__, CONFLICTS):
                raise
            # What is on disk is not what was there, as when a backup was put back: look again.
            for job in jobs:
                self.memory.forget(job.experiment)
                job.problem = None
            self._try(jobs)

    def load(self, connection: Connection, experiment: int, name: str) -> Loaded:
        """An experiment as it is stored."""
        kept = self._kept.get(experiment)
        known = None if kept is None else kept.loaded
        return load(connection, experiment, name, known, lock=False)

    def released(self, experiment: int, name: str) -> int | None:
        """The arm that everyone gets once the units were released; as it was a moment ago."""
        seen = self._seen.get(experiment)
        if seen is None or perf_counter() - seen[1] > FRESH:
            with self._database.reading() as connection:
                loaded = self.load(connection, experiment, name)
            newest = self._seen.get(experiment)
            # A transaction of our own may have come between.
            if newest is not None and newest[0].version > loaded.version:
                loaded = newest[0]
            self._seen[experiment] = seen = (loaded, perf_counter())
        standing = seen[0].standing
        return shipped(standing) if standing.released else None

    def forget(self, experiment: int) -> None:
        """Forget an experiment that is gone."""
        self.memory.forget(experiment)
        self._seen.pop(experiment, None)

    def _try(self, jobs: list[Job]) -> None:
        try:
            with self._database.writing() as connection:
                done = [
                    self._one(connection, [job for job in jobs if job.experiment == experiment])
                    # Always in the same order, so that two programs never wait for each other.
                    for experiment in sorted({job.experiment for job in jobs})
                ]
        except BaseException:
            self._kept.clear()
            raise
        for kept, arms in filter(None, done):
            experiment = kept.loaded.id
            self._kept[experiment] = kept
            self._seen[experiment] = (kept.loaded, perf_counter())
            self.memory.learn(experiment, arms)

    def _one(
        self, connection: Connection, jobs: list[Job]
    ) -> tuple[_Kept, dict[str, int | None]] | None:
        """Do the jobs of one experiment; what is known of it then, and the arms of units."""
        experiment = jobs[0].experiment
        kept = self._kept.pop(experiment, None)
        known = None if kept is None else kept.loaded
        try:
            loaded = load(connection, experiment, jobs[0].name, known, lock=True)
        except InputError as problem:
            self.memory.forget(experiment)
            for job in jobs:
                job.problem = problem
            return None
        deals = kept.deals if kept is not None and kept.loaded is loaded else {}
        now, remembered = self._clock.now(), self.memory.of(experiment)
        work = Work(connection, loaded, deals, now, self._shuffle, self._actor, remembered)
        do_all(work, jobs)
        after = work.save()
        # Blocks that wait for their outcomes may be many: they are read again when these have come.
        wanted = (after.standing.folding, after.standing.deal)
        deals = {number: deals[number] for number in wanted if number in deals}
        return _Kept(after, deals), work.arms
