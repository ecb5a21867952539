"""The paper's remarks on bounded variables and on the total mean, tested with rules for them.

The paper remarks that its results carry over to bounded variables of unknown variance with
empirical Bernstein inequalities, and sets the total mean aside. `research.variants` has a rule for
each.
"""

from __future__ import annotations

import math
from dataclasses import replace

from bascule.core.design import Design
from bascule.core.outcomes import Bernoulli, Outcome
from bascule.core.rules import UCB, Rule
from bascule.research.paper import iid, units
from bascule.research.paper.claims.claim import Finding, Measured
from bascule.research.paper.claims.judging import Promise, keeping
from bascule.research.paper.measure import FigureCell, Measurements
from bascule.research.variants import BoundedUnits, UCBBernstein, UnitMeans
from bascule.simulation import Estimate

LEVEL = 3.0
"""log(1/error) of the rules for bounded variables: an error of 5 %."""

SHARES, UNIT_SHARES = (0.05, 0.15), (0.2, 0.5)
BERNSTEIN, KNOWN, UNITS = UCBBernstein(2), UCB(2, radius="mixture"), BoundedUnits(2)
TOTAL, MEANS = UnitMeans(2), UnitMeans(2, mean="means")

LEVELS = (6.0, 12.0)
"""log(1/error) at which the total mean and the mean of means are compared."""

PART = 4


def _design(rule: Rule, outcome: Outcome, level: float) -> Design:
    return Design(iid.ARMS, outcome, rule, error=math.exp(-level), sides=1)


def points() -> tuple[FigureCell, ...]:
    """Return the simulations that these claims need.

    >>> len(points())
    7
    """
    return (
        FigureCell(_design(BERNSTEIN, Bernoulli(), LEVEL), LEVEL, SHARES),
        FigureCell(_design(KNOWN, Bernoulli(), LEVEL), LEVEL, SHARES),
        FigureCell(_design(UNITS, Bernoulli(), LEVEL), LEVEL, UNIT_SHARES, PART),
        *(
            FigureCell(_design(rule, units.OUTCOME, level), level, units.MEANS, PART)
            for rule in (TOTAL, MEANS)
            for level in LEVELS
        ),
    )


def bernstein_keeps_its_error(m: Measurements) -> Finding:
    """Count the wrong runs, and compare the decision time with a rule that uses only the limits."""
    return _right(m, BERNSTEIN, KNOWN)


def bounded_units_keep_their_error(m: Measurements) -> Finding:
    """Count the wrong runs of a rule for units whose outcomes recur within limits."""
    return _right(m, UNITS)


def _right(m: Measurements, rule: Rule, *rules: Rule) -> Finding:
    simulation = m.at(rule.label, LEVEL)
    failed = Promise.of(simulation.wrong | (simulation.winner < 0), math.exp(-LEVEL))
    finding = keeping([failed], "without the right decision")
    times = tuple(
        Measured.of(
            f"units until the decision, {other_rule.label}",
            Estimate.of(m.at(other_rule.label, LEVEL).decision_time.astype(float)),
        )
        for other_rule in (rule, *rules)
    )
    return replace(finding, measured=(*finding.measured, *times))
