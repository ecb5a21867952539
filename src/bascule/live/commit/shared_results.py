"""Slow results computed once for all who ask at the same time, and reused for a short while."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from time import perf_counter
from typing import Any, TypeVar

from bascule.live.commit.queue import copy_error

Result = TypeVar("Result")

SLOW = 0.2
"""Seconds above which a result is reused; quicker ones are computed for everyone who asks."""

REUSED_FOR, LONGEST_REUSE = 10.0, 60.0
"""A result is reused for this multiple of the time it took to compute, up to a number of seconds.

The results of one experiment keep at most about a tenth of a core busy, however many ask.
"""

MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class _Kept:
    result: Any
    until: float


class SharedResults:
    """Computes each result once for all who ask for it meanwhile.

    >>> SharedResults().get("key", lambda: 42)
    42
    """

    def __init__(self, slow: float = SLOW) -> None:
        self._slow = slow
        self._lock = Lock()
        self._running: dict[Hashable, Future[Any]] = {}
        self._kept: dict[Hashable, _Kept] = {}

    def get(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return a result that is being computed, was computed a moment ago, or is computed now."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and perf_counter() < kept.until:
                result: Result = kept.result
                return result
            running = self._running.get(key)
            future: Future[Any] = Future()
            if running is None:
                self._running[key] = future
        if running is not None:
            try:
                result = running.result()
            except Exception as error:
                raise copy_error(error) from None
            return result
        return self._compute(key, compute, future)

    def _compute(self, key: Hashable, compute: Callable[[], Result], future: Future[Any]) -> Result:
        started = perf_counter()
        try:
            result = compute()
        except BaseException as error:
            with self._lock:
                del self._running[key]
            future.set_exception(error)
            raise
        ended = perf_counter()
        with self._lock:
            del self._running[key]
            if ended - started > self._slow:
                self._keep(key, result, ended + min(REUSED_FOR * (ended - started), LONGEST_REUSE))
        future.set_result(result)
        return result

    def _keep(self, key: Hashable, result: Any, until: float) -> None:
        now = perf_counter()
        if len(self._kept) >= MOST_KEPT:
            self._kept = {key: kept for key, kept in self._kept.items() if kept.until > now}
        self._kept[key] = _Kept(result, until)
