"""Which rule stays below which: the orderings that the paper claims for the i.i.d. setting."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from bascule.paper.claims import Claim
from bascule.paper.compare import below
from bascule.paper.iid import (
    ETC_NAME,
    ETC_PRIME_NAME,
    EXPERIMENTS,
    GRID,
    NEAR_UCB_NAME,
    RULES,
    SHORT_GRID,
    THEORY,
    UCB_2_NAME,
    UCB_4_NAME,
    UCB_15_NAME,
    UCB_32_NAME,
)
from bascule.paper.measure import Measurements
from bascule.paper.ordering import comparing


def etc_decides_first(m: Measurements) -> Claim:
    """ETC has the lowest decision time."""
    others = [rule.label for rule in RULES if rule.label != ETC_NAME]
    return comparing(
        "etc-decides-first",
        EXPERIMENTS,
        "Of all rules in Figure 1, ETC takes the fewest units to decide.",
        [below(m, "decision_time", ETC_NAME, other, GRID) for other in others],
    )


def small_alpha_costs_least(m: Measurements) -> Claim:
    """UCB with the smallest alpha has the lowest regret."""
    others = [rule.label for rule in RULES if rule.label != UCB_15_NAME]
    return comparing(
        "small-alpha-costs-least",
        EXPERIMENTS,
        "Of all rules in Figure 1, UCB with the smallest α (1.5) has the lowest regret.",
        [below(m, "regret", UCB_15_NAME, other, GRID) for other in others],
    )


def _against_etc_prime(m: Measurements, name: str, rule: str) -> Claim:
    return comparing(
        name,
        EXPERIMENTS,
        f"From α = 4 on, UCB costs less regret than ETC' and takes more units to decide: {rule}.",
        [
            below(m, "regret", rule, ETC_PRIME_NAME, GRID),
            below(m, "decision_time", ETC_PRIME_NAME, rule, GRID),
        ],
    )


def alpha_4_against_etc_prime(m: Measurements) -> Claim:
    """UCB_4 is cheaper and slower than ETC'."""
    return _against_etc_prime(m, "alpha-4-against-etc-prime", UCB_4_NAME)


def alpha_32_against_etc_prime(m: Measurements) -> Claim:
    """UCB_32 is cheaper and slower than ETC'."""
    return _against_etc_prime(m, "alpha-32-against-etc-prime", UCB_32_NAME)


def large_alpha_against_etc(m: Measurements) -> Claim:
    """From alpha 4 on UCB is worse than ETC on both counts."""
    return comparing(
        "large-alpha-against-etc",
        EXPERIMENTS,
        "From α = 4 on (4 and 32 in the figure), UCB is behind ETC in regret and in decision time.",
        [
            below(m, quantity, ETC_NAME, rule, GRID)
            for rule in (UCB_4_NAME, UCB_32_NAME)
            for quantity in ("regret", "decision_time")
        ],
    )


def _cheaper_and_later(m: Measurements, name: str, rule: str) -> Claim:
    return comparing(
        name,
        EXPERIMENTS,
        f"{rule} costs less regret than ETC and takes more units to decide.",
        [below(m, "regret", rule, ETC_NAME, GRID), below(m, "decision_time", ETC_NAME, rule, GRID)],
    )


def alpha_15_against_etc(m: Measurements) -> Claim:
    """UCB_1.5 is cheaper and slower than ETC."""
    return _cheaper_and_later(m, "alpha-1.5-against-etc", UCB_15_NAME)


def alpha_2_against_etc(m: Measurements) -> Claim:
    """UCB_2 is cheaper and slower than ETC."""
    return _cheaper_and_later(m, "alpha-2-against-etc", UCB_2_NAME)


def alpha_trades(m: Measurements) -> Claim:
    """Along alpha, regret rises and decision time falls."""
    family = (NEAR_UCB_NAME, UCB_15_NAME, UCB_2_NAME, UCB_4_NAME, UCB_32_NAME)
    steps = list(pairwise(family))
    return comparing(
        "alpha-trades-regret-for-time",
        EXPERIMENTS,
        "UCB_α trades between its two ends, UCB (α near 1) and ETC' (α large): from α = 1.05 to "
        "32, each step up in α costs regret and saves units.",
        [below(m, "regret", small, large, SHORT_GRID) for small, large in steps]
        + [below(m, "decision_time", large, small, SHORT_GRID) for small, large in steps],
    )


def between_ucb_and_etc(m: Measurements) -> Claim:
    """Some alpha lies between UCB and ETC on both counts."""
    return comparing(
        "between-ucb-and-etc",
        EXPERIMENTS,
        f"Some α trade between UCB and ETC: {UCB_15_NAME} lies between {NEAR_UCB_NAME} and ETC in "
        "regret and in decision time.",
        [
            below(m, "regret", NEAR_UCB_NAME, UCB_15_NAME, SHORT_GRID),
            below(m, "regret", UCB_15_NAME, ETC_NAME, SHORT_GRID),
            below(m, "decision_time", ETC_NAME, UCB_15_NAME, SHORT_GRID),
            below(m, "decision_time", UCB_15_NAME, NEAR_UCB_NAME, SHORT_GRID),
        ],
    )


def regret_grows_with_alpha(m: Measurements) -> Claim:
    """Regret is monotone in alpha."""
    family = (UCB_15_NAME, UCB_2_NAME, UCB_4_NAME, UCB_32_NAME, ETC_PRIME_NAME)
    return comparing(
        "regret-grows-with-alpha",
        THEORY,
        "The regret of UCB_α grows with α all the way to ETC', although the constant of the "
        "theorem does not.",
        [below(m, "regret", small, large, GRID) for small, large in pairwise(family)],
    )


ORDERINGS: tuple[Callable[[Measurements], Claim], ...] = (
    etc_decides_first,
    small_alpha_costs_least,
    alpha_4_against_etc_prime,
    alpha_32_against_etc_prime,
    large_alpha_against_etc,
    alpha_15_against_etc,
    alpha_2_against_etc,
    alpha_trades,
    between_ucb_and_etc,
    regret_grows_with_alpha,
)
"""In the order of the page."""
