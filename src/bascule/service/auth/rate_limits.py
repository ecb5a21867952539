"""Rate limits: each caller has a bucket of tokens, which refills over time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from bascule.service.responses import Problem

MOST_CALLERS = 10_000
"""Maximum number of remembered callers; a forgotten caller starts with a full bucket."""


class Buckets:
    """A bucket of tokens for each caller: `rate` a second, and at most `burst` at once.

    A burst is at least one token, so that half a request per second means one request every two
    seconds.

    >>> buckets = Buckets(rate=1.0, burst=2.0, clock=lambda: 0.0)
    >>> [buckets.take("ann") for _ in range(2)]
    [None, None]
    >>> buckets.take("ann")
    Traceback (most recent call last):
    bascule.service.responses.Problem: too many requests: wait, then repeat
    >>> Buckets(rate=0.5, burst=0.5).take("ann")
    """

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, max(1.0, burst), clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, caller: str) -> None:
        """Take a token, or raise if there is none and say how many seconds to wait."""
        now = self._clock()
        left, last = self._left.pop(caller, (self._burst, now))
        left = min(self._burst, left + self._rate * (now - last))
        missing = 1.0 - left
        # Callers are in the order of their last request, so that the oldest is dropped first.
        self._left[caller] = (left if missing > 0 else left - 1.0, now)
        if len(self._left) > MOST_CALLERS:
            del self._left[next(iter(self._left))]
        if missing > 0:
            headers = {"Retry-After": str(math.ceil(missing / self._rate))}
            raise Problem(429, "too many requests: wait, then repeat", headers=headers)


@lru_cache(maxsize=4096)
def source(address: str) -> str:
    """Return the key by which rate limits count: an IPv4 address, or an IPv6 address's /64 network.

    Whoever has one address of an IPv6 network can use all of its addresses.

    >>> source("203.0.113.7"), source("2001:db8::1:2"), source("::ffff:203.0.113.7")
    ('203.0.113.7', '2001:db8::', '203.0.113.7')
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        # An IPv4 client, as a socket for both IPv4 and IPv6 shows it.
        return str(parsed.ipv4_mapped)
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed, 64), strict=False).network_address)
    return str(parsed)
