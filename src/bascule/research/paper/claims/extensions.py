"""What the paper says beyond its figures: delta-tilde, many arms, static populations, inflation."""

from __future__ import annotations

import math
from collections.abc import Callable

from bascule.core.outcomes import Recurrent
from bascule.core.rules import ETC, UCB, ETCPrime, Rule, Static
from bascule.research.paper import iid
from bascule.research.paper.bounded_units import bounded_units_by_bernstein
from bascule.research.paper.claims.claim import Claim, Measured, exactly, judged
from bascule.research.paper.compare import FEWEST, MARGIN, Ordering, beyond_chance, keeping
from bascule.research.paper.measure import Measurements, Point
from bascule.simulation import Estimate
from bascule.theory.proven.corollary import delta_tilde

LEVELS = (4.0, 12.0)
"""log(1/delta) at which these claims are measured."""

FACTOR = 23.0
"""The constant in the paper's bound on delta-tilde."""

# Many arms

ARMS = ("A", "B", "C", "D")
ARM_MEANS = (0.0, 0.5, 0.5, 1.0)
GAPS = (1.0, 0.5, 0.5)
ARM_RULES: tuple[Rule, ...] = (UCB(2), UCB(4), ETC(), ETCPrime())
BOUNDED = (UCB(2), UCB(4), ETC())
"""The rules among them whose decision time the paper bounds."""

FOUR = " with 4 arms"

# Static populations: just enough units for a decision at the horizon, and for one at any stage

STATIC_GAP, HORIZON = 0.5, 10
UNITS_AND_NOISE = Recurrent(sigma_unit=1.0, sigma_noise=1.0)
MORE_UNITS = 1.5
STATIC = "appendix on static populations"

# Inflation

EXACT, INFLATED = UCB(1.0), UCB(1.05)
CAP = {4.0: 150_000, 12.0: 500_000}
"""Units at which a run without inflation ends, undecided: several times what the inflated takes."""
INFLATED_PART, EXACT_PART = 4, 20


def enough_units(level: float) -> int:
    """Return the units in all with which the paper's horizon test is as good as it says.

    >>> enough_units(4.0)
    564
    """
    return 2 * math.ceil(16.0 * (1.0 + 1.0 / HORIZON) / STATIC_GAP**2 * level)


def static_rules(level: float) -> tuple[Static, Static]:
    """Return the test at the horizon, and the one at every stage with some units more."""
    units = enough_units(level)
    return Static(units, HORIZON), Static(int(MORE_UNITS * units))


def points() -> tuple[Point, ...]:
    """Return everything that is simulated for these claims.

    >>> len(points())
    16
    """
    many = [
        Point(iid.design(rule, level, arms=ARMS), level, ARM_MEANS, other=FOUR)
        for rule in ARM_RULES
        for level in LEVELS
    ]
    static = [
        Point(iid.design(rule, level, UNITS_AND_NOISE), level, (0.0, STATIC_GAP))
        for level in LEVELS
        for rule in static_rules(level)
    ]
    inflated = [
        Point(iid.design(INFLATED, level), level, iid.MEANS, INFLATED_PART) for level in LEVELS
    ]
    exact = [
        Point(iid.design(EXACT, level, max_units=CAP[level]), level, iid.MEANS, EXACT_PART)
        for level in LEVELS
    ]
    return (*many, *static, *inflated, *exact)


def error_of_the_theorems(m: Measurements) -> Claim:
    """The error of the theorems is at most 23 delta log(1/delta)."""
    del m
    ratios = {
        (rule.label, level): delta_tilde(iid.design(rule, level), by="corollary")
        / (FACTOR * math.exp(-level) * level)
        for rule in (UCB(2), ETC())
        for level in iid.GRID
    }
    first = next(level for level in iid.GRID if FACTOR * math.exp(-level) * level < 1.0)
    return Claim(
        "error-of-the-theorems",
        iid.THEORY,
        "The error δ̃ of the theorems is at most 23 δ log(1/δ).",
        (
            Measured("largest δ̃ by the paper's corollary over 23 δ log(1/δ)", max(ratios.values())),
            Measured("smallest log(1/δ) of the grid at which the bound says anything", first),
        ),
        "δ̃ by the corollary, each of its two forms where its proof allows it, is at most 23 δ "
        "log(1/δ) for UCB and ETC at every log(1/δ) of the grid",
        exactly(max(ratios.values()) <= 1.0),
    )


def many_arms_keep_the_corollary(m: Measurements) -> Claim:
    """No more runs with four arms break a bound than the corollary allows."""
    return keeping(
        "many-arms-keep-the-corollary",
        iid.THEORY,
        "With K arms decision, decision time and regret of UCB_α and ETC are as the corollary and "
        "the text after it say, once their printing errors are corrected.",
        [m.at(f"{rule.label}{FOUR}", level) for rule in BOUNDED for level in LEVELS],
        GAPS,
    )


