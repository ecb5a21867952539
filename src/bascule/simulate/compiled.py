"""Compilation of the pure functions of `core` and of the simulator's loop. Loads Numba when used.

`core` stays free of Numba: its functions are registered here as compilable and so can be called
from compiled code, while Python goes on calling them as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from bascule.core import arms, radius
from bascule.core.arms import FEW_ARMS, Steps
from bascule.simulate import interval_kernel, streams
from bascule.simulate.control import Kernel

_INLINED: tuple[Callable[..., Any], ...] = (
    arms.leaves,
    arms.span,
    arms.width,
    arms.highest,
    arms.put,
    arms.parted,
    arms.place,
    arms.round_complete,
    arms.eliminate,
    radius.lg,
    arms.clear,
    streams.advance,
    streams.fill_normals,
)
_CALLED: tuple[Callable[..., Any], ...] = (
    radius.radius,
    streams.seed_stream,
    streams.uniform,
    streams.outside_layer,
    interval_kernel.start_run,
    interval_kernel.finish_run,
    interval_kernel.move_lane,
)


def compiled_interval_kernel(steps: Steps, arm_count: int, endless: bool = False) -> Kernel:
    """The loop for a rule, compiled; from the disk cache when it was compiled before.

    A few arms get a loop for their number alone, with the loops over arms unrolled.
    """
    fixed = arm_count if arm_count <= FEW_ARMS else 0
    return _interval_kernel(steps, fixed, endless)


@lru_cache(maxsize=64)
def _interval_kernel(steps: Steps, fixed_arms: int, endless: bool) -> Kernel:
    _register_core()
    for function in steps:
        _register(function)
    return _compile(interval_kernel.build(steps, fixed_arms, endless, source_fingerprint()))


@lru_cache(maxsize=1)
def compiled_table() -> Callable[..., None]:
    """`interval_kernel.tabulate`, compiled."""
    _register_core()
    return _compile(interval_kernel.tabulate)


@lru_cache(maxsize=1)
def source_fingerprint() -> str:
    """A digest of every source file that compiled code can contain."""
    package = Path(__file__).parents[1]
    files = [
        *(package / "core").rglob("*.py"),
        *map(Path, (interval_kernel.__file__, streams.__file__)),
    ]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _compile(function: Callable[..., None]) -> Callable[..., None]:
    import numba

    # No reference counting: the loop owns no memory, and counting its arguments at every call of
    # a step made it three times slower.
    options: dict[str, Any] = {
        "nogil": True,
        "cache": True,
        "error_model": "numpy",
        "_nrt": False,
    }
    compiled: Callable[..., None]
    try:
        compiled = numba.njit(**options)(function)
    except RuntimeError:
        # There is no folder to keep the machine code in; then it lasts as long as the process.
        compiled = numba.njit(**{**options, "cache": False})(function)
    return compiled


@lru_cache(maxsize=1)
def _register_core() -> None:
    for function in _INLINED:
        _register(function)
    for function in _CALLED:
        _register(function, inline=False)


@lru_cache(maxsize=64)
def _register(function: Callable[..., Any], inline: bool = True) -> None:
    from numba.extending import register_jitable

    register_jitable(forceinline=inline)(function)
