"""Claims of the paper about constants and theorems in the i.i.d. setting."""

from __future__ import annotations

import math

from bascule.core.procedures.recurrent import PUBLISHED_FACTOR
from bascule.core.progress import interval_procedure
from bascule.core.rules import ETC, UCB, ETCPrime, Rule
from bascule.core.statistics import ArmStatistics
from bascule.research.paper.claims.claim import Finding, Measured, exactly, judged
from bascule.research.paper.claims.judging import (
    MARGIN,
    Promise,
    beyond_chance,
    keeping,
    keeping_theorems,
    near,
    noticed,
    ratio,
    theorems_speak,
)
from bascule.research.paper.iid import GAP, GRID, RULES, design
from bascule.research.paper.measure import Measurements
from bascule.simulation import Estimate
from bascule.theory import c_alpha, delta_tilde

LAST = GRID[-1]

ALMOST_HALF = 0.6
"""Largest ratio that counts as "almost a half"."""


def almost_half_of_etc(m: Measurements) -> Finding:
    """Compare the lowest ratio of regrets on the grid with `ALMOST_HALF`."""
    ratios = {level: ratio(m, "regret", "UCB_1.5", "ETC", level) for level in GRID}
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
        min(m.at(rule, level).runs for rule in ("UCB_1.5", "ETC")),
    )


def width_root_two(m: Measurements) -> Finding:
    """Compute the ratio of the interval widths of ETC' and ETC at the decision of ETC'."""
    share = 0.05
    units = round(Estimate.of(m.at("ETC'", LAST).regret).mean / GAP)
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


def c_alpha_range(m: Measurements) -> Finding:
    """Compute the range of the constant c_alpha on a fine grid of alpha."""
    del m
    alphas = [1.0, 2.0 + math.sqrt(5.0), math.inf, *(1.001**k for k in range(1, 20_000))]
    values = [c_alpha(alpha) for alpha in alphas]
    return Finding(
        (Measured("smallest c_α", min(values)), Measured("largest c_α", max(values))),
        "every c_α on a fine grid of α from 1 to infinity lies in [1, 7]",
        exactly(min(values) >= 1.0 and max(values) <= 7.0),
    )


def error_of_the_theorems(m: Measurements) -> Finding:
    """Compare the error that the corollary proves with 23 delta log(1/delta)."""
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


def agrees_with_theorems(m: Measurements) -> Finding:
    """Count the runs of the figures' rules that violate the bounds of the theorems."""
    labels = [rule.label for rule in RULES]
    cells = [cell for (label, _), cell in m.simulations.items() if label in labels]
    return keeping_theorems(cells, GAP)


def agrees_as_printed(m: Measurements) -> Finding:
    """Count the runs that violate the exact theorems as printed, including the printed error."""
    promises = []
    for rule in RULES:
        for level in GRID:
            cell, (time, regret) = m.at(rule.label, level), printed_bounds(rule, level)
            broken = cell.wrong | (cell.decision_time > time) | (cell.regret > regret)
            allowed = min(1.0, PUBLISHED_FACTOR * math.exp(-level) * level)
            promises.append(Promise.of(broken, allowed))
    return keeping(promises, "that decide wrongly, later or at a higher cost than is printed")


def printed_bounds(rule: Rule, log_inverse_delta: float) -> tuple[float, float]:
    """Return the printed bounds on decision time and regret for a gap of 1 and sigma = 1.

    >>> [round(one) for one in printed_bounds(UCB(2), 12.0)]
    [3225, 310]
    """

    def units(constant: float, count: float) -> float:
        level = math.log(count) + log_inverse_delta
        inner = 2 * constant * max(level, 2 * math.log(2 * constant))
        return constant * (level + 2 * math.log(math.log(inner)))

    if rule.curve_value is None:
        # The constant 32 / gap^2 of the theorem on ETC equals 2 C_1 of the theorem on UCB.
        one_arm = units(16 / GAP**2, 1.0)
        return 2 * one_arm, GAP * one_arm
    alpha = rule.curve_value
    worse = 8 / GAP**2 * c_alpha(alpha) + 1
    best = (1.0 if math.isinf(alpha) else ((alpha + 1) / (alpha - 1)) ** 2) * worse + 1
    return units(worse, 2.0) + units(best, 2.0), GAP * units(worse, 2.0)
