"""Group commit: callers that come while one transaction is written share the next one.

The first caller to come writes for all who are there, and whoever came meanwhile is the next group.
It waits for company, for a moment, only if there was company the last time. One caller alone is a
group of one, and waits for nobody. Callers that do not wait for their answer (`submit`) are told it
later; where only such callers are left, a thread of the groups' own writes for them.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from threading import Lock, Thread
from time import perf_counter
from typing import Generic, Protocol, TypeVar

Job = TypeVar("Job")
Flush = Callable[[], None]

LARGEST_GROUP, HEAVIEST_GROUP = 512, 20_000
"""Jobs of a group, and what they may weigh together unless it is one alone."""

PATIENCE, LONGEST_PATIENCE = 0.002, 0.005
"""Seconds that a group waits for the next of those who were in the last one, and for all."""

IDLE = 5.0
"""Seconds without work after which the groups' own thread ends."""


def own(problem: BaseException) -> BaseException:
    """The same error for one of many who are told it, so that no other's traceback gets into it.

    >>> problem = ValueError("the disk is full")
    >>> own(problem) is problem, str(own(problem))
    (False, 'the disk is full')
    """
    try:
        made = copy(problem)
    except Exception:
        # An error that cannot be made again is better than none.
        return problem
    made.__cause__ = problem.__cause__
    return made


class Member(Protocol[Job]):
    """A job in a group, and how its callers are told that it is done, or what went wrong."""

    job: Job

    @property
    def callers(self) -> int:
        """How many wait for it."""

    def tell(self, failed: BaseException | None, /) -> Flush | None:
        """Tell the callers."""


class _Ticket(Generic[Job]):
    """A job that waits for its group, and its caller with it."""

    __slots__ = ("called", "failed", "is_done", "job")

    callers = 1

    def __init__(self, job: Job) -> None:
        self.job = job
        # Held until someone calls: a bare lock costs less than an event.
        self.called = Lock()
        self.called.acquire()
        self.is_done = False
        self.failed: BaseException | None = None

    def tell(self, failed: BaseException | None) -> Flush | None:
        self.is_done, self.failed = True, failed
        self.called.release()
        return None


class Groups(Generic[Job]):
    """Runs jobs in groups, one group at a time.

    >>> groups = Groups(lambda jobs: print(len(jobs)))
    >>> groups.run("a job")
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
        """Have the job done; an error of its group is raised for each caller in it."""
        ticket = _Ticket(job)
        if not self._join(ticket):
            ticket.called.acquire()
        if not ticket.is_done:
            self._lead()
        if ticket.failed is not None:
            raise own(ticket.failed)

    def submit(self, member: Member[Job]) -> None:
        """Have a job done without waiting; the error of its group, or None, is told its member.

        It is told in the thread that wrote the group, and must return soon and not raise. What
        it returns, if anything, is called once when the whole group has been told.
        """
        if self._join(member):
            self._call_thread()

    def _join(self, member: Member[Job]) -> bool:
        """Queue up; whether nobody leads yet."""
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
        failed: BaseException | None = None
        try:
            self._work([member.job for member in group])
        except BaseException as problem:
            failed = problem
        with self._lock:
            # Who is told now may soon be back, beside those who wait already.
            self._company = min(callers + self._there, LARGEST_GROUP)
        for flush in {member.tell(failed) for member in group}:
            if flush is not None:
                flush()
        with self._lock:
            first = self._queue[0] if self._queue else None
            self._busy = first is not None
        # Whoever has waited longest leads the next group.
        if isinstance(first, _Ticket):
            first.called.release()
        elif first is not None:
            self._call_thread()

    def _fitting(self) -> int:
        """How many of those who wait make a group: few where each brings much."""
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
