"""Answers for callers that have gone on: where they go when they are on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from bascule.live.commit.pending_jobs import Job
from bascule.live.commit.queue import Flush, own

Send = Callable[[Any, BaseException | None], Flush | None]
"""Takes an answer, or what went wrong; and says what to call when the whole group was told."""


class Promise:
    """A job and where its answers go; with `arms`, the one answer is an arm's name."""

    __slots__ = ("_arms", "_send", "job")

    callers = 1

    def __init__(self, job: Job, send: Send, arms: Sequence[str] | None = None) -> None:
        self.job = job
        self._send = send
        self._arms = arms

    def tell(self, failed: BaseException | None) -> Flush | None:
        """Send the answers, or the error of the group or of the job."""
        problem = failed or self.job.problem
        if problem is not None:
            return self._send(None, own(problem))
        if self._arms is None:
            return self._send(list(self.job.answers), None)
        found = self.job.answers[0]
        if isinstance(found, BaseException):
            return self._send(None, own(found))
        return self._send(self._arms[found], None)


def answered_later() -> tuple[Future[Any], Send]:
    """A future, and how it gets its answer.

    >>> future, send = answered_later()
    >>> send("green", None)
    >>> future.result()
    'green'
    """
    future: Future[Any] = Future()
    # What waits to be written cannot be called off.
    future.set_running_or_notify_cancel()

    def send(answer: Any, problem: BaseException | None) -> None:
        if problem is None:
            future.set_result(answer)
        else:
            future.set_exception(problem)

    return future, send
