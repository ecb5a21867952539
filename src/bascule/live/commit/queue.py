"""Group commit: jobs that arrive while one transaction is written share the next one.

A caller that blocks and finds the queue empty writes its group itself, so that a single caller
never waits for a thread. All that are queued meanwhile, and those that nobody blocks for, are
written by a thread of the queue. Before it writes, it waits a moment for more callers if the last
group had several.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from contextlib import suppress
from threading import Condition, Lock, Thread
from time import perf_counter
from typing import Any

from bascule.live.commit.jobs import Reply

LARGEST_GROUP, HEAVIEST_GROUP = 512, 20_000
"""Most jobs of a group, and most items that they may have together unless it is one job."""

PATIENCE, LONGEST_PATIENCE = 0.002, 0.005
"""Seconds that a group waits for one more caller of the last group, and for all of them."""

IDLE = 5.0
"""Seconds without work after which the thread of the queue ends."""


class CommitQueue:
    """A queue that runs its jobs in groups, one group at a time.

    `work` runs the jobs of a group: their results are on disk when it returns, or it raises.
    """

    def __init__(self, work: Callable[[list[Reply[Any]]], object]) -> None:
        self._work = work
        self._queue: list[Reply[Any]] = []
        self._lock = Lock()
        self._arrived = Condition(self._lock)
        # How many callers are expected before a group is written.
        self._company = 1
        self._is_busy = False
        self._thread: Thread | None = None
        # Held until there is work for the thread.
        self._wake = Lock()
        self._wake.acquire()

    def run(self, reply: Reply[Any]) -> None:
        """Run the job of a caller that waits for its reply; it may be done when this returns."""
        if self._join(reply):
            self._write_group()

    def submit(self, reply: Reply[Any]) -> None:
        """Run a job without waiting."""
        if self._join(reply):
            self._call_thread()

    def _join(self, reply: Reply[Any]) -> bool:
        """Add a job to the queue; return whether its caller has to see to the next group."""
        with self._lock:
            self._queue.append(reply)
            if len(self._queue) >= self._company:
                self._arrived.notify()
            is_first = not self._is_busy
            self._is_busy = True
        return is_first

    def _write_group(self) -> None:
        self._wait_for_company()
        with self._lock:
            size = self._fitting()
            group, self._queue = self._queue[:size], self._queue[size:]
        failure: BaseException | None = None
        try:
            self._work(group)
        except BaseException as problem:
            failure = problem
        with self._lock:
            # Callers that get their result now may soon be back, beside those that wait already.
            self._company = min(size + len(self._queue), LARGEST_GROUP)
        waiters: dict[AbstractEventLoop, list[Future[None]]] = {}
        for reply in group:
            reply.deliver(failure, waiters)
        for loop, some in waiters.items():
            # To wake a loop costs far more than one result more. One that is closed has nobody
            # left who waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_resolve, some)
        with self._lock:
            self._is_busy = goes_on = bool(self._queue)
        if goes_on:
            self._call_thread()

    def _fitting(self) -> int:
        """How many queued jobs make a group: fewer where each has many items."""
        size, weight = 0, 0
        for reply in self._queue[:LARGEST_GROUP]:
            weight += len(reply.items)
            if size and weight > HEAVIEST_GROUP:
                break
            size += 1
        return size

    def _wait_for_company(self) -> None:
        until, there = perf_counter() + LONGEST_PATIENCE, 0
        with self._arrived:
            # As long as they keep coming, the others of the last group will come too.
            while there < len(self._queue) < self._company and perf_counter() < until:
                there = len(self._queue)
                self._arrived.wait_for(lambda: len(self._queue) >= self._company, PATIENCE)

    def _call_thread(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = Thread(target=self._serve, name="bascule-commit", daemon=True)
                self._thread.start()
        self._wake.release()

    def _serve(self) -> None:
        while True:
            if self._wake.acquire(timeout=IDLE):
                self._write_group()
                continue
            with self._lock:
                # A call may have come just now: then the queue is busy, and it will be heard.
                if not self._is_busy:
                    self._thread = None
                    return


def _resolve(waiters: list[Future[None]]) -> None:
    for waiter in waiters:
        # A caller that was cancelled has gone.
        if not waiter.done():
            waiter.set_result(None)
