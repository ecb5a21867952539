"""Who is acting: the name that the audit log gets, where it is not the store's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ACTOR: ContextVar[str | None] = ContextVar("actor", default=None)


@contextmanager
def acting_as(name: str) -> Iterator[None]:
    """Have the audit log name someone for all that is changed inside this block.

    >>> with acting_as("ann"):
    ...     acting("python")
    'ann'
    >>> acting("python")
    'python'
    """
    before = _ACTOR.set(name)
    try:
        yield
    finally:
        _ACTOR.reset(before)


def acting(default: str) -> str:
    """Who is acting, or `default`."""
    return _ACTOR.get() or default