MANY_ARMS_AGAINST_ETC = Ordering(
    "many-arms-against-etc",
    iid.THEORY,
    "With K arms UCB_α outperforms ETC in decision time as α tends to infinity (here ETC', its "
    "limit, and 4 arms).",
    LEVELS,
    decision_time=[(f"{iid.ETC_PRIME_NAME}{FOUR}", f"{iid.ETC_NAME}{FOUR}")],
)


def inflation_decides(m: Measurements) -> Claim:
    """Slightly inflated UCB identifies the best arm in finite time."""
    played = [m.at(INFLATED.label, level) for level in LEVELS]
    share = max(Estimate.of((one.wrong | (one.winner < 0)).astype(float)).mean for one in played)
    slowest = max(float(one.decision_time.max()) for one in played)
    still = {level: m.at(EXACT.label, level) for level in LEVELS}
    return Claim(
        "inflation-decides",
        "conclusion",
        "UCB not only minimizes regret but also identifies the best arm in finite time as soon as "
        f"its exploration term is slightly inflated (here {INFLATED.label}).",
        (
            Measured(f"share of runs of {INFLATED.label} without the right decision", share),
            Measured(f"units that the longest run of {INFLATED.label} took", slowest),
            *(
                Measured(
                    f"share of runs of {EXACT.label}, without inflation, still undecided after "
                    f"{CAP[level]:,} units, log(1/δ) = {level:g}",
                    one.undecided / one.runs,
                )
                for level, one in still.items()
            ),
        ),
        f"every run of {INFLATED.label} ends with a decision, and no more are wrong than δ̃ allows; "
        f"fewer than {FEWEST} runs say nothing. How often {EXACT.label} decides is not judged",
        judged(
            min(one.runs for one in played) >= FEWEST,
            share > max(one.design.calibration.error for one in played),
        ),
    )


def static_horizon(m: Measurements) -> Claim:
    """The test at a fixed horizon fails with probability at most delta."""
    cells = [m.at(Static(enough_units(level), HORIZON).label, level) for level in LEVELS]
    failed = [Estimate.of((one.winner != 1).astype(float)) for one in cells]
    over = [
        share.mean - beyond_chance(one.runs, len(cells)) * share.se - math.exp(-level)
        for share, one, level in zip(failed, cells, LEVELS, strict=True)
    ]
    regrets = [abs(one.regret / (one.units.sum(axis=1) * STATIC_GAP / 2) - 1.0) for one in cells]
    linear = max(float(gaps.max()) for gaps in regrets)
    return Claim(
        "static-horizon",
        STATIC,
        "In a static population that is large enough, the test at a fixed horizon finds the better "
        "arm with probability at least 1 - δ, and its regret is nΔ/2.",
        (
            *(
                Measured.of(f"share of runs without the right decision, log(1/δ) = {level:g}", one)
                for level, one in zip(LEVELS, failed, strict=True)
            ),
            Measured("largest distance of regret / (nΔ/2) from 1", linear),
        ),
        f"with as many units as the proposition asks for, the share is at most δ, give or take "
        f"chance ({MARGIN:g} standard errors; more with few runs), and the regret is nΔ/2; fewer "
        f"than {FEWEST} runs say nothing",
        judged(min(one.runs for one in cells) >= FEWEST, max(over) > 0.0 or linear > 1e-9),
    )


def static_any_time(m: Measurements) -> Claim:
    """The bound for every stage keeps what it says."""
    return keeping(
        "static-any-time",
        STATIC,
        "In a static population the bound for all stages decides correctly, and before the stage "
        "that follows from it, but for the error δ̃.",
        [m.at(Static(10).label, level) for level in LEVELS],
        STATIC_GAP,
    )


def static_sooner(m: Measurements) -> Claim:
    """The decision can often be taken before the horizon."""
    cells = [m.at(Static(10).label, level) for level in LEVELS]
    early = [
        Estimate.of(((one.winner >= 0) & (one.decision_time < HORIZON)).astype(float))
        for one in cells
    ]
    chance = beyond_chance(min(one.runs for one in cells), len(cells))
    return Claim(
        "static-sooner",
        STATIC,
        f"With the bound for all stages the decision can often be taken before a horizon (here of "
        f"{HORIZON} stages).",
        tuple(
            Measured.of(f"share of runs decided before stage {HORIZON}, log(1/δ) = {level:g}", one)
            for level, one in zip(LEVELS, early, strict=True)
        ),
        f"at every log(1/δ) more than half of the runs are decided sooner, beyond chance "
        f"({MARGIN:g} standard errors; more with few runs), with {MORE_UNITS:g} times the units "
        "that the test at the horizon asks for",
        judged(
            all(one.mean - chance * one.se > 0.5 for one in early)
            and min(one.runs for one in cells) >= FEWEST,
            any(one.mean + chance * one.se < 0.5 for one in early),
        ),
    )


EXTENSIONS: tuple[Callable[[Measurements], Claim], ...] = (
    error_of_the_theorems,
    many_arms_keep_the_corollary,
    MANY_ARMS_AGAINST_ETC,
    static_horizon,
    static_any_time,
    static_sooner,
    bounded_units_by_bernstein,
    inflation_decides,
)
"""In the order of the page."""
