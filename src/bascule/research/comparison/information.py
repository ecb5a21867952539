"""What a test had learnt when it decided, and what an oracle would have had to learn."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bascule.core.errors import InputError
from bascule.core.gaps import gaps_of, rival_gaps
from bascule.core.outcomes import Outcome
from bascule.core.types import FloatArray
from bascule.simulation import Simulation
from bascule.theory import oracle_information


def information(simulation: Simulation) -> FloatArray:
    """Return each run's clock `n m / (n + m)` at its end, of the best arm and its nearest rival.

    Where several rivals are equally near, it is their average.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.ETC(), error=0.05)
    >>> played = bs.simulate(design, [0.0, 1.0], runs=5)
    >>> bool((information(played) == played.decision_time / 4).all())
    True
    """
    means = [simulation.design.oriented(mean) for mean in simulation.means]
    gaps = np.array(gaps_of(means))
    nearest = np.flatnonzero(gaps == min(rival_gaps(means)))
    best = simulation.units[:, [int(np.argmin(gaps))]].astype(np.float64)
    rivals = simulation.units[:, nearest]
    clocks: FloatArray = (best * rivals / (best + rivals)).mean(axis=1)
    return clocks


def spread_between(means: Sequence[float], outcome: Outcome) -> float:
    """Return the spread of one outcome of the two best arms, as the outcome model states it.

    >>> import bascule as bs
    >>> round(spread_between([0.05, 0.06], bs.Bernoulli()), 3)
    0.228
    """
    variances = [outcome.variance(mean) for mean in sorted(means, reverse=True)[:2]]
    known = [variance for variance in variances if variance is not None]
    if len(known) < len(variances):
        raise InputError(
            "outcome",
            f"means do not say how {outcome!r} outcomes spread: compare the rules on "
            "Gaussian(sigma) or Bernoulli() outcomes",
        )
    variance = sum(known) / len(known)
    if variance <= 0:
        raise InputError("means", "means must not be 0 and 1: then there is nothing to find out")
    return math.sqrt(variance)


def oracle_of(means: Sequence[float], outcome: Outcome, error: float) -> float:
    """Return the clock that a test needs which knows the gap between the two best arms.

    >>> import bascule as bs
    >>> round(oracle_of([0.05, 0.06], bs.Bernoulli(), 0.05))
    2753
    """
    gap = min(rival_gaps(means))
    if gap == 0:
        raise InputError(
            "means",
            f"means must have one best arm ({max(means):g} is there twice): "
            "without it no rule is right",
        )
    return oracle_information(gap, spread_between(means, outcome), error)
