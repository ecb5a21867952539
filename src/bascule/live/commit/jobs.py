"""What callers want of an experiment, and how their results are delivered."""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, get_running_loop
from collections.abc import Callable, Generator, Sequence
from copy import copy
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")

Action = Callable[[Any, Sequence[Any]], Sequence[Any]]
"""A step of a transaction on its unit of work: one result for each item that it is given."""


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


@dataclass(slots=True, eq=False)
class Reply(Generic[Result]):
    """A caller's request to an experiment, and its result once its transaction is on disk.

    `action` gives a result for each of the `items`, so that requests with the same action run
    together; `read` converts these to the result of the call. Requests that enrol units run first,
    so that an outcome finds a unit that was requested before it. `actor` is the name for the audit
    log, where it is not the store's.

    Wait for it with `result()` in a thread, or with `await` in a coroutine. If a waiting caller is
    cancelled, the request is still carried out.

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

    experiment: int
    name: str
    action: Action
    items: Sequence[Any]
    read: Callable[[Sequence[Any]], Result]
    actor: str = ""
    enrols: bool = False
    results: Sequence[Any] = ()
    error: BaseException | None = None
    _is_done: bool = False
    _waiters: list[Any] = field(default_factory=list)
    """Locks of threads that wait, and futures of coroutines."""

    @classmethod
    def ready(cls, result: Result) -> Reply[Result]:
        """Return the reply of a call that needs no transaction."""
        return cls(0, "", lambda _, items: items, (), lambda _: result, _is_done=True)

    def done(self) -> bool:
        """Whether the result is there."""
        return self._is_done

    def result(self, timeout: float | None = None) -> Result:
        """Return the result, or raise the error of the call; wait for it if it is not there.

        After `timeout` seconds it raises `TimeoutError`.
        """
        if not self._is_done:
            called = Lock()
            called.acquire()
            waits = self._wait_with(called)
            if waits and not called.acquire(timeout=-1 if timeout is None else timeout):
                raise TimeoutError(f"nothing was written within {timeout:g} s")
        return self._outcome()

    def deliver(
        self, failure: BaseException | None, waiters: dict[AbstractEventLoop, list[Future[None]]]
    ) -> None:
        """Mark the reply as done, with the error of its group if any, and wake waiting threads.

        Coroutines that wait are added to `waiters`, by their event loops.
        """
        self.error = failure or self.error
        with _DELIVERING:
            self._is_done = True
        for waiter in self._waiters:
            if isinstance(waiter, Future):
                waiters.setdefault(waiter.get_loop(), []).append(waiter)
            else:
                waiter.release()

    def __await__(self) -> Generator[Any, None, Result]:
        if not self._is_done:
            waiter = get_running_loop().create_future()
            if self._wait_with(waiter):
                yield from waiter
        return self._outcome()

    def _wait_with(self, waiter: Any) -> bool:
        """Have someone called when the result is there; return whether it is not there yet."""
        with _DELIVERING:
            if not self._is_done:
                self._waiters.append(waiter)
            return not self._is_done

    def _outcome(self) -> Result:
        if self.error is not None:
            raise copy_error(self.error)
        return self.read(self.results)


_DELIVERING = Lock()
"""Held for a moment while a reply is delivered, or someone begins to wait for it."""
