"""Jobs: what callers want of an experiment, how they run, and how their results are delivered.

Jobs that do the same thing within one transaction run as one call over all that they were given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
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


def _order(job: Job) -> bool:
    return not job.enrols


def run_jobs(work: UnitOfWork, jobs: list[Job]) -> None:
    """Run the jobs of one experiment, those with the same action as one call."""
    alike: dict[Action, list[Job]] = {}
    for job in sorted(jobs, key=_order):
        alike.setdefault(job.action, []).append(job)
    store_actor = work.actor
    for some in alike.values():
        work.actor = some[0].actor or store_actor
        _run_together(work, some)


def _run_together(work: UnitOfWork, jobs: list[Job]) -> None:
    items = jobs[0].items if len(jobs) == 1 else [item for job in jobs for item in job.items]
    try:
        results = jobs[0].action(work, items)
    except InputError as error:
        for job in jobs:
            job.error = error
        return
    left = iter(results)
    for job in jobs:
        job.results = list(islice(left, len(job.items)))


class PendingJob:
    """A job in the commit queue whose results go to a future; with `arms`, to an arm's name."""

    __slots__ = ("_arms", "_send", "job")

    callers = 1

    def __init__(self, job: Job, send: Send, arms: Sequence[str] | None = None) -> None:
        self.job = job
        self._send = send
        self._arms = arms

    def deliver(self, failure: BaseException | None) -> Flush | None:
        """Send the results, or the error of the group or of the job."""
        error = failure or self.job.error
        if error is not None:
            return self._send(None, copy_error(error))
        if self._arms is None:
            return self._send(list(self.job.results), None)
        result = self.job.results[0]
        if isinstance(result, BaseException):
            return self._send(None, copy_error(result))
        return self._send(self._arms[result], None)


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
