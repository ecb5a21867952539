"""One run of the simulator, step by step and uncompiled: to look at, and to check the loop by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.gaps import checked_means
from bascule.core.outcomes import Recurrent
from bascule.core.procedures.intervals import next_arm, record_and_decide
from bascule.core.rules import Static, Tilt
from bascule.core.statistics import Statistics
from bascule.simulation.block_trace import block_trace
from bascule.simulation.engines.feasible import check_feasible, units_cap
from bascule.simulation.kernels.intervals import BURST
from bascule.simulation.random.draws import NORMAL, Draws, draws_of
from bascule.simulation.random.streams import WORDS, checked_seed, seed_stream, ziggurat_table
from bascule.simulation.step import Step
from bascule.simulation.worlds.world import World


def normals(seed: int, run: int) -> Iterator[float]:
    """The standard normals that run `run` of seed `seed` draws, in order.

    >>> from itertools import islice
    >>> [round(x, 3) for x in islice(normals(0, 0), 3)] == [
    ...     round(x, 3) for x in islice(normals(0, 0), 3)
    ... ]
    True
    """
    return noise_of(NORMAL, seed, run)


def noise_of(draws: Draws, seed: int, run: int) -> Iterator[float]:
    """The numbers from which run `run` of seed `seed` makes its outcomes, in order."""
    table = ziggurat_table()
    streams, values = np.empty(WORDS, np.uint64), np.empty(BURST)
    # The generator's arithmetic is modulo 2^64, which NumPy's scalars warn about.
    with np.errstate(over="ignore"):
        seed_stream(streams, 0, np.uint64(seed), np.uint64(run))
    while True:
        with np.errstate(over="ignore"):
            draws.fill(streams, 0, values, 0, BURST, table)
        yield from values.tolist()


def trace(design: Design, means: Sequence[float], seed: int = 0, run: int = 0) -> Iterator[Step]:
    """Every step of one run, up to its decision or the cap; the same run that `simulate` plays.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> *_, last = trace(design, [0.0, 1.0], seed=1)
    >>> last.decision.name
    'b'
    """
    means = checked_means(means, len(design.arms), design.outcome)
    seed, run = checked_seed(seed), checked_seed(run, "run")
    if isinstance(design.rule, Static):
        raise InputError(
            "rule",
            f"{design.rule.label} has all its units at once, and trace shows them one by one: "
            "use simulate, or look at the means of a stage",
        )
    check_feasible(design, World(means))
    if isinstance(design.rule, Tilt):
        yield from block_trace(design, design.rule, means, seed, run)
        return
    if isinstance(design.outcome, Recurrent):
        raise InputError(
            "outcome",
            "trace shows outcomes that come once: use trace_stages with Recurrent outcomes",
        )
    seen = Statistics.empty(len(design.arms))
    draws = draws_of(design.outcome)
    noise = noise_of(draws, seed, run)
    for _ in range(units_cap(design)):
        arm = next_arm(design, seen)
        value = draws.outcome(means[arm], design.outcome.sigma, next(noise))
        seen, reached = record_and_decide(design, seen, arm, value)
        yield Step(arm, value, seen, reached)
        if reached is not None:
            return
