"""The parts that all experiments of a store share: database, clock, commit queue, memory.

`Experiment` depends on this module and not on `Store`, which depends on both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sqlalchemy import Connection

from bascule.live.clock import Clock, SystemClock
from bascule.live.commit.queue import Action, CommitQueue, Job, Reply
from bascule.live.commit.runner import Runner
from bascule.live.steps.assignment import fair_shuffle
from bascule.live.steps.inputs import check_actor
from bascule.live.storage.databases.database import Database
from bascule.live.storage.queries import Loaded
from bascule.live.transactions.unit_of_work import UnitOfWork

ACTOR: ContextVar[str | None] = ContextVar("actor", default=None)
"""The actor to name in the audit log; None stands for the actor given when the store was opened."""


@contextmanager
def acting_as(name: str) -> Iterator[None]:
    """Record all changes inside this `with` block in the audit log under an actor's name.

    >>> import bascule as bs
    >>> store = bs.open(":memory:")
    >>> with acting_as("ann"):
    ...     store.actor
    'ann'
    >>> store.actor
    'python'
    """
    check_actor(name)
    before = ACTOR.set(name)
    try:
        yield
    finally:
        ACTOR.reset(before)


class StoreContext:
    """The parts that all experiments of a store share, and methods that use them."""

    def __init__(
        self,
        location: str,
        actor: str,
        clock: Clock | None,
        shuffle: Callable[[list[int]], None] | None,
    ) -> None:
        check_actor(actor)
        self.clock: Clock = clock or SystemClock()
        self._actor = actor
        self._database = Database(location)
        self.check_open = self._database.check_open
        # `reading` and `reporting` have connections of their own, except in memory, so that they do
        # not delay assignments. `writing` is for changes that no job of an experiment makes.
        self.reading = self._database.reading
        self.reporting = self._database.reporting
        self.writing = self._database.writing
        self.runner = Runner(self._database, self.clock, shuffle or fair_shuffle(), actor)
        self.queue = CommitQueue(self.runner.run, self.check_open)
        self.memory = self.runner.memory

    def change(
        self, experiment: int, name: str, action: Action, items: Sequence[Any]
    ) -> Sequence[Any]:
        """Run an action on an experiment, and return its result for each of the items.

        Changes are on disk on return, and undone on errors.
        """
        job = Job(experiment, name, action)
        return self.queue.run(Reply(job, items, lambda result: result, ACTOR.get())).result()

    def erasing(self, experiments: Mapping[int, str], step: Callable[[UnitOfWork], None]) -> None:
        """Run a step on experiments in one transaction; on SQLite, deleted data is overwritten."""
        self.runner.erase(experiments, step, self.actor)

    def load(self, connection: Connection, experiment: int, name: str) -> Loaded:
        """Return an experiment as it is stored."""
        return self.runner.load(connection, experiment, name)

    @property
    def actor(self) -> str:
        """The actor that is currently named in the audit log."""
        return ACTOR.get() or self._actor

    @property
    def is_shared(self) -> bool:
        """Whether several machines may use the store, as with PostgreSQL."""
        return not self._database.is_sqlite

    def close(self) -> None:
        """Close the database; a SQLite file then also contains the data of its write-ahead log."""
        self._database.close()
