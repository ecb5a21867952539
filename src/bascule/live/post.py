"""Answers brought to an event loop: one call into the loop for all that are ready.

To wake a loop costs far more than to hand it an answer, and the callers of a group are all answered
at the same moment.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from bascule.live.groups import Flush


class Post:
    """Brings answers to the futures of one event loop, from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        # Threads may put into it and take out of it without a lock.
        self._bag: deque[tuple[asyncio.Future[Any], Any, BaseException | None]] = deque()

    def put(self, future: asyncio.Future[Any], answer: Any, problem: BaseException | None) -> Flush:
        """Have an answer for a future, or what went wrong, brought with the next delivery."""
        self._bag.append((future, answer, problem))
        return self.deliver

    def deliver(self) -> None:
        """Bring what is in the bag."""
        # A loop that is closed has nobody left who waits.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._hand_out)

    def _hand_out(self) -> None:
        bag = self._bag
        while bag:
            future, answer, problem = bag.popleft()
            if future.done():
                continue
            if problem is None:
                future.set_result(answer)
            else:
                future.set_exception(problem)


_POSTS: list[Post] = []


def awaited() -> tuple[
    asyncio.Future[Any], Callable[[Any, BaseException | None], Callable[[], None]]
]:
    """A future of the loop that runs, and how it is told its answer from any thread."""
    loop = asyncio.get_running_loop()
    for post in _POSTS:
        if post.loop is loop:
            break
    else:
        _POSTS[:] = [post for post in _POSTS if not post.loop.is_closed()]
        post = Post(loop)
        _POSTS.append(post)
    future = loop.create_future()
    return future, partial(post.put, future)
