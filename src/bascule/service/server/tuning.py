"""Settings of the interpreter and its memory for a process that runs the service."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

SWITCH = 0.0005
"""Seconds after which a thread that computes lets others run: a page that is rendered must not hold
up assignments for Python's usual 5 ms at a time."""

FREEZES = 3
"""Number of full garbage collections, from the first one on, after which all live objects are
exempted from later collections. One is too few, because modules are loaded when they are needed."""

MALLOC = {-3: 2**17, -8: 2}
"""Options of glibc's `mallopt`: the size in bytes from which a block is given back to the system as
soon as it is free (M_MMAP_THRESHOLD), and the number of arenas that all threads share
(M_ARENA_MAX).

By default the threshold rises up to 32 MB as larger blocks are freed, and there are up to eight
arenas per core: the process would then keep the memory of large bodies for as long as it runs."""


def bound_memory() -> None:
    """Make the C library give back large blocks; does nothing without glibc."""
    # On Windows a library needs a name.
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        for option, value in MALLOC.items():
            library.mallopt(option, value)


def freezing_callback() -> Callable[[str, Mapping[str, int]], None]:
    """Return a `gc` callback that exempts objects alive after the first full collections.

    These are mostly modules, which live as long as the process. Each further collection of them
    would block the event loop for 90 ms, every few seconds.
    """
    left = FREEZES

    def collected(phase: str, info: Mapping[str, int]) -> None:
        nonlocal left
        if phase == "stop" and info["generation"] == 2 and left:
            left -= 1
            gc.freeze()

    return collected


@contextmanager
def tuned() -> Iterator[None]:
    """Tune memory, threads and garbage collection; only the last is reset after this block."""
    bound_memory()
    sys.setswitchinterval(SWITCH)
    gc.freeze()
    callback = freezing_callback()
    gc.callbacks.append(callback)
    try:
        yield
    finally:
        # DuckDB reports leaks at exit if its objects stay exempt.
        gc.callbacks.remove(callback)
        gc.unfreeze()
