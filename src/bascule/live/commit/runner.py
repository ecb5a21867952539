"""Run the jobs of a group in one transaction, and keep assignments in memory.

Most units then need no query. A remembered assignment stays valid until names are erased or linked,
or the experiment is deleted: then all assignments of the experiment are forgotten. What the units
of an arm are served, for example after a release, is read from the state of the experiment.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping
from itertools import chain, groupby, islice
from operator import attrgetter
from sys import getsizeof
from threading import Lock
from time import perf_counter
from typing import Any, cast

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from bascule.core.errors import InputError, StoreError
from bascule.live.clock import Clock, ClockGuard
from bascule.live.commit.queue import Job, Reply
from bascule.live.steps.assignment import Shuffle
from bascule.live.steps.serving import Served, served_arms
from bascule.live.storage.databases.database import Database
from bascule.live.storage.queries import Loaded, gone, stored_row
from bascule.live.storage.state_json import naming_damage
from bascule.live.storage.statements import database_time, fetch
from bascule.live.transactions.unit_of_work import Kept, UnitOfWork

MOST_BYTES = 32 * 2**20
"""Maximum memory for the remembered units of all experiments of a store, in bytes."""

ENTRY_BYTES = 100
"""Bytes that a remembered unit takes in a dictionary, not counting its name."""


class Memory:
    """Cache of the arms of recently seen units, by experiment.

    If the maximum is exceeded, the oldest units of the experiment that takes most bytes are
    forgotten.

    >>> memory = Memory(most_bytes=400)
    >>> memory.learn(1, {"u": 0, "v": None, "w": 1, "x": 0})
    >>> memory.of(1)
    {'w': 1, 'x': 0}
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = Lock()
        # Plain integers, which the garbage collector does not track.
        self._arms: dict[int, dict[str, int]] = {}
        self._bytes: dict[int, int] = {}
        self._total = 0

    @property
    def size(self) -> int:
        """Approximate size of the remembered units, in bytes."""
        return self._total

    def of(self, experiment: int) -> dict[str, int]:
        """Return an experiment's remembered arms by unit; the dictionary is kept up to date."""
        return self._arms.setdefault(experiment, {})

    def learn(self, experiment: int, arms: Mapping[str, int | None]) -> None:
        """Remember the arms of units whose assignments are on disk."""
        with self._lock:
            known = self._arms.setdefault(experiment, {})
            new = arms
            if None in arms.values() or not known.keys().isdisjoint(arms):
                new = {u: arm for u, arm in arms.items() if arm is not None and u not in known}
            known.update(cast("Mapping[str, int]", new))
            self._count(experiment, new, 1)
            while self._total > self._most_bytes:
                self._forget_first(max(self._bytes, key=self._bytes.__getitem__))

    def forget(self, experiment: int) -> None:
        """Forget all units of an experiment, after it was deleted or some of them were erased."""
        with self._lock:
            if experiment in self._arms:
                self._arms[experiment].clear()
            self._total -= self._bytes.pop(experiment, 0)

    def _forget_first(self, experiment: int) -> None:
        known = self._arms[experiment]
        # Several at once: finding the first key of a dictionary is slow after many deletions.
        dropped = list(islice(known, max(1, len(known) // 8)))
        for unit in dropped:
            del known[unit]
        self._count(experiment, dropped, -1)

    def _count(self, experiment: int, units: Collection[str], sign: int) -> None:
        size = sign * (sum(map(getsizeof, units)) + ENTRY_BYTES * len(units))
        self._bytes[experiment] = self._bytes.get(experiment, 0) + size
        self._total += size


_VERSION = "SELECT version FROM experiments WHERE id = ?"
_VERSION_LOCKED = (
    "SELECT version, extract(epoch FROM clock_timestamp()) FROM experiments WHERE id = ? FOR UPDATE"
)


def load(
    connection: Connection, experiment: int, name: str, known: Loaded | None, lock: bool = False
) -> tuple[Loaded, float | None]:
    """Return an experiment as it is now, and the time of the database's clock.

    `known` is reused if its version has not changed. With `lock`, nobody else can change the
    experiment until the transaction ends. The time is None without `lock`, and on SQLite.
    """
    # SQLite has one writer at a time, which already holds the lock.
    locks = lock and connection.dialect.name != "sqlite"
    rows = fetch(connection, _VERSION_LOCKED if locks else _VERSION, experiment)
    if not rows:
        raise gone(name)
    version, *time = rows[0]
    if known is None or known.version != version:
        known = stored_row(connection, experiment, name)
    return known, float(time[0]) if time else None


CONFLICTS = (sqlite3.IntegrityError, IntegrityError)
EXPERIMENT, JOB = attrgetter("experiment"), attrgetter("job")
DEADLOCK = "40P01"
"""PostgreSQL's error code for a deadlock."""

FRESH = 1.0
"""Seconds for which the arms to serve are cached."""


class Runner:
    """Runs each group of jobs in one transaction, and remembers the arms that they assigned."""

    def __init__(self, database: Database, clock: Clock, shuffle: Shuffle, actor: str) -> None:
        self._database = database
        self._shuffle = shuffle
        self._actor = actor
        self._kept: dict[int, Kept] = {}
        self._latest: dict[int, tuple[Loaded, float, Served]] = {}
        self._erased: dict[int, tuple[int, int, str]] = {}
        self.guard = ClockGuard(clock)
        self.memory = Memory()

    def run(self, replies: list[Reply[Any]]) -> None:
        """Run the jobs of a group; their changes are on disk on return, and undone if this raises.

        An error in one job fails that job alone: the others are then run one by one.
        """
        try:
            try:
                self._run(replies)
            except StoreError as error:
                if not _is_conflict(error.__cause__):
                    raise
                # Another transaction was in the way, or the cached data differs from that on disk,
                # as after a restore: read everything again.
                for reply in replies:
                    self.memory.forget(reply.job.experiment)
                    reply.error = None
                self._run(replies)
        except StoreError:
            raise
        except Exception as error:
            if len(replies) == 1:
                replies[0].error = error
                return
            for reply in replies:
                reply.error, reply.results = None, ()
                self.run([reply])

    def load(self, connection: Connection, experiment: int, name: str) -> Loaded:
        """Return an experiment as it is stored."""
        kept = self._kept.get(experiment)
        known = None if kept is None else kept.loaded
        loaded, _ = load(connection, experiment, name, known)
        self.notice_erasures(loaded)
        return loaded

    def now(self, loaded: Loaded) -> float:
        """Return the time for an experiment; raise `ClockError` if the clock is wrong for it."""
        return self.guard.now(loaded.state.clock)

    def store_time(self, connection: Connection) -> float:
        """Return the time for a change outside experiments; raise `ClockError` if it is wrong."""
        return self.guard.now(self.guard.kind, database_time(connection))

    def served(self, experiment: int, name: str) -> Served:
        """Return the evaluation for the units of each arm, cached for at most a second."""
        latest = self._latest.get(experiment)
        if latest is None or perf_counter() - latest[1] > FRESH:
            with self._database.reading_hot() as connection:
                loaded = self.load(connection, experiment, name)
            newest = self._latest.get(experiment)
            # A transaction of this program may have stored a newer version meanwhile.
            if newest is not None and newest[0].version > loaded.version:
                loaded = newest[0]
            served = served_arms(loaded.arms, loaded.state)
            self._latest[experiment] = latest = (loaded, perf_counter(), served)
        return latest[2]

    def forget(self, experiment: int) -> None:
        """Forget all units of an experiment, after it was deleted or some of them were erased."""
        self.memory.forget(experiment)
        self._latest.pop(experiment, None)

    def erase(
        self, experiments: Mapping[int, str], step: Callable[[UnitOfWork], None], actor: str
    ) -> None:
        """Run a step on experiments in one transaction; on SQLite, deleted data is overwritten."""
        with self._database.erasing() as connection:
            for experiment in sorted(experiments):
                name = experiments[experiment]
                with naming_damage(name, "nothing was erased"):
                    loaded, database_time = load(connection, experiment, name, None, lock=True)
                now = self.guard.now(loaded.state.clock, database_time)
                work = UnitOfWork(connection, Kept(loaded, {}, {}), now, self._shuffle, actor)
                step(work)
                work.save()
        for experiment in experiments:
            self.forget(experiment)

    def notice_erasures(self, loaded: Loaded) -> None:
        """Forget an experiment's cached arms if units were erased, or a link changed an arm."""
        names = loaded.state.names
        # Once the key is gone, hashed names can no longer be found.
        changes = (names.erased, names.relinked, names.key)
        if changes != self._erased.get(loaded.id, (0, 0, "")):
            self.memory.forget(loaded.id)
            self._erased[loaded.id] = changes

    def _run(self, replies: list[Reply[Any]]) -> None:
        by_job: dict[Job, list[Reply[Any]]] = {}
        for job, group in groupby(replies, JOB):
            by_job.setdefault(job, []).extend(group)
        # Always in the same order, so that two programs cannot deadlock.
        jobs = sorted(by_job, key=lambda job: (job.experiment, not job.enrols))
        try:
            with self._database.writing() as connection:
                results = [
                    self._one(connection, {job: by_job[job] for job in its_jobs})
                    for _, its_jobs in groupby(jobs, EXPERIMENT)
                ]
        except BaseException:
            self._kept.clear()
            raise
        for kept, work in filter(None, results):
            experiment = kept.loaded.id
            self._kept[experiment] = kept
            self._latest[experiment] = (kept.loaded, perf_counter(), work.served)
            self.memory.learn(experiment, work.arms)
            # `learn` brings a unit back which another process erased after the commit, if another
            # thread noticed that erasure before `learn`.
            self.notice_erasures(kept.loaded)

    def _one(
        self, connection: Connection, jobs: Mapping[Job, list[Reply[Any]]]
    ) -> tuple[Kept, UnitOfWork] | None:
        """Run the jobs of one experiment; return its new state and the completed work."""
        experiment, name, *_ = next(iter(jobs))
        kept = self._kept.pop(experiment, None)
        known = None if kept is None else kept.loaded
        try:
            loaded, database_time = load(connection, experiment, name, known, lock=True)
            now = self.guard.now(loaded.state.clock, database_time)
        except (InputError, StoreError) as error:
            # The experiment is gone, or the clock is wrong for it: only its jobs fail.
            if isinstance(error, InputError):
                self.memory.forget(experiment)
            for reply in chain.from_iterable(jobs.values()):
                reply.error = error
            return None
        if kept is None or kept.loaded is not loaded:
            self.notice_erasures(loaded)
            kept = Kept(loaded, {}, self.memory.of(experiment))
        work = UnitOfWork(connection, kept, now, self._shuffle, self._actor)
        run_jobs(work, jobs)
        after = work.save()
        # Many blocks may wait for outcomes: they are read again when needed, and not cached.
        wanted = (after.state.block.number, after.state.enrolment.deal)
        deals = {number: work.deals[number] for number in wanted if number in work.deals}
        return Kept(after, deals, kept.remembered, work.served), work


def _is_conflict(cause: BaseException | None) -> bool:
    """Whether a transaction failed because of a concurrent one, so that a retry may succeed."""
    state = getattr(getattr(cause, "orig", None), "sqlstate", None)
    return isinstance(cause, CONFLICTS) or state == DEADLOCK


def run_jobs(work: UnitOfWork, jobs: Mapping[Job, list[Reply[Any]]]) -> None:
    """Run the jobs of one experiment, each with the items of all its replies at once."""
    store_actor = work.actor
    for job, replies in jobs.items():
        # What a group of several callers leads to, such as a decision, is the act of none of them.
        actors = {reply.actor for reply in replies}
        work.actor = (actors.pop() if len(actors) == 1 else None) or store_actor
        items = [item for reply in replies for item in reply.items]
        try:
            results = job.action(work, items)
        except InputError as error:
            for reply in replies:
                reply.error = error
            continue
        first = 0
        for reply in replies:
            last = first + len(reply.items)
            reply.results = results[first:last]
            # If the result of an item is an error, only the caller of this item gets it.
            errors = (result for result in reply.results if isinstance(result, InputError))
            reply.error = next(errors, None)
            first = last
