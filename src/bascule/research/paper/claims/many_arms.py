"""The paper's claims for more than two arms: both branches of the corollary, and ETC.

The corollary has the constant c_alpha, the smaller of two branches. The first has a proof for any
number of arms. The second has a proof for two arms only; from alpha = 2 + sqrt(5) on it is the
smaller one, and so the constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from bascule.core.design import Design
from bascule.core.rules import ETC, UCB, ETCPrime, Rule
from bascule.research.paper import iid
from bascule.research.paper.claims.claim import Finding, Measured
from bascule.research.paper.claims.judging import Promise, keeping, keeping_theorems
from bascule.research.paper.measure import FigureCell, Measurements
from bascule.research.variants import ETCPrinted
from bascule.theory import c_alpha
from bascule.theory.bounds import published_shape
from bascule.theory.solve import units_within

LEVELS = (4.0, 12.0)
"""log(1/delta) at which these claims are measured."""

ARMS = ("A", "B", "C", "D")
ARM_MEANS = (0.0, 0.5, 0.5, 1.0)
GAPS = (1.0, 0.5, 0.5)
ARM_RULES: tuple[Rule, ...] = (UCB(2), UCB(4), ETC(), ETCPrinted(), ETCPrime())
FIRST_BRANCH = (UCB(2), UCB(4), ETC())
"""Rules whose bound uses the first branch of the constant, and ETC, which has no branches."""

FOUR = " with 4 arms"

NEAR_AND_FAR = (1.0, 0.8, -1.0)
UNEQUAL_GAPS = (0.2, 2.0)
SECOND_BRANCH = (UCB(32), UCB(200))
"""Rules whose bound uses the second branch, for arms with a small and a large gap."""

THREE, FAR_PART = " with a near and a far arm", 4


def points() -> tuple[FigureCell, ...]:
    """Return the simulations that these claims need.

    >>> len(points())
    14
    """
    cells = [
        FigureCell(iid.design(rule, level, arms=ARMS), level, ARM_MEANS, other=FOUR)
        for rule in ARM_RULES
        for level in LEVELS
    ]
    unequal = [
        FigureCell(iid.design(rule, level, arms=ARMS[:3]), level, NEAR_AND_FAR, FAR_PART, THREE)
        for rule in SECOND_BRANCH
        for level in LEVELS
    ]
    return (*cells, *unequal)


def first_branch(m: Measurements) -> Finding:
    """Judge whether runs with four arms keep the corrected bounds of the corollary."""
    cells = [m.at(f"{rule.label}{FOUR}", level) for rule in FIRST_BRANCH for level in LEVELS]
    return keeping_theorems(cells, GAPS)


def second_branch(m: Measurements) -> Finding:
    """Count the runs with a small and a large gap whose regret exceeds the corollary's bound."""
    cells = {
        (rule.label, level): m.at(f"{rule.label}{THREE}", level)
        for rule in SECOND_BRANCH
        for level in LEVELS
    }
    broken = {
        key: Promise.of(
            one.regret > corollary_regret(one.design, UNEQUAL_GAPS), one.design.calibration.error
        )
        for key, one in cells.items()
    }
    finding = keeping(
        tuple(broken.values()), "whose regret is above the corollary's, corrected and solved"
    )
    shares = tuple(
        Measured.of(f"share of runs of {label} above it, log(1/δ) = {level:g}", promise.share)
        for (label, level), promise in broken.items()
    )
    return replace(finding, measured=(*shares, *finding.measured))


def corollary_regret(design: Design, gaps: Sequence[float]) -> float:
    """Return the corollary's bound on regret, with its inequality solved numerically.

    >>> one = iid.design(UCB(32), 12.0, arms=ARMS[:3])
    >>> round(corollary_regret(one, UNEQUAL_GAPS))
    3398
    """
    rule = design.rule
    knob = rule.knob
    assert knob is not None
    constant, shape = c_alpha(knob.value), published_shape(design)
    return math.fsum(
        gap * units_within(8 * constant / gap**2 + 1, shape, design.calibration.delta)
        for gap in gaps
    )
