"""Compilation of pure functions and loops, and the arrays by which loops and threads communicate.

`core` stays free of Numba: its functions are registered here as compilable and so can be called
from compiled code, while Python goes on calling them as they are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple, cast

import numpy as np

from bascule.core.types import RARE, FloatArray, IntArray, called_rarely

Kernel = Callable[..., None]

STOP, ALIVE, WAITING, FINISHED, STEPS = range(5)
"""Indices of the array `control`: a request to stop, interleaved runs at work, the next run to
start, runs finished, and units simulated so far."""

CONTROL_SIZE = 5


class Chunk(NamedTuple):
    """The runs that one call of a loop plays: `runs` of them, from number `first_run` on."""

    seed: np.uint64
    first_run: int
    runs: int


class RunColumns(NamedTuple):
    """The arrays that a loop writes: results, with a row for each run of a chunk, and `control`."""

    times: IntArray
    winners: IntArray
    counts: IntArray
    control: IntArray


class IntervalSettings(NamedTuple):
    """Settings of a loop that compares intervals; the runs to play are given separately.

    `factor`, `constant` and `delta` are parameters of the radius of an interval. `radii` is the
    table of radii by number of units, which may be empty.
    """

    max_units: int
    means: FloatArray
    sigma: float
    alpha: float
    factor: float
    constant: float
    delta: float
    threshold: float
    margin: float
    radii: FloatArray
    ziggurat: FloatArray


def new_control() -> IntArray:
    """Return an array `control` of zeros, as it is before the first run.

    >>> int(new_control()[FINISHED])
    0
    """
    return np.zeros(CONTROL_SIZE, np.int64)


@called_rarely
def finish_run(units: FloatArray, row: int, time: int, winner: int, columns: RunColumns) -> None:
    """Write how a run ended, with the units of each arm, into its row of the result."""
    times, winners, counts, control = columns
    times[row] = time
    winners[row] = winner
    for arm in range(units.size):
        counts[row * units.size + arm] = np.int64(units[arm])
    control[FINISHED] += 1
    control[STEPS] += time


Function = Any
"""A plain Python function, or its compiled form."""


DIGITS = 12
"""Number of digits of the source's fingerprint in the names of cached files."""

COMPILERS_OWN = ("numpy", "numba")
"""Packages whose functions the compiler can compile by itself."""

FEW_ARMS = 8
"""Largest number of arms for which loops may be compiled for that number alone."""

MANY_RUNS = 20_000
"""Minimum number of runs for which it pays off to compile a loop for one number of arms."""


def arms_to_fix(arms: int, runs: int) -> int:
    """Return the number of arms to compile a loop for, or 0 for a loop that takes any number.

    Most tests have two arms. For a few other numbers of arms, a loop for that number alone is up to
    twice as fast, with the same runs.

    >>> arms_to_fix(2, 10), arms_to_fix(5, 1000), arms_to_fix(5, 100_000), arms_to_fix(50, 100_000)
    (2, 0, 5, 0)
    """
    is_worthwhile = arms <= FEW_ARMS and runs >= MANY_RUNS
    return arms if arms == 2 or is_worthwhile else 0


@lru_cache(maxsize=128)
def compile_loop(build: Callable[..., Kernel], *parts: Any) -> Kernel:
    """Compile the loop that `build` returns for these parts, once, or load it from the disk cache.

    `build` is called with the parts, followed by a digest of all source that a loop can contain.
    The loop must refer to the digest: the compiler's cache stores it with the machine code, and so
    notices a change in a file that it does not watch itself. The plain functions that the loop uses
    are found by searching its code, and are inlined, except those that are `called_rarely`.
    """
    loop = build(*parts, source_fingerprint())
    used = used_functions(loop)
    for function in used:
        _register(function)
    # The digest does not cover functions of a user's own rule, perhaps in a notebook: loops that
    # contain such functions are compiled anew in each process.
    return _compile(loop, keep=all(map(_is_own, used)))


def _is_own(function: Function) -> bool:
    return str(function.__module__).startswith("bascule.")


def used_functions(function: Function) -> set[Function]:
    """Return the plain Python functions that a function calls, directly or indirectly.

    Functions of NumPy and of the compiler are left out, because the compiler has its own versions
    of them.

    >>> from bascule.core.evidence.radius import lg, radius
    >>> used_functions(radius) == {lg}
    True
    """
    functions: set[Function] = set()
    waiting = [function]
    while waiting:
        code = waiting.pop()
        captured = [cell.cell_contents for cell in code.__closure__ or ()]
        named = [code.__globals__.get(name) for name in code.__code__.co_names]
        for value in (*captured, *named):
            plain = isinstance(value, FunctionType)
            ours = plain and str(value.__module__).split(".")[0] not in COMPILERS_OWN
            if ours and value not in functions:
                functions.add(value)
                waiting.append(value)
    return functions


@lru_cache(maxsize=1)
def source_fingerprint() -> str:
    """Return a digest of all source files whose functions compiled code can contain.

    All files of `core` and `simulation` are included, whatever their names are, so that a rename
    cannot lead to stale machine code.
    """
    package = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for folder in ("core", "simulation"):
        for path in sorted((package / folder).rglob("*.py")):
            digest.update(path.relative_to(package).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _compile(function: Kernel, keep: bool) -> Kernel:
    import numba

    # No reference counting: the loop owns no memory, and counting its arguments at every call of
    # a step made it three times slower.
    options: dict[str, Any] = {
        "nogil": True,
        "cache": keep,
        "error_model": "numpy",
        "_nrt": False,
    }
    # The compiler unpickles the index of a file's cached loops before it checks whether the file
    # has changed; this fails if a class was renamed. So each version of the source has cache
    # files of its own.
    name = function.__qualname__
    function.__qualname__ = f"{name}_{source_fingerprint()[:DIGITS]}"
    compiled: Any
    try:
        compiled = numba.njit(**options)(function)
    except RuntimeError:
        # No folder can hold the cache: the machine code is kept for this process only.
        compiled = numba.njit(**{**options, "cache": False})(function)
    if keep and compiled.stats.cache_path is not None:
        _remove_other_versions(Path(compiled.stats.cache_path), name)
    return cast(Kernel, compiled)


def _remove_other_versions(folder: Path, name: str) -> None:
    """Remove machine code that was compiled from another version of the source."""
    plain = re.escape(name.replace("<", "").replace(">", ""))
    versions = re.compile(rf"\.{plain}(?:_([0-9a-f]{{{DIGITS}}}))?-\d")
    for path in folder.glob("*.nb?"):
        found = versions.search(path.name)
        if found is not None and found[1] != source_fingerprint()[:DIGITS]:
            with suppress(OSError):
                path.unlink()


@lru_cache(maxsize=256)
def _register(function: Function) -> None:
    from numba.extending import register_jitable

    # Only loops call these functions: wrappers for other callers took a tenth of the compilation.
    inline = not hasattr(function, RARE)
    # A user's function raises an error if it divides by zero, as it does uncompiled; with infinity
    # as the result, a test might never end.
    divides = "numpy" if _is_own(function) else "python"
    options = {"forceinline": inline, "no_cfunc_wrapper": True, "error_model": divides}
    register_jitable(**options)(function)
