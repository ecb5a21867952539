"""What the paper claims for the i.i.d. setting: orderings of rules, factors and constants."""

from __future__ import annotations

import math

from bascule.core.procedures.recurrent import PUBLISHED_FACTOR
from bascule.core.progress import interval_procedure
from bascule.core.rules import ETC, UCB, ETCPrime
from bascule.core.statistics import ArmStatistics
from bascule.research.paper.claims.claim import Finding, Measured, Stated, exactly, judged, states
from bascule.research.paper.claims.judging import (
    BREAKING,
    MARGIN,
    beyond_chance,
    downwards,
    factor,
    keeping,
    near,
    noticed,
    ordering,
    ratio,
    theorem_promises,
    theorems_speak,
    upwards,
)
from bascule.research.paper.iid import (
    ETC_NAME,
    ETC_PRIME_NAME,
    EXPERIMENTS,
    GAP,
    GRID,
    NEAR_UCB_NAME,
    RULES,
    SHORT_GRID,
    THEORY,
    UCB_2_NAME,
    UCB_4_NAME,
    UCB_15_NAME,
    UCB_32_NAME,
    design,
)
from bascule.research.paper.measure import Measurements
from bascule.simulation import Estimate
from bascule.theory import c_alpha, delta_tilde

LAST = GRID[-1]

ALMOST_HALF = 0.6
"""The highest ratio that one may still call almost a half."""


def _others(name: str) -> list[str]:
    return [rule.label for rule in RULES if rule.label != name]


def _cheaper_and_later(name: str, statement: str, rule: str, other: str) -> Stated:
    cheaper, later = upwards(rule, other), downwards(rule, other)
    return ordering(name, EXPERIMENTS, statement, GRID, regret=cheaper, decision_time=later)


def _against_etc_prime(name: str, rule: str) -> Stated:
    statement = "From α = 4 on, UCB costs less regret than ETC' and takes more units to decide"
    return _cheaper_and_later(name, f"{statement}: {rule}.", rule, ETC_PRIME_NAME)


def _against_etc(name: str, rule: str) -> Stated:
    statement = f"{rule} costs less regret than ETC and takes more units to decide."
    return _cheaper_and_later(name, statement, rule, ETC_NAME)


LARGE = [(ETC_NAME, rule) for rule in (UCB_4_NAME, UCB_32_NAME)]
FAMILY = (NEAR_UCB_NAME, UCB_15_NAME, UCB_2_NAME, UCB_4_NAME, UCB_32_NAME)

ORDERINGS = (
    ordering(
        "etc-decides-first",
        EXPERIMENTS,
        "Of all rules in Figure 1, ETC takes the fewest units to decide.",
        GRID,
        decision_time=[(ETC_NAME, other) for other in _others(ETC_NAME)],
    ),
    ordering(
        "small-alpha-costs-least",
        EXPERIMENTS,
        "Of all rules in Figure 1, UCB with the smallest α (1.5) has the lowest regret.",
        GRID,
        regret=[(UCB_15_NAME, other) for other in _others(UCB_15_NAME)],
    ),
    _against_etc_prime("alpha-4-against-etc-prime", UCB_4_NAME),
    _against_etc_prime("alpha-32-against-etc-prime", UCB_32_NAME),
    ordering(
        "large-alpha-against-etc",
        EXPERIMENTS,
        "From α = 4 on (4 and 32 in the figure), UCB is behind ETC in regret and in decision time.",
        GRID,
        regret=LARGE,
        decision_time=LARGE,
    ),
    _against_etc("alpha-1.5-against-etc", UCB_15_NAME),
    _against_etc("alpha-2-against-etc", UCB_2_NAME),
    ordering(
        "alpha-trades-regret-for-time",
        EXPERIMENTS,
        "UCB_α trades between its two ends, UCB (α near 1) and ETC' (α large): from α = 1.05 to "
        "32, each step up in α costs regret and saves units.",
        SHORT_GRID,
        regret=upwards(*FAMILY),
        decision_time=downwards(*FAMILY),
    ),
    ordering(
        "between-ucb-and-etc",
        EXPERIMENTS,
        f"Some α trade between UCB and ETC: {UCB_15_NAME} lies between {NEAR_UCB_NAME} and ETC in "
        "regret and in decision time.",
        SHORT_GRID,
        regret=upwards(NEAR_UCB_NAME, UCB_15_NAME, ETC_NAME),
        decision_time=downwards(NEAR_UCB_NAME, UCB_15_NAME, ETC_NAME),
    ),
    ordering(
        "regret-grows-with-alpha",
        THEORY,
        "The regret of UCB_α grows with α all the way to ETC', although the constant of the "
        "theorem does not.",
        GRID,
        regret=upwards(*FAMILY[1:], ETC_PRIME_NAME),
    ),
)
"""The claims that rules are ordered."""


