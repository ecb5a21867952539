"""Group commit: jobs that arrive while one transaction is written share the next one.

The first caller writes for all that are queued, and those that arrive meanwhile are the next group.
A leader waits a moment for more only if the last group had several callers; a single caller never
waits. Jobs that nobody blocks for (`submit`) are delivered after their commit; where only such
jobs are queued, a thread of the queue writes them.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from threading import Lock, Thread
from time import perf_counter
from typing import Generic, Protocol, TypeVar

Job = TypeVar("Job")

LARGEST_GROUP, HEAVIEST_GROUP = 512, 20_000
"""Most jobs of a group, and most items that they may have together unless it is one job."""

PATIENCE, LONGEST_PATIENCE = 0.002, 0.005
"""Seconds that a leader waits for one more caller of the last group, and for all of them."""

IDLE = 5.0
"""Seconds without work after which the thread of the queue ends."""


def copy_error(error: BaseException) -> BaseException:
    """Copy an error that several callers get, so that each has a traceback of its own.

    >>> error = ValueError("the disk is full")
    >>> copy_error(error) is error, str(copy_error(error))
    (False, 'the disk is full')
    """
    try:
        copied = copy(error)
    except Exception:
        # An error that cannot be copied is better than none.
        return error
    copied.__cause__ = error.__cause__
    return copied


class Member(Protocol[Job]):
    """A queued job, and how its result reaches its callers."""

    job: Job

    @property
    def callers(self) -> int:
        """How many callers wait for it."""

    def deliver(self, failure: BaseException | None, /) -> None:
        """Give the callers their results, or the error of the group."""


class _Ticket(Generic[Job]):
    """A job whose caller blocks until its group is written."""

    __slots__ = ("called", "failure", "is_done", "job")

    callers = 1

    def __init__(self, job: Job) -> None:
        self.job = job
        # Held until someone calls: a bare lock costs less than an event.
        self.called = Lock()
        self.called.acquire()
        self.is_done = False
        self.failure: BaseException | None = None

    def deliver(self, failure: BaseException | None) -> None:
        self.is_done, self.failure = True, failure
        self.called.release()


class CommitQueue(Generic[Job]):
    """A queue that runs its jobs in groups, one group at a time.

    >>> queue = CommitQueue(lambda jobs: print(len(jobs)))
    >>> queue.run("a job")
    1
    """

    def __init__(
        self, work: Callable[[list[Job]], object], weigh: Callable[[Job], int] = lambda _: 1
    ) -> None:
        self._work = work
        self._weigh = weigh
        self._lock = Lock()
        self._queue: list[Member[Job]] = []
        # Callers in the queue, and how many are expected before a group is written.
        self._there = 0
        self._company = 1
        self._busy = False
        # Above 0 while a leader waits for that many; then `_complete` is released once.
        self._wanted = 0
        self._complete = Lock()
        self._complete.acquire()
        self._thread: Thread | None = None
        self._wake = Lock()
        self._wake.acquire()

    def run(self, job: Job) -> None:
        """Run a job and wait for it; an error of its group is raised for each caller in it."""
        ticket = _Ticket(job)
        if not self._join(ticket):
            ticket.called.acquire()
        if not ticket.is_done:
            self._lead()
        if ticket.failure is not None:
            raise copy_error(ticket.failure)

    def submit(self, member: Member[Job]) -> None:
        """Run a job without waiting; `member.deliver` gets the error of its group, or None.

        It is called in the thread that wrote the group, and must return soon and not raise.
        """
        if self._join(member):
            self._call_thread()

    def _join(self, member: Member[Job]) -> bool:
        """Add a job to the queue; return whether its caller has to lead the next group."""
        with self._lock:
            self._queue.append(member)
            self._there += member.callers
            if self._wanted and self._there >= self._wanted:
                self._wanted = 0
                self._complete.release()
            leads = not self._busy
            self._busy = True
        return leads

    def _lead(self) -> None:
        self._wait_for_company()
        with self._lock:
            size = self._fitting()
            group, self._queue = self._queue[:size], self._queue[size:]
            callers = sum(member.callers for member in group)
            self._there -= callers
        failure: BaseException | None = None
        try:
            self._work([member.job for member in group])
        except BaseException as problem:
            failure = problem
        with self._lock:
            # Callers that get their result now may soon be back, beside those that wait already.
            self._company = min(callers + self._there, LARGEST_GROUP)
        for member in group:
            member.deliver(failure)
        with self._lock:
            first = self._queue[0] if self._queue else None
            self._busy = first is not None
        # The caller that has waited longest leads the next group.
        if isinstance(first, _Ticket):
            first.called.release()
        elif first is not None:
            self._call_thread()

    def _fitting(self) -> int:
        """How many queued jobs make a group: fewer where each has many items."""
        size, weight = 0, 0
        for member in self._queue[:LARGEST_GROUP]:
            weight += self._weigh(member.job)
            if size and weight > HEAVIEST_GROUP:
                break
            size += 1
        return size

    def _wait_for_company(self) -> None:
        until = perf_counter() + LONGEST_PATIENCE
        there = 0
        while True:
            with self._lock:
                # As long as they keep coming, the others of the last group will come too.
                if not there < self._there < self._company or perf_counter() > until:
                    return
                there = self._there
                self._wanted = self._company
            if self._complete.acquire(timeout=PATIENCE):
                return
            with self._lock:
                if self._wanted == 0:
                    self._complete.acquire()
                    return
                self._wanted = 0

    def _call_thread(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = Thread(target=self._serve, name="bascule-commit", daemon=True)
                self._thread.start()
        self._wake.release()

    def _serve(self) -> None:
        while True:
            if self._wake.acquire(timeout=IDLE):
                self._lead()
                continue
            with self._lock:
                # A call may have come just now: it holds `_busy`, and will be heard.
                if not self._busy:
                    self._thread = None
                    return
