"""Group commit: callers that come while one transaction is written share the next one.

There is no thread of its own: the first caller to come writes for all who are there, and whoever
came meanwhile is the next group. It waits for company, for a moment, only if there was company
the last time. One caller alone is a group of one, and waits for nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import perf_counter, sleep
from typing import Generic, TypeVar

Job = TypeVar("Job")

LARGEST_GROUP = 512

PATIENCE, NAP = 0.002, 0.0002
"""Seconds that a group waits for those who were in the last one, and between two looks."""


class _Ticket(Generic[Job]):
    """A job that waits for its group."""

    __slots__ = ("called", "failed", "is_done", "job")

    def __init__(self, job: Job) -> None:
        self.job = job
        # Held until someone calls: a bare lock costs less than an event.
        self.called = Lock()
        self.called.acquire()
        self.is_done = False
        self.failed: BaseException | None = None


class Groups(Generic[Job]):
    """Runs jobs in groups, one group at a time.

    >>> groups = Groups(lambda jobs: print(len(jobs)))
    >>> groups.run("a job")
    1
    """

    def __init__(self, work: Callable[[list[Job]], object]) -> None:
        self._work = work
        self._lock = Lock()
        self._queue: list[_Ticket[Job]] = []
        self._busy = False
        self._company = 1

    def run(self, job: Job) -> None:
        """Have the job done; an error of its group is raised for each caller in it."""
        ticket = _Ticket(job)
        with self._lock:
            self._queue.append(ticket)
            leads = not self._busy
            self._busy = True
        if not leads:
            ticket.called.acquire()
        if not ticket.is_done:
            self._lead()
        if ticket.failed is not None:
            raise ticket.failed

    def _lead(self) -> None:
        if self._company > 1:
            until = perf_counter() + PATIENCE
            while len(self._queue) < self._company and perf_counter() < until:
                sleep(NAP)
        with self._lock:
            group, self._queue = self._queue[:LARGEST_GROUP], self._queue[LARGEST_GROUP:]
        self._company = len(group)
        failed: BaseException | None = None
        try:
            self._work([ticket.job for ticket in group])
        except BaseException as problem:
            failed = problem
        for ticket in group:
            ticket.is_done, ticket.failed = True, failed
            ticket.called.release()
        with self._lock:
            if self._queue:
                # Whoever has waited longest leads the next group.
                self._queue[0].called.release()
            else:
                self._busy = False
