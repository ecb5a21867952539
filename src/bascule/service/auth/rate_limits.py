"""How much one caller may ask for: buckets that fill again as time passes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from bascule.service.server.problems import Problem

MOST_CALLERS = 10_000
"""Buckets kept at once; those who came longest ago start afresh."""


class Buckets:
    """A bucket of tokens for each caller: `rate` a second, and at most `burst` at once.

    >>> buckets = Buckets(rate=1.0, burst=2.0, clock=lambda: 0.0)
    >>> [buckets.wait("ann") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, caller: str) -> float:
        """Take a token, and return 0; or take none, and return the seconds until there is one."""
        now = self._clock()
        left = self._tokens(caller, now)
        if left < 1.0:
            return (1.0 - left) / self._rate
        self._put(caller, left - 1.0, now)
        return 0.0

    def spend(self, caller: str) -> None:
        """Take a token whether or not there is one."""
        now = self._clock()
        self._put(caller, max(0.0, self._tokens(caller, now) - 1.0), now)

    def check(self, caller: str) -> None:
        """Raise if a caller has no token left; none is taken."""
        left = self._tokens(caller, self._clock())
        if left < 1.0:
            raise too_many((1.0 - left) / self._rate)

    def _tokens(self, caller: str, now: float) -> float:
        left, then = self._left.get(caller, (self._burst, now))
        return min(self._burst, left + self._rate * (now - then))

    def _put(self, caller: str, left: float, now: float) -> None:
        self._left.pop(caller, None)
        self._left[caller] = (left, now)
        if len(self._left) > MOST_CALLERS:
            del self._left[next(iter(self._left))]


def too_many(seconds: float) -> Problem:
    """The refusal of a caller who has to wait.

    >>> too_many(0.2).headers
    {'Retry-After': '1'}
    """
    after = str(max(1, math.ceil(seconds)))
    return Problem(429, "too many requests: wait, then repeat", headers={"Retry-After": after})
