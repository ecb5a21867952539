"""The setting of the paper's unit experiments: recurring outcomes, with both spreads 1."""

from __future__ import annotations

from bascule.core.design import Design
from bascule.core.outcomes import Recurrent
from bascule.core.rules import UCB, Rule
from bascule.research.paper import iid
from bascule.research.paper.iid import ARMS, GAP, MEANS, RULES
from bascule.research.paper.measure import FigureCell

__all__ = ["ARMS", "GAP", "MEANS", "RULES"]

OUTCOME = Recurrent(sigma_unit=1.0, sigma_noise=1.0)

GRID = (4.0, 8.0, 12.0, 16.0, 20.0)
"""log(1/delta) along the x axis of Figure 4."""

ENDS = (GRID[0], GRID[-1])
MIDDLE = 12.0

NEAR_UCB = UCB(1.1)
"""Rule in place of UCB-MM. Its runs are up to 100 times longer than those of other rules."""
NEAR_PART = 20

UCB_MM, UCB_PART, UCB_CAP = UCB(1.0), 20, 20_000
"""UCB-MM itself, with fewer runs and a cap, because its decision time has no bound."""

SPREAD_RULE = UCB(4)
"""Rule that is also simulated with either spread doubled."""
SPREAD_PART = 4
MORE_NOISE = Recurrent(sigma_unit=1.0, sigma_noise=2.0)
MORE_SPREAD = Recurrent(sigma_unit=2.0, sigma_noise=1.0)
NOISY_NAME = f"{SPREAD_RULE.label} with twice the noise"
SPREAD_NAME = f"{SPREAD_RULE.label} with units twice as different"


def design(
    rule: Rule, log_inverse_delta: float, outcome: Recurrent = OUTCOME, cap: int | None = None
) -> Design:
    """Return the design for a rule and a log(1/delta).

    >>> design(UCB(2), 4).outcome
    Recurrent(sigma_unit=1.0, sigma_noise=1.0)
    """
    return iid.design(rule, log_inverse_delta, outcome, max_units=cap)


def points() -> tuple[FigureCell, ...]:
    """Return the simulations that the unit setting needs.

    >>> len(points())
    36
    """
    figure = [FigureCell(design(rule, level), level, MEANS) for rule in RULES for level in GRID]
    near = [FigureCell(design(NEAR_UCB, level), level, MEANS, NEAR_PART) for level in ENDS]
    capped = [
        FigureCell(design(UCB_MM, level, cap=UCB_CAP), level, MEANS, UCB_PART)
        for level in (ENDS[0], MIDDLE)
    ]
    doubled = [
        FigureCell(
            design(SPREAD_RULE, MIDDLE, outcome),
            MIDDLE,
            MEANS,
            SPREAD_PART,
            name.removeprefix(SPREAD_RULE.label),
        )
        for outcome, name in ((MORE_NOISE, NOISY_NAME), (MORE_SPREAD, SPREAD_NAME))
    ]
    return (*figure, *near, *capped, *doubled)
