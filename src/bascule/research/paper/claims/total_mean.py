"""What the paper says of the total mean, and why it prefers the mean of means."""

from __future__ import annotations

from bascule.core.procedures.recurrent.estimators import equal_weight, outcome_weight
from bascule.research.paper.claims.claim import Finding, Measured, Stated, exactly, judged, states
from bascule.research.paper.claims.judging import MARGIN, beyond_chance, noticed
from bascule.research.paper.estimators import (
    FEW,
    RULE,
    WAIT,
    Errors,
    ages_after_wait,
    along_runs,
    variance,
)
from bascule.research.paper.measure import Measurements
from bascule.research.paper.units import ARMS, UNITS
from bascule.simulation import Estimate

FAR_WORSE = 2.0
"""A ratio of mean squared errors that says more than a constant's worth."""

RETURNED = 50
"""Units that an arm gets after its wait."""

BIASED_STAGE = 100


def _at(m: Measurements, stage: int) -> list[Errors]:
    return [each for each in along_runs(m.runs, m.seed) if each.stage == stage]


def _ratios(m: Measurements) -> dict[int, Estimate]:
    last = along_runs(m.runs, m.seed)[-1].stage
    return {each.arm: each.squares_ratio for each in _at(m, last)}


def _ratio_rows(ratios: dict[int, Estimate]) -> tuple[Measured, ...]:
    return tuple(
        Measured.of(
            f"mean squared error of the total mean over that of the mean of means, {RULE.label}, "
            f"arm {ARMS[arm]}",
            one,
        )
        for arm, one in ratios.items()
    )


@states(
    "units-mean-of-means-is-better",
    UNITS,
    "Where UCB decides who joins which arm, the mean of means is nearer to the arm's mean than "
    "the total mean.",
)
def mean_of_means_is_better(m: Measurements) -> Finding:
    """The mean of means has the smaller error under UCB-MM."""
    ratios, limit = _ratios(m), beyond_chance(m.runs, len(ARMS))
    return Finding(
        _ratio_rows(ratios),
        f"on both arms the ratio is above 1 by more than {MARGIN:g} standard errors",
        judged(
            all(one.mean - limit * one.se > 1.0 for one in ratios.values()),
            any(one.mean + limit * one.se < 1.0 for one in ratios.values()),
        ),
        noticed("a ratio below 1", list(ratios.values()), m.runs, len(ARMS)),
    )


@states(
    "units-total-mean-after-a-wait",
    UNITS,
    "With UCB it could be the case that a unit joins an arm after a very long wait; such units "
    "hardly count in the total mean, which then converges slowly.",
)
def worse_after_wait(m: Measurements) -> Finding:
    """Compute what a wait does; how often UCB waits so long is measured and not judged."""
    ages = ages_after_wait(RETURNED)
    ratio = variance(ages, outcome_weight) / variance(ages, equal_weight)
    return Finding(
        (
            Measured(
                f"variance of the total mean over that of the mean of means, {FEW} units, a wait "
                f"of {WAIT:,} stages, {RETURNED} units",
                ratio,
            ),
            *_ratio_rows(_ratios(m)),
        ),
        f"the first ratio is above {FAR_WORSE:g}; those along runs are not judged, since the paper "
        "says that such a wait could be the case, not that it is usual (for an arm that gets units "
        "more and more seldom the ratio is at most about 4/3)",
        exactly(ratio > FAR_WORSE),
    )


@states(
    "units-total-mean-is-unbiased",
    UNITS,
    "The total mean is, like the mean of means, an unbiased estimator of an arm's mean.",
)
def total_mean_is_unbiased(m: Measurements) -> Finding:
    """Adaptive arrivals bias both estimators."""
    biases = {
        f"bias of the {name}, arm {ARMS[each.arm]}, stage {BIASED_STAGE}": Estimate.of(values)
        for each in _at(m, BIASED_STAGE)
        for name, values in (("total mean", each.of_total), ("mean of means", each.of_means))
    }
    limit = beyond_chance(m.runs, len(biases))
    biased = any(abs(bias.mean) > limit * bias.se for bias in biases.values())
    return Finding(
        tuple(Measured.of(what, bias) for what, bias in biases.items()),
        f"along runs of {RULE.label} no bias is more than {MARGIN:g} standard errors from 0; where "
        "arrivals do not depend on outcomes both are unbiased",
        "does not hold" if biased else "not contradicted",
        noticed("a bias away from 0", list(biases.values()), m.runs, len(biases)),
    )


TOTAL_MEAN: tuple[Stated, ...] = (
    mean_of_means_is_better,
    worse_after_wait,
    total_mean_is_unbiased,
)
"""In the order of the page."""
