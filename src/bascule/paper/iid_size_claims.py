"""How large things are: the factors and constants that the paper claims for the i.i.d. setting."""

from __future__ import annotations

import math
from collections.abc import Callable

from bascule.core.progress import interval_procedure
from bascule.core.rules import ETC, ETCPrime
from bascule.core.statistics import ArmStatistics
from bascule.paper.claims import Claim, Measured
from bascule.paper.compare import MARGIN, near, ratio
from bascule.paper.iid import (
    ETC_NAME,
    ETC_PRIME_NAME,
    EXPERIMENTS,
    GAP,
    GRID,
    NEAR_UCB_NAME,
    RULES,
    SHORT_GRID,
    THEORY,
    UCB_15_NAME,
    design,
)
from bascule.paper.measure import Measurements
from bascule.paper.promises import keeping
from bascule.simulation import Estimate
from bascule.theory import c_alpha

LAST = GRID[-1]

ALMOST_HALF = 0.6
"""The highest ratio that one may still call almost a half."""


def almost_half_of_etc(m: Measurements) -> Claim:
    """UCB_1.5 has almost half the regret of ETC."""
    ratios = {level: ratio(m, "regret", UCB_15_NAME, ETC_NAME, level) for level in GRID}
    level, lowest = min(ratios.items(), key=lambda pair: pair[1].mean)
    first = ratios[GRID[0]]
    return Claim(
        "almost-half-of-etc",
        EXPERIMENTS,
        f"{UCB_15_NAME} has almost half the regret of ETC.",
        (
            Measured.of(f"lowest ratio of the regrets, at log(1/δ) = {level:g}", lowest),
            Measured.of(f"the ratio at log(1/δ) = {GRID[0]:g}", first),
        ),
        f"the lowest ratio on the grid, which favours the claim, is at most {ALMOST_HALF:g}",
        lowest.mean <= ALMOST_HALF,
    )


def _factor(
    m: Measurements, name: str, section: str, statement: str, pair: tuple[str, str], target: float
) -> Claim:
    share = 0.1
    ratios = {level: ratio(m, "regret", *pair, level) for level in SHORT_GRID}
    return Claim(
        name,
        section,
        statement,
        tuple(
            Measured.of(f"regret of {pair[0]} over that of {pair[1]} at log(1/δ) = {level:g}", one)
            for level, one in ratios.items()
        ),
        f"at log(1/δ) = {LAST:g}, the nearest to the limit, the ratio is within {share:.0%} of "
        f"{target:g}, give or take {MARGIN:g} standard errors",
        near(ratios[LAST], target, share),
    )


def half_of_etc_prime(m: Measurements) -> Claim:
    """ETC has half the regret of ETC'."""
    statement = "ETC has half the regret of ETC'."
    return _factor(m, "half-of-etc-prime", EXPERIMENTS, statement, (ETC_NAME, ETC_PRIME_NAME), 0.5)


def factor_four(m: Measurements) -> Claim:
    """The regret of ETC' is four times that of UCB."""
    statement = (
        f"From UCB (α near 1, here {NEAR_UCB_NAME}) to ETC' the regret grows by a factor of 4."
    )
    return _factor(m, "factor-four", EXPERIMENTS, statement, (ETC_PRIME_NAME, NEAR_UCB_NAME), 4.0)


def width_root_two(m: Measurements) -> Claim:
    """ETC' needs intervals sqrt(2) times as wide as ETC."""
    share = 0.05
    units = round(Estimate.of(m.at(ETC_PRIME_NAME, LAST).regret).mean / GAP)
    wide, narrow = (
        interval_procedure(design(rule, LAST)).radius_of_arms()(ArmStatistics(units))
        for rule in (ETCPrime(), ETC())
    )
    found = wide / narrow
    return Claim(
        "width-root-two",
        THEORY,
        "The difference at which ETC' decides is √2 times that of ETC.",
        (Measured(f"ratio of the two after {units} units an arm, log(1/δ) = {LAST:g}", found),),
        f"the ratio is within {share:.0%} of √2 = {math.sqrt(2):.4f}; it tends to √2 as δ tends "
        "to 0",
        near(Estimate(found, 0.0), math.sqrt(2), share),
    )


def c_alpha_range(m: Measurements) -> Claim:
    """The constant of the regret bound lies in [1, 7]."""
    del m
    alphas = [1.0, 2.0 + math.sqrt(5.0), math.inf, *(1.001**k for k in range(1, 20_000))]
    values = [c_alpha(alpha) for alpha in alphas]
    return Claim(
        "c-alpha-range",
        THEORY,
        "The constant c_α of the regret bound lies between 1 and 7 for every α.",
        (Measured("smallest c_α", min(values)), Measured("largest c_α", max(values))),
        "every c_α on a fine grid of α from 1 to infinity lies in [1, 7]",
        min(values) >= 1.0 and max(values) <= 7.0,
    )


def agrees_with_theorems(m: Measurements) -> Claim:
    """No more runs break a bound than the theorems allow."""
    cells = [m.at(rule.label, level) for rule in RULES for level in GRID]
    return keeping(
        "agrees-with-theorems",
        EXPERIMENTS,
        "The measurements agree with the theorems: decision, decision time and regret are all as "
        "promised but for the error that the nominal δ proves.",
        cells,
        GAP,
    )


SIZES: tuple[Callable[[Measurements], Claim], ...] = (
    almost_half_of_etc,
    half_of_etc_prime,
    factor_four,
    width_root_two,
    c_alpha_range,
    agrees_with_theorems,
)
"""In the order of the page."""
