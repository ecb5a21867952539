"""The setting of the paper's i.i.d. experiments: two Gaussian arms, means 0 and 1, sigma 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bascule.core.design import Design
from bascule.core.outcomes import Gaussian, Outcome
from bascule.core.rules import ETC, UCB, ETCPrime, Rule
from bascule.research.paper.measure import FigureCell

ARMS = ("A", "B")
MEANS = (0.0, 1.0)
GAP = 1.0
OUTCOME = Gaussian(1.0)

GRID = tuple(float(level) for level in range(2, 21, 2))
"""log(1/delta) along the x axis of Figure 1."""

FAMILY: tuple[Rule, ...] = (UCB(1.5), UCB(2), UCB(4), UCB(32))
RULES: tuple[Rule, ...] = (*FAMILY, ETC(), ETCPrime())

NEAR_UCB = UCB(1.05)
"""Rule in place of UCB, whose alpha of 1 does not bound the decision time."""

SHORT_GRID = (4.0, 12.0, 20.0)
"""log(1/delta) at which `NEAR_UCB` is simulated, whose runs are up to 100 times longer."""


def design(
    rule: Rule,
    log_inverse_delta: float,
    outcome: Outcome = OUTCOME,
    arms: Sequence[str] = ARMS,
    max_units: int | None = None,
) -> Design:
    """Return the design for a rule and a log(1/delta).

    >>> design(ETC(), 4).calibration.delta == math.exp(-4)
    True
    """
    return Design(arms, outcome, rule, delta=math.exp(-log_inverse_delta), max_units=max_units)


def points() -> tuple[FigureCell, ...]:
    """Return the simulations that the i.i.d. setting needs.

    >>> len(points())
    63
    """
    cells = [(rule, level) for rule in RULES for level in GRID]
    cells += [(NEAR_UCB, level) for level in SHORT_GRID]
    return tuple(FigureCell(design(rule, level), level, MEANS) for rule, level in cells)
