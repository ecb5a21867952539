"""Group commit: the requests of callers, and the queue that runs many in one transaction.

A caller that blocks while the queue is idle writes its group itself, so that a single caller never
waits for a thread. A thread of the queue writes the requests that are queued meanwhile, and those
of callers that do not block. If the last group had several requests, the next one waits a moment
for more callers.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, get_running_loop
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from threading import Condition, Lock, Thread
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

Result = TypeVar("Result")

Action = Callable[[Any, Sequence[Any]], Sequence[Any]]
"""A step of a transaction: takes a unit of work and items, and returns one result per item."""


def copy_error(error: BaseException) -> BaseException:
    """Copy an error that several callers get, so that each has a traceback of its own.

    >>> error = ValueError("the disk is full")
    >>> copy_error(error) is error, str(copy_error(error))
    (False, 'the disk is full')
    """
    try:
        copied = copy(error)
    except Exception:
        # An error that cannot be copied is shared.
        return error
    copied.__cause__ = error.__cause__
    # Some packages make copies of errors keep their tracebacks.
    return copied.with_traceback(None)


class Job(NamedTuple):
    """A kind of request to an experiment; requests with the same job run together.

    Jobs that enrol units run first, so that an outcome finds its unit if both were queued together.
    """

    experiment: int
    name: str
    action: Action
    enrols: bool = False
    gives_way: bool = False
    """Whether other jobs go first, for calls that need a job in each of thousands of tests."""


@dataclass(slots=True, eq=False)
class Reply(Generic[Result]):
    """A caller's request to an experiment, and its result once its transaction is on disk.

    Wait for the result with `result()` in a thread, or with `await` in a coroutine. If a waiting
    caller is cancelled, the request is still carried out.

    >>> import asyncio, bascule as bs
    >>> async def serve(test):
    ...     return await test.soon.assign("user-42")
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    >>> with bs.open(":memory:") as store:
    ...     test = store.create("loop", design)
    ...     arm = test.soon.assign("user-42").result()
    ...     asyncio.run(serve(test)) == arm
    True
    """

    # The job gives one result per item; `read` converts these results to the result of the call.
    job: Job
    items: Sequence[Any]
    read: Callable[[Sequence[Any]], Result]
    # The name for the audit log, if it is not that of the store.
    actor: str | None = None
    results: Sequence[Any] = ()
    error: BaseException | None = None
    _is_done: bool = False
    _waiters: list[Any] = field(default_factory=list)
    """Locks of waiting threads, and futures of waiting coroutines."""

    @classmethod
    def ready(cls, result: Result) -> Reply[Result]:
        """Return the reply of a call that needs no transaction."""
        return cls(NO_JOB, (), lambda _: result, _is_done=True)

    def done(self) -> bool:
        """Whether the result is available."""
        return self._is_done

    def result(self, timeout: float | None = None) -> Result:
        """Return the result, or raise the error of the call; wait until it is available.

        After `timeout` seconds it raises `TimeoutError`.
        """
        if not self._is_done:
            called = Lock()
            called.acquire()
            # Added before the next check: `deliver` marks a reply as done, then wakes its waiters.
            self._waiters.append(called)
            seconds = -1 if timeout is None else timeout
            if not self._is_done and not called.acquire(timeout=seconds):
                raise TimeoutError(
                    f"no result within {timeout:g} s: the call may still be carried out"
                )
        if self.error is not None:
            raise copy_error(self.error)
        return self.read(self.results)

    def __await__(self) -> Generator[Any, None, Result]:
        if not self._is_done:
            waiter = get_running_loop().create_future()
            self._waiters.append(waiter)
            if not self._is_done:
                yield from waiter
        return self.result()


NO_JOB = Job(0, "", lambda _, items: items)


class JoinedReply(Reply[list[Any]]):
    """Requests with a list of results each; their common result has these one after the other.

    >>> joined = JoinedReply([Reply.ready([1, 2]), Reply.ready([3])])
    >>> joined.done(), joined.result()
    (True, [1, 2, 3])
    """

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[Reply[list[Any]]]) -> None:
        super().__init__(NO_JOB, (), list)
        self._parts = parts

    def done(self) -> bool:
        """Whether all results are available."""
        return all(part.done() for part in self._parts)

    def result(self, timeout: float | None = None) -> list[Any]:
        """Return the results, or raise the first error; wait until all are available.

        After `timeout` seconds it raises `TimeoutError`.
        """
        until = perf_counter() + (timeout or 0.0)
        results: list[Any] = []
        for part in self._parts:
            results += part.result(None if timeout is None else max(0.0, until - perf_counter()))
        return results

    def __await__(self) -> Generator[Any, None, list[Any]]:
        results: list[Any] = []
        for part in self._parts:
            results += yield from part.__await__()
        return results


def deliver(replies: Sequence[Reply[Any]], failure: BaseException | None) -> None:
    """Mark replies as done, with the error of their group if any, and wake all who wait."""
    by_loop: dict[AbstractEventLoop, list[Future[None]]] = {}
    for reply in replies:
        reply.error = failure or reply.error
        reply._is_done = True
        for waiter in reply._waiters:
            if isinstance(waiter, Future):
                by_loop.setdefault(waiter.get_loop(), []).append(waiter)
            else:
                waiter.release()
    for loop, futures in by_loop.items():
        # All results of a loop are delivered by one call, since waking a loop is expensive. In a
        # loop that is closed nobody waits any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, futures)


def _resolve(futures: list[Future[None]]) -> None:
    for future in futures:
        # The future of a cancelled caller is already done.
        if not future.done():
            future.set_result(None)


LARGEST_GROUP, LARGEST_HEAVY = 512, 64
"""Maximum number of items in a group, and in a group with a second heavy job. Its first heavy job
and jobs that give way are not included. Later callers then do not wait long for the group."""

LIGHT = 8
"""Jobs with at most this many items are light, and go before heavier ones."""

GIVING_WAY = 25
"""Maximum number of jobs with `gives_way` in a group."""

PATIENCE, LONGEST_PATIENCE = 0.002, 0.005
"""Maximum seconds that a group waits for one more caller, and for all further callers together."""

IDLE = 5.0
"""Seconds without work after which the thread of the queue ends."""


class Group(NamedTuple):
    """The jobs that share the next transaction, and those that wait for a later one.

    `is_light` says whether all jobs of the transaction are light, and none gives way.
    """

    jobs: list[Reply[Any]]
    waiting: list[Reply[Any]]
    is_light: bool


def next_group(queue: list[Reply[Any]], light_only: bool = False) -> Group:
    """Choose the jobs that share the next transaction.

    Light jobs go first, so that nobody who assigns a unit waits for the batches of others; the
    heavy job that has waited longest and some jobs that give way go with them, so that they do not
    wait for ever. With `light_only`, all others wait for one more transaction if there are light
    jobs.
    """
    last = [at for at, reply in enumerate(queue) if reply.job.gives_way]
    first = [(at, len(reply.items)) for at, reply in enumerate(queue) if not reply.job.gives_way]
    heavy = [at for at, items in first if items > LIGHT]
    light = [at for at, items in first if items <= LIGHT]
    if light_only and light:
        heavy, last = [], []
    chosen, weight = {*heavy[:1], *last[:GIVING_WAY]}, 0
    # A group has another heavy job only if it has the first one.
    is_light = not chosen
    for at in light + heavy[1:]:
        items = len(queue[at].items)
        weight += items
        if weight > (LARGEST_HEAVY if items > LIGHT else LARGEST_GROUP):
            break
        chosen.add(at)
    places = range(len(queue))
    return Group(
        [queue[at] for at in places if at in chosen],
        [queue[at] for at in places if at not in chosen],
        is_light,
    )


class CommitQueue:
    """A queue that runs its jobs in groups, one group at a time.

    `work` runs the jobs of a group: their results are on disk when it returns, or it raises an
    error. `check_open` raises an error if nothing can be written any more.
    """

    def __init__(
        self, work: Callable[[list[Reply[Any]]], object], check_open: Callable[[], None]
    ) -> None:
        self._work = work
        self._check_open = check_open
        self._queue: list[Reply[Any]] = []
        self._lock = Lock()
        self._arrived = Condition(self._lock)
        # How many callers are expected before a group is written.
        self._company = 1
        self._is_busy = False
        # Whether the last group was heavy: then light jobs go alone.
        self._was_heavy = False
        self._thread: Thread | None = None
        # The thread waits for this lock, which is released when there is work.
        self._wake = Lock()
        self._wake.acquire()

    def run(self, reply: Reply[Result]) -> Reply[Result]:
        """Queue a job whose caller will wait; if the queue is idle, write it in this thread."""
        return self.submit(reply, self._write_group)

    def submit(
        self, reply: Reply[Result], write: Callable[[], None] | None = None
    ) -> Reply[Result]:
        """Queue a job; if the queue is idle, call `write`, or else wake the thread of the queue.

        Without `write`, this returns at once.
        """
        self._check_open()
        with self._lock:
            self._queue.append(reply)
            if len(self._queue) >= self._company:
                self._arrived.notify()
            is_first = not self._is_busy
            self._is_busy = True
        if is_first:
            (write or self._call_thread)()
        return reply

    def _write_group(self) -> None:
        group: list[Reply[Any]] = []
        failure: BaseException | None = None
        try:
            if self._company > 1:
                self._wait_for_company()
            with self._lock:
                group, self._queue, is_light = next_group(self._queue, self._was_heavy)
                self._was_heavy = not is_light
            self._work(group)
        except BaseException as problem:
            failure = problem
        with self._lock:
            # The callers of this group may soon call again, in addition to those already waiting.
            self._company = min(len(group) + len(self._queue), LARGEST_GROUP)
        deliver(group, failure)
        with self._lock:
            self._is_busy = goes_on = bool(self._queue)
        if goes_on:
            self._call_thread()
        if failure is not None and not group:
            # Ctrl-C while waiting for others: the thread writes the queued jobs.
            raise failure

    def _wait_for_company(self) -> None:
        until, waiting = perf_counter() + LONGEST_PATIENCE, 0
        with self._arrived:
            # As long as callers keep arriving, wait until there are as many as expected.
            while waiting < len(self._queue) < self._company and perf_counter() < until:
                waiting = len(self._queue)
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
                # If a job has arrived just now, the queue is busy, and the thread goes on.
                if not self._is_busy:
                    self._thread = None
                    return
