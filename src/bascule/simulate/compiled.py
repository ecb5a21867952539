"""Compilation of the pure functions of `core` and of the simulator's loops. Loads Numba when used.

`core` stays free of Numba: its functions are registered here as compilable and so can be called
from compiled code, while Python goes on calling them as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

Function = Callable[..., Any]


def compile_loop(
    build: Callable[[str], Function], inlined: Iterable[Function], called: Iterable[Function] = ()
) -> Function:
    """Compile what `build` returns, or take it from the disk cache if it was compiled before.

    `inlined` and `called` are the plain functions that the loop uses. `build` is given a digest of
    all their source and has to let the loop refer to it: the compiler's cache keeps it with the
    machine code, and so notices a change in a file that it does not watch itself.
    """
    for function in inlined:
        _register(function, True)
    for function in called:
        _register(function, False)
    return _compile(build(source_fingerprint()))


@lru_cache(maxsize=1)
def source_fingerprint() -> str:
    """A digest of every source file that compiled code can contain."""
    here = Path(__file__).parent
    loops = [here / "streams.py", here / "boundary.py", *here.glob("*_kernel.py")]
    digest = hashlib.sha256()
    for path in sorted([*(here.parent / "core").rglob("*.py"), *loops]):
        if path.exists():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _compile(function: Function) -> Function:
    import numba

    # No reference counting: the loop owns no memory, and counting its arguments at every call of
    # a step made it three times slower.
    options: dict[str, Any] = {
        "nogil": True,
        "cache": True,
        "error_model": "numpy",
        "_nrt": False,
    }
    compiled: Function
    try:
        compiled = numba.njit(**options)(function)
    except RuntimeError:
        # There is no folder to keep the machine code in; then it lasts as long as the process.
        compiled = numba.njit(**{**options, "cache": False})(function)
    return compiled


@lru_cache(maxsize=256)
def _register(function: Function, inline: bool) -> None:
    from numba.extending import register_jitable

    register_jitable(forceinline=inline)(function)