@states("almost-half-of-etc", EXPERIMENTS, f"{UCB_15_NAME} has almost half the regret of ETC.")
def almost_half_of_etc(m: Measurements) -> Finding:
    """Compare the lowest ratio on the grid with what one may call almost a half."""
    ratios = {level: ratio(m, "regret", UCB_15_NAME, ETC_NAME, level) for level in GRID}
    level, lowest = min(ratios.items(), key=lambda pair: pair[1].mean)
    first = ratios[GRID[0]]
    chance = beyond_chance(m.runs, len(GRID)) * lowest.se
    return Finding(
        (
            Measured.of(f"lowest ratio of the regrets, at log(1/δ) = {level:g}", lowest),
            Measured.of(f"the ratio at log(1/δ) = {GRID[0]:g}", first),
        ),
        f"the lowest ratio on the grid, which favours the claim, is at most {ALMOST_HALF:g}, "
        f"beyond chance ({MARGIN:g} standard errors; more with few runs)",
        judged(lowest.mean + chance <= ALMOST_HALF, lowest.mean - chance > ALMOST_HALF),
        noticed(f"a lowest ratio above {ALMOST_HALF:g}", [lowest], m.runs, len(GRID)),
    )


@states("half-of-etc-prime", EXPERIMENTS, "ETC has half the regret of ETC'.")
def half_of_etc_prime(m: Measurements) -> Finding:
    """Compare the regrets of the two even splits."""
    return factor(m, (ETC_NAME, ETC_PRIME_NAME), 0.5, SHORT_GRID)


@states(
    "factor-four",
    EXPERIMENTS,
    f"From UCB (α near 1, here {NEAR_UCB_NAME}) to ETC' the regret grows by a factor of 4.",
)
def factor_four(m: Measurements) -> Finding:
    """Compare the regrets at the two ends of alpha."""
    return factor(m, (ETC_PRIME_NAME, NEAR_UCB_NAME), 4.0, SHORT_GRID)


@states("width-root-two", THEORY, "The difference at which ETC' decides is √2 times that of ETC.")
def width_root_two(m: Measurements) -> Finding:
    """Compute the ratio where ETC' decides."""
    share = 0.05
    units = round(Estimate.of(m.at(ETC_PRIME_NAME, LAST).regret).mean / GAP)
    wide, narrow = (
        interval_procedure(design(rule, LAST)).radius_of(ArmStatistics(units))
        for rule in (ETCPrime(), ETC())
    )
    ratio_of_widths = wide / narrow
    return Finding(
        (
            Measured(
                f"ratio of the two after {units} units an arm, log(1/δ) = {LAST:g}", ratio_of_widths
            ),
        ),
        f"the ratio is within {share:.0%} of √2 = {math.sqrt(2):.4f}; it tends to √2 as δ tends "
        "to 0",
        near(Estimate(ratio_of_widths, 0.0), math.sqrt(2), share),
    )


@states(
    "c-alpha-range",
    THEORY,
    "The constant c_α of the regret bound lies between 1 and 7 for every α.",
)
def c_alpha_range(m: Measurements) -> Finding:
    """Compute the constant on a fine grid."""
    del m
    alphas = [1.0, 2.0 + math.sqrt(5.0), math.inf, *(1.001**k for k in range(1, 20_000))]
    values = [c_alpha(alpha) for alpha in alphas]
    return Finding(
        (Measured("smallest c_α", min(values)), Measured("largest c_α", max(values))),
        "every c_α on a fine grid of α from 1 to infinity lies in [1, 7]",
        exactly(min(values) >= 1.0 and max(values) <= 7.0),
    )


@states("error-of-the-theorems", THEORY, "The error δ̃ of the theorems is at most 23 δ log(1/δ).")
def error_of_the_theorems(m: Measurements) -> Finding:
    """Compute the error that the corollary proves."""
    del m
    ratios = [
        delta_tilde(design(rule, level), by="corollary")
        / (PUBLISHED_FACTOR * math.exp(-level) * level)
        for rule in (UCB(2), ETC())
        for level in GRID
    ]
    first = next(level for level in GRID if theorems_speak(level))
    return Finding(
        (
            Measured("largest δ̃ by the paper's corollary over 23 δ log(1/δ)", max(ratios)),
            Measured("smallest log(1/δ) of the grid at which the bound says anything", first),
        ),
        "δ̃ by the corollary, each of its two forms where its proof allows it, is at most 23 δ "
        "log(1/δ) for UCB and ETC at every log(1/δ) of the grid",
        exactly(max(ratios) <= 1.0),
    )


@states(
    "agrees-with-theorems",
    EXPERIMENTS,
    "The measurements agree with the theorems: decision, decision time and regret are all as "
    "promised but for the error δ̃ that the nominal δ proves.",
)
def agrees_with_theorems(m: Measurements) -> Finding:
    """Count the runs that break a theorem."""
    cells = [m.at(rule.label, level) for rule in RULES for level in GRID]
    return keeping(theorem_promises(cells, GAP), BREAKING)


IID_CLAIMS: tuple[Stated, ...] = (
    *ORDERINGS,
    almost_half_of_etc,
    half_of_etc_prime,
    factor_four,
    width_root_two,
    c_alpha_range,
    error_of_the_theorems,
    agrees_with_theorems,
)
"""In the order of the page."""
