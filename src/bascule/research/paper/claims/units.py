"""Claims of the paper about the unit setting and the total mean that simulations can check."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from bascule.core.numerics import turning_point
from bascule.core.procedures.recurrent import equal_weight, outcome_weight
from bascule.core.rules import ETC, UCB
from bascule.research.paper.claims.claim import Finding, Measured, exactly, judged
from bascule.research.paper.claims.judging import (
    MARGIN,
    beyond_chance,
    noticed,
    ordered,
    ratio,
    regret_without_time,
)
from bascule.research.paper.estimators import (
    FEW,
    RULE,
    WAIT,
    Errors,
    ages_after_wait,
    along_runs,
    variance,
)
from bascule.research.paper.measure import Measurements, Quantity
from bascule.research.paper.units import (
    ARMS,
    ENDS,
    GAP,
    GRID,
    MIDDLE,
    NOISY_NAME,
    SPREAD_NAME,
    SPREAD_RULE,
    UCB_MM,
    design,
)
from bascule.simulation import Estimate
from bascule.theory import mean_path

LAST = GRID[-1]

NEGLIGIBLE = 0.1
"""A change is negligible if it is at most this part of the change with which it is compared."""

LONGEST = 450.0
"""Largest log(1/delta) that is tried; the delta of a larger one could be too small for a design."""


def _etc_is_cheaper(rule: UCB, log_inverse_delta: float) -> bool:
    etc, ucb = (mean_path(design(one, log_inverse_delta), GAP).regret for one in (ETC(), rule))
    return etc < ucb


def between_ucb_and_etc(m: Measurements) -> Finding:
    """Judge whether UCB costs less than ETC but decides later; predict where it starts to do so."""
    rules, etc = (UCB(1.5), UCB(2)), ETC().label
    cheaper: list[tuple[Quantity, str, str]] = [("regret", rule.label, etc) for rule in rules]
    later: list[tuple[Quantity, str, str]] = [("decision_time", etc, rule.label) for rule in rules]
    finding = ordered(m, ENDS, [*cheaper, *later])
    crossings = tuple(
        Measured(
            f"log(1/δ) from which {rule.label} is predicted to cost less regret than ETC-MM",
            turning_point(partial(_etc_is_cheaper, rule), LAST, LONGEST),
        )
        for rule in rules
    )
    return replace(finding, measured=(*finding.measured, *crossings))


def noise_is_negligible(m: Measurements) -> Finding:
    """Compare the effects on regret of doubling the noise and the spread between units."""
    noise, spread = (
        ratio(m, "regret", name, SPREAD_RULE.label, MIDDLE) for name in (NOISY_NAME, SPREAD_NAME)
    )
    runs = m.at(NOISY_NAME, MIDDLE).runs
    limit, change = beyond_chance(runs), abs(noise.mean - 1.0)
    usual = f"regret of {SPREAD_RULE.label} at log(1/δ) = {MIDDLE:g}, over the usual"
    return Finding(
        (
            Measured.of(f"{usual}: noise doubled", noise),
            Measured.of(f"{usual}: spread between units doubled", spread),
        ),
        f"doubling the noise changes the regret by at most {NEGLIGIBLE:.0%} of what doubling the "
        f"spread between units does, {MARGIN:g} standard errors included",
        judged(
            change + limit * noise.se <= NEGLIGIBLE * (spread.mean - 1.0),
            change - limit * noise.se > NEGLIGIBLE * (spread.mean + limit * spread.se - 1.0),
        ),
        noticed("a change due to the noise that exceeds its limit", [noise], runs),
        runs,
    )


def regret_of_ucb_mm(m: Measurements) -> Finding:
    """Count the runs of UCB-MM that are wrong or cost more than the theorem says."""
    return regret_without_time(
        {level: m.at(UCB_MM.label, level) for level in (ENDS[0], MIDDLE)}, GAP
    )


FAR_WORSE = 2.0
"""Ratio of variances above which the total mean counts as far worse."""

RETURNED = 50
"""Units that an arm gets after its wait."""

BIASED_STAGE = 100


def _at(m: Measurements, stage: int) -> list[Errors]:
    return [moment for moment in along_runs(m.runs, m.seed) if moment.stage == stage]


def _ratios(m: Measurements) -> dict[int, Estimate]:
    last = along_runs(m.runs, m.seed)[-1].stage
    return {moment.arm: moment.squares_ratio for moment in _at(m, last)}


def _ratio_rows(ratios: dict[int, Estimate]) -> tuple[Measured, ...]:
    return tuple(
        Measured.of(
            f"mean squared error of the total mean over that of the mean of means, {RULE.label}, "
            f"arm {ARMS[arm]}",
            ratio,
        )
        for arm, ratio in ratios.items()
    )


def mean_of_means_is_better(m: Measurements) -> Finding:
    """Judge the claim that under UCB-MM the mean of means has the smaller squared error."""
    ratios, limit = _ratios(m), beyond_chance(m.runs, len(ARMS))
    return Finding(
        _ratio_rows(ratios),
        f"on both arms the ratio is above 1 by more than {MARGIN:g} standard errors",
        judged(
            all(ratio.mean - limit * ratio.se > 1.0 for ratio in ratios.values()),
            any(ratio.mean + limit * ratio.se < 1.0 for ratio in ratios.values()),
        ),
        noticed("a ratio below 1", list(ratios.values()), m.runs, len(ARMS)),
        m.runs,
    )


def worse_after_wait(m: Measurements) -> Finding:
    """Compute the total mean's loss of precision after a long wait of an arm without new units."""
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


def total_mean_is_unbiased(m: Measurements) -> Finding:
    """Judge the claim that the total mean is unbiased, by both estimators' bias under UCB-MM."""
    biases = {
        f"bias of the {name}, arm {ARMS[moment.arm]}, stage {BIASED_STAGE}": Estimate.of(values)
        for moment in _at(m, BIASED_STAGE)
        for name, values in (("total mean", moment.of_total), ("mean of means", moment.of_means))
    }
    limit = beyond_chance(m.runs, len(biases))
    biased = any(abs(bias.mean) > limit * bias.se for bias in biases.values())
    return Finding(
        tuple(Measured.of(title, bias) for title, bias in biases.items()),
        f"along runs of {RULE.label} no bias is more than {MARGIN:g} standard errors from 0; where "
        "arrivals do not depend on outcomes both are unbiased",
        "does not hold" if biased else "not shown",
        noticed("a bias away from 0", list(biases.values()), m.runs, len(biases)),
        m.runs,
    )
