"""What the paper says of the total mean, and why it prefers the mean of means."""

from __future__ import annotations

from collections.abc import Callable

from bascule.core.procedures.recurrent.estimators import equal_weight, outcome_weight
from bascule.research.paper.claims.claim import Claim, Measured, exactly, judged
from bascule.research.paper.compare import MARGIN, beyond_chance
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


def mean_of_means_is_better(m: Measurements) -> Claim:
    """The mean of means has the smaller error under UCB-MM."""
    ratios, limit = _ratios(m), beyond_chance(m.runs, len(ARMS))
    return Claim(
        "units-mean-of-means-is-better",
        UNITS,
        "Where UCB decides who joins which arm, the mean of means is nearer to the arm's mean than "
        "the total mean.",
        _ratio_rows(ratios),
        f"on both arms the ratio is above 1 by more than {MARGIN:g} standard errors",
        judged(
            all(one.mean - limit * one.se > 1.0 for one in ratios.values()),
            any(one.mean + limit * one.se < 1.0 for one in ratios.values()),
        ),
    )


def worse_after_wait(m: Measurements) -> Claim:
    """A wait ruins the total mean."""
    del m
    ages = ages_after_wait(RETURNED)
    ratio = variance(ages, outcome_weight) / variance(ages, equal_weight)
    return Claim(
        "units-total-mean-after-a-wait",
        UNITS,
        "Units that join an arm after it has long been left alone hardly count in the total mean, "
        "which therefore converges slowly.",
        (
            Measured(
                f"variance of the total mean over that of the mean of means, {FEW} units, a wait "
                f"of {WAIT:,} stages, {RETURNED} units",
                ratio,
            ),
        ),
        f"the ratio is above {FAR_WORSE:g}",
        exactly(ratio > FAR_WORSE),
    )


def waits_under_ucb(m: Measurements) -> Claim:
    """Whether UCB-MM makes such waits."""
    ratios, limit = _ratios(m), beyond_chance(m.runs, len(ARMS))
    return Claim(
        "units-total-mean-under-ucb",
        UNITS,
        "With UCB such waits occur, and keep the total mean from converging fast.",
        _ratio_rows(ratios),
        f"on some arm the ratio is above {FAR_WORSE:g} by more than {MARGIN:g} standard errors; "
        "for an arm that gets units more and more seldom it is at most about 4/3, which bascule's "
        "documentation proves",
        judged(
            any(one.mean - limit * one.se > FAR_WORSE for one in ratios.values()),
            all(one.mean + limit * one.se <= FAR_WORSE for one in ratios.values()),
        ),
    )


def total_mean_is_unbiased(m: Measurements) -> Claim:
    """Adaptive arrivals bias both estimators."""
    biases = {
        f"bias of the {name}, arm {ARMS[each.arm]}, stage {BIASED_STAGE}": Estimate.of(values)
        for each in _at(m, BIASED_STAGE)
        for name, values in (("total mean", each.of_total), ("mean of means", each.of_means))
    }
    limit = beyond_chance(m.runs, len(biases))
    return Claim(
        "units-total-mean-is-unbiased",
        UNITS,
        "The total mean is, like the mean of means, an unbiased estimator of an arm's mean.",
        tuple(Measured.of(what, bias) for what, bias in biases.items()),
        f"along runs of {RULE.label} no bias is more than {MARGIN:g} standard errors from 0; where "
        "arrivals do not depend on outcomes both are unbiased",
        # Runs can deny that there is no bias, but not show it.
        judged(False, any(abs(bias.mean) > limit * bias.se for bias in biases.values())),
    )


ESTIMATORS: tuple[Callable[[Measurements], Claim], ...] = (
    mean_of_means_is_better,
    worse_after_wait,
    waits_under_ucb,
    total_mean_is_unbiased,
)
"""In the order of the page."""
