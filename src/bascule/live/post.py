"""Callers in event loops: what they ask for in one turn of a loop is one job, and so is its answer.

To wake a loop, or the thread that writes, costs far more than to hand over one question more, and
the callers of a group are all answered at the same moment.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bascule.core.errors import InputError
from bascule.live.groups import Flush, Member
from bascule.live.jobs import Job
from bascule.live.soon import Promise

if TYPE_CHECKING:
    from bascule.live.units import Units

Submit = Callable[[Member[Job]], None]


class Batch:
    """Units that were asked for in one turn of an event loop, and who waits for their arms."""

    __slots__ = ("_arms", "_failed", "_futures", "_post", "job", "units")

    def __init__(self, test: Units, post: Post) -> None:
        self.units: list[str] = []
        self.job = Job(test.id, test.name, test.store.assigning, self.units, self.units)
        self._futures: list[asyncio.Future[str]] = []
        self._arms = test.arms
        self._post = post
        self._failed: BaseException | None = None

    @property
    def callers(self) -> int:
        """How many wait."""
        return len(self.units)

    def add(self, unit: str, future: asyncio.Future[str]) -> None:
        """One more."""
        self.units.append(unit)
        self._futures.append(future)

    def tell(self, failed: BaseException | None) -> Flush:
        """Have everyone told in their loop."""
        self._failed = failed or self.job.problem
        return self._post.put(self._answer)

    def _answer(self) -> None:
        if self._failed is not None:
            for future in self._futures:
                _settle(future, None, self._failed)
            return
        for future, found in zip(self._futures, self.job.answers, strict=True):
            if isinstance(found, BaseException):
                _settle(future, None, found)
            elif not future.done():
                future.set_result(self._arms[found])


class Post:
    """Takes questions from the callers of one event loop, and brings them their answers."""

    def __init__(self, loop: asyncio.AbstractEventLoop, submit: Submit) -> None:
        self.loop = loop
        self._submit = submit
        self._asked: dict[int, Batch] = {}
        # Threads may put into it and take out of it without a lock.
        self._bag: deque[Callable[[], None]] = deque()

    def ask(self, test: Units, unit: str) -> asyncio.Future[str]:
        """The arm of a unit, with all that is asked for in this turn of the loop."""
        future = self.loop.create_future()
        batch = self._asked.get(test.id)
        if batch is None:
            batch = self._asked[test.id] = Batch(test, self)
            self.loop.call_soon(self._send_off, test.id)
        batch.add(unit, future)
        return future

    def tell(self, job: Job) -> asyncio.Future[Any]:
        """The answers to a job, which comes after all that was asked for before it."""
        self._send_off(job.experiment)
        future = self.loop.create_future()

        def send(answer: Any, problem: BaseException | None) -> Flush:
            return self.put(lambda: _settle(future, answer, problem))

        self._submit(Promise(job, send))
        return future

    def done(self, answer: Any) -> asyncio.Future[Any]:
        """An answer that is there already."""
        future = self.loop.create_future()
        future.set_result(answer)
        return future

    def failed(self, problem: InputError) -> asyncio.Future[Any]:
        """What is wrong with a question."""
        future = self.loop.create_future()
        future.set_exception(problem)
        return future

    def put(self, answer: Callable[[], None]) -> Flush:
        """Have this called in the loop with the next delivery; from any thread."""
        self._bag.append(answer)
        return self._deliver

    def _send_off(self, experiment: int) -> None:
        batch = self._asked.pop(experiment, None)
        if batch is not None:
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
        self._posts: dict[asyncio.AbstractEventLoop, Post] = {}

    def here(self) -> Post:
        """The post of the loop that runs."""
        loop = asyncio.get_running_loop()
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
