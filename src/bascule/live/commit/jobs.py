"""Jobs: what callers want of an experiment, and how their results are delivered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from bascule.core.errors import InputError
from bascule.live.commit.queue import Flush, copy_error

if TYPE_CHECKING:
    from bascule.live.transactions.unit_of_work import UnitOfWork

Action = Callable[["UnitOfWork", Sequence[Any]], Sequence[Any]]
"""A step of a transaction: one result for each item that it is given."""

Send = Callable[[Any, BaseException | None], Flush | None]
"""Takes a result or an error; returns what to call once the whole group has been delivered."""


@dataclass(slots=True, eq=False)
class Job:
    """One caller's request to an experiment, and its results once the transaction has committed.

    `action` gives a result for each of the `items`, so that jobs with the same action run
    together. Jobs that enrol units run first, so that an outcome finds a unit that was requested
    before it. `actor` is the name for the audit log, where it is not the store's.
    """

    experiment: int
    name: str
    action: Action
    items: Sequence[Any]
    actor: str = ""
    enrols: bool = False
    results: Sequence[Any] = ()
    error: BaseException | None = None


class PendingJob:
    """A job in the commit queue whose results go to a future: all, or what `read` makes of one."""

    __slots__ = ("_read", "_send", "job")

    callers = 1

    def __init__(self, job: Job, send: Send, read: Callable[[Any], Any] | None = None) -> None:
        self.job = job
        self._send = send
        self._read = read

    def deliver(self, failure: BaseException | None) -> Flush | None:
        """Send the results, or the error of the group or of the job."""
        error = failure or self.job.error
        if error is not None:
            return self._send(None, copy_error(error))
        if self._read is None:
            return self._send(list(self.job.results), None)
        try:
            result = self._read(self.job.results[0])
        except InputError as problem:
            return self._send(None, problem)
        return self._send(result, None)


def future_and_sender() -> tuple[Future[Any], Send]:
    """Return a future and the function that resolves it.

    >>> future, send = future_and_sender()
    >>> send("green", None)
    >>> future.result()
    'green'
    """
    future: Future[Any] = Future()
    # A job that waits to be written cannot be cancelled.
    future.set_running_or_notify_cancel()

    def send(result: Any, error: BaseException | None) -> None:
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    return future, send


def gathered(parts: Sequence[Future[Any]], read: Callable[[list[Any]], Any]) -> Future[Any]:
    """Return a future of what `read` makes of the results of all parts, or of their first error.

    >>> gathered([], len).result()
    0
    """
    future, send = future_and_sender()
    left, lock = len(parts), Lock()

    def count(_: Future[Any] | None) -> None:
        nonlocal left
        with lock:
            left -= 1
            if left:
                return
        problem = next((error for one in parts if (error := one.exception())), None)
        send(None if problem else read([one.result() for one in parts]), problem)

    if not parts:
        send(read([]), None)
    for one in parts:
        one.add_done_callback(count)
    return future
