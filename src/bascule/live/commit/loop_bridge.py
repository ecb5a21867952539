"""Callers in event loops: what they ask for in one turn of a loop is one job, and so is its answer.

To wake a loop, or the thread that writes, costs far more than to hand over one question more, and
the callers of a group are all answered at the same moment.
"""

from __future__ import annotations

import asyncio
from asyncio import get_running_loop
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from bascule.live.commit.futures import Promise
from bascule.live.commit.pending_jobs import Job
from bascule.live.commit.queue import Flush, Member

if TYPE_CHECKING:
    from bascule.live.api.units import Units

Submit = Callable[[Member[Job]], None]


class Batch:
    """Units that were asked for in one turn of an event loop; all who asked wait for one future.

    `told` is that future, or None once the `answers` are there, in the order of the units: numbers
    of arms, or what went wrong. If one of them is called off, all are woken, and who still wants
    an answer waits `alone`.
    """

    __slots__ = ("_alone", "_failed", "_post", "answers", "is_sent", "job", "told", "units")

    def __init__(self, test: Units, post: Post) -> None:
        self.units: list[str] = []
        self.job = Job(test.id, test.name, test.store.assigning, self.units, enrols=True)
        self.answers: Sequence[int | BaseException] = ()
        self.is_sent = False
        self._post = post
        self._failed: BaseException | None = None
        self._alone: list[asyncio.Future[None]] = []
        self.told: asyncio.Future[None] | None = post.loop.create_future()
        # A task that is called off calls off what it waits for: here, what others wait for too.
        self.told.cancel = self._wake  # type: ignore[method-assign]

    @property
    def callers(self) -> int:
        """How many wait."""
        return len(self.units)

    def is_open(self) -> bool:
        """Whether it is still the turn, and the loop, in which it was begun."""
        return not self.is_sent and self._post.loop is get_running_loop()

    def alone(self) -> asyncio.Future[None]:
        """A future of one's own for the answers, which can be called off as any other."""
        future = self._post.loop.create_future()
        self._alone.append(future)
        return future

    def tell(self, failed: BaseException | None) -> Flush:
        """Have everyone told in their loop."""
        self._failed = failed or self.job.problem
        return self._post.put(self._answer)

    def _answer(self) -> None:
        failed = self._failed
        self.answers = self.job.answers if failed is None else [failed] * len(self.units)
        told, self.told = self.told, None
        for future in (told, *self._alone):
            if future is not None and not future.done():
                future.set_result(None)

    def _wake(self, msg: object = None) -> bool:  # noqa: ARG002
        """Wake all: the task that was called off remembers that it was."""
        if self.told is not None and not self.told.done():
            self.told.set_result(None)
        return False


class Post:
    """Takes questions from the callers of one event loop, and brings them their answers."""

    def __init__(self, loop: asyncio.AbstractEventLoop, submit: Submit) -> None:
        self.loop = loop
        self._submit = submit
        self.asked: dict[int, Batch] = {}
        # Threads may put into it and take out of it without a lock.
        self._bag: deque[Callable[[], None]] = deque()

    def tell(self, job: Job) -> asyncio.Future[Any]:
        """The answers to a job, which comes after all that was asked for before it."""
        self.send_off(job.experiment)
        future = self.loop.create_future()

        def send(answer: Any, problem: BaseException | None) -> Flush:
            return self.put(lambda: _settle(future, answer, problem))

        self._submit(Promise(job, send))
        return future

    def put(self, answer: Callable[[], None]) -> Flush:
        """Have this called in the loop with the next delivery; from any thread."""
        self._bag.append(answer)
        return self._deliver

    def send_off(self, experiment: int) -> None:
        """Have done what was asked for of an experiment."""
        batch = self.asked.pop(experiment, None)
        if batch is not None:
            batch.is_sent = True
            self._submit(batch)

    def _deliver(self) -> None:
        # A loop that is closed has nobody left who waits.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._hand_out)

    def _hand_out(self) -> None:
        bag = self._bag
        while bag:
            bag.popleft()()


class Posts:
    """The posts of a store, one for each event loop that has callers."""

    def __init__(self, submit: Submit) -> None:
        self._submit = submit
        self._lock = Lock()
        self._posts: dict[asyncio.AbstractEventLoop, Post] = {}

    def batch(self, test: Units) -> Batch:
        """All that is asked for in this turn of the loop that runs."""
        post = self._posts.get(get_running_loop()) or self.here()
        batch = post.asked.get(test.id)
        if batch is None:
            batch = post.asked[test.id] = Batch(test, post)
            post.loop.call_soon(post.send_off, test.id)
        return batch

    def here(self) -> Post:
        """The post of the loop that runs."""
        loop = get_running_loop()
        with self._lock:
            post = self._posts.get(loop)
            if post is None:
                still = {loop: post for loop, post in self._posts.items() if not loop.is_closed()}
                post = Post(loop, self._submit)
                self._posts = {**still, loop: post}
        return post


def _settle(future: asyncio.Future[Any], answer: Any, problem: BaseException | None) -> None:
    if future.done():
        return
    if problem is None:
        future.set_result(answer)
    else:
        future.set_exception(problem)
