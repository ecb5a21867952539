"""Signals between a compiled loop and the threads around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bascule.core.types import FloatArray, IntArray

Kernel = Callable[..., None]

STOP, ALIVE, WAITING, FINISHED, STEPS = range(5)
"""Places in `control`: a request to stop; lanes at work, the next run to start, runs finished and
units simulated so far."""

CONTROL_SIZE = 5


class Chunk(NamedTuple):
    """The runs that a loop plays: `runs` of them, from number `first_run` of the seed on."""

    seed: np.uint64
    first_run: int
    runs: int


class RunColumns(NamedTuple):
    """The columns that a loop writes, with a row for each run of a chunk, and its control."""

    times: IntArray
    winners: IntArray
    counts: IntArray
    control: IntArray


class IntervalSettings(NamedTuple):
    """The settings of a loop that compares intervals, without the runs to play.

    `factor`, `constant` and `delta` are numbers of the radius, and `radii` its table, which may be
    empty.
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
    """A control before anything happened.

    >>> int(new_control()[FINISHED])
    0
    """
    return np.zeros(CONTROL_SIZE, np.int64)


def finish_run(
    state: FloatArray,
    first: int,
    arms: int,
    row: int,
    time: int,
    winner: int,
    columns: RunColumns,
) -> None:
    """Write how a run ended into its row of the result; `state[first:]` holds the units."""
    times, winners, counts, control = columns
    times[row] = time
    winners[row] = winner
    for arm in range(arms):
        counts[row * arms + arm] = np.int64(state[first + arm])
    control[FINISHED] += 1
    control[STEPS] += time
