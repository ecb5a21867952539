"""The information that a test has at its decision, and the minimum that any test needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bascule.core.errors import InputError
from bascule.core.gaps import gaps_of, rival_gaps
from bascule.core.outcomes import Outcome
from bascule.core.types import FloatArray
from bascule.simulation import Estimate, Simulation
from bascule.theory.limit import oracle_information, spread_between


def information(simulation: Simulation) -> Estimate:
    """Return `n m / (n + m)` for the mean units n of the best arm and m of its nearest rival.

    Means are over runs, as in the lower limit for all rules. If several rivals are equally near, m
    is their average. The standard error follows by the delta method.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.ETC(), error=0.05)
    >>> played = bs.simulate(design, [0.0, 1.0], runs=5)
    >>> bool(information(played).mean == played.decision_time.mean() / 4)
    True
    """
    means = [simulation.design.oriented(mean) for mean in simulation.means]
    gaps = np.array(gaps_of(means))
    nearest = np.flatnonzero(gaps == min(rival_gaps(means)))
    best: FloatArray = simulation.units[:, int(np.argmin(gaps))].astype(np.float64)
    rival: FloatArray = simulation.units[:, nearest].mean(axis=1)
    n, m = float(best.mean()), float(rival.mean())
    slopes = (m / (n + m)) ** 2, (n / (n + m)) ** 2
    return Estimate(n * m / (n + m), Estimate.of(slopes[0] * best + slopes[1] * rival).se)


def oracle_of(means: Sequence[float], outcome: Outcome, error: float) -> float:
    """Return the minimum information on the two best arms that any rule needs at this error.

    >>> import bascule as bs
    >>> round(oracle_of([0.05, 0.06], bs.Bernoulli(), 0.05))
    3113
    """
    gap = min(rival_gaps(means))
    if gap == 0:
        raise InputError(
            "means",
            f"means must have one best arm ({max(means):g} occurs twice): "
            "without it no rule is right",
        )
    if outcome.recurring:
        # At best, a rule learns the mean of each unit exactly, so only the spread of these means
        # counts.
        spread, _ = outcome.unit_spreads
        if spread == 0:
            raise InputError(
                "sigma_unit",
                "sigma_unit must be above 0 to compare rules on units: without it outcomes are "
                "independent; use Gaussian(sigma_noise)",
            )
        return oracle_information(gap, spread, error)
    return oracle_information(gap, spread_between(means, outcome), error)
