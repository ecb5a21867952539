"""The paper's claims about static populations, whose units are all there from the start."""

from __future__ import annotations

import math
from dataclasses import replace

from bascule.core.outcomes import Recurrent
from bascule.research.paper import iid
from bascule.research.paper.claims.claim import Finding, Measured, judged
from bascule.research.paper.claims.judging import (
    MARGIN,
    Promise,
    beyond_chance,
    keeping,
    keeping_theorems,
    noticed,
)
from bascule.research.paper.measure import FigureCell, Measurements
from bascule.research.static import Static
from bascule.simulation import Estimate

LEVELS = (4.0, 12.0)
"""log(1/delta) at which these claims are measured."""

GAP, HORIZON = 0.5, 10
OUTCOME = Recurrent(sigma_unit=1.0, sigma_noise=1.0)
MORE_UNITS = 1.5


def enough_units(level: float) -> int:
    """Return the number of units that the paper's proposition on the horizon test requires.

    >>> enough_units(4.0)
    564
    """
    return 2 * math.ceil(16.0 * (1.0 + 1.0 / HORIZON) / GAP**2 * level)


def rules(level: float) -> tuple[Static, Static]:
    """Return the test at the horizon, and the test at every stage, which has more units."""
    units = enough_units(level)
    return Static(units, HORIZON), Static(int(MORE_UNITS * units))


def points() -> tuple[FigureCell, ...]:
    """Return the simulations that these claims need.

    >>> len(points())
    4
    """
    return tuple(
        FigureCell(iid.design(rule, level, OUTCOME), level, (0.0, GAP))
        for level in LEVELS
        for rule in rules(level)
    )


def at_horizon(m: Measurements) -> Finding:
    """Count the runs without the right decision, with the units that the proposition requires."""
    cells = [m.at(Static(10, HORIZON).label, level) for level in LEVELS]
    failed = [
        Promise.of(cell.winner != 1, math.exp(-level))
        for cell, level in zip(cells, LEVELS, strict=True)
    ]
    regrets = [abs(cell.regret / (cell.units.sum(axis=1) * GAP / 2) - 1.0) for cell in cells]
    linear = max(float(gaps.max()) for gaps in regrets)
    finding = keeping(failed, "without the right decision")
    distance = Measured("largest distance of regret / (nΔ/2) from 1", linear)
    return replace(
        finding,
        measured=(*finding.measured, distance),
        rule=f"{finding.rule}; and the regret is nΔ/2",
        verdict="does not hold" if linear > 1e-9 else finding.verdict,
    )


def any_time(m: Measurements) -> Finding:
    """Count the runs of the test at every stage that violate the paper's bounds."""
    cells = [m.at(Static(10).label, level) for level in LEVELS]
    return keeping_theorems(cells, GAP)


def sooner(m: Measurements) -> Finding:
    """Count the runs that decide before the horizon."""
    cells = [m.at(Static(10).label, level) for level in LEVELS]
    early = [
        Estimate.of(((cell.winner >= 0) & (cell.decision_time < HORIZON)).astype(float))
        for cell in cells
    ]
    runs = min(cell.runs for cell in cells)
    chance = beyond_chance(runs, len(cells))
    return Finding(
        tuple(
            Measured.of(
                f"share of runs decided before stage {HORIZON}, log(1/δ) = {level:g}", share
            )
            for level, share in zip(LEVELS, early, strict=True)
        ),
        f"at every log(1/δ) more than half of the runs are decided sooner, beyond chance "
        f"({MARGIN:g} standard errors; more with few runs), with {MORE_UNITS:g} times the units "
        "that the test at the horizon asks for",
        judged(
            all(share.mean - chance * share.se > 0.5 for share in early),
            any(share.mean + chance * share.se < 0.5 for share in early),
        ),
        noticed("a share below one half", early, runs, len(cells)),
        runs,
    )
