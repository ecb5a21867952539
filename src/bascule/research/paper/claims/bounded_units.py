"""Units whose effects and noise are bounded, with unknown variances.

The paper names empirical Bernstein inequalities for them. `UCB(alpha, radius="bernstein")` on
`Recurrent(least=low, most=high)` is that, at looks planned by the calendar.
"""

from __future__ import annotations

import math

from bascule.core.design import Design
from bascule.core.outcomes import Recurrent
from bascule.core.rules import UCB
from bascule.research.paper.claims.claim import Finding, Judge, Measured, Verdict, judged, states
from bascule.research.paper.claims.judging import Promise, below, keeping
from bascule.research.paper.iid import ARMS
from bascule.research.paper.measure import FigureCell, Measurements
from bascule.research.paper.units import UNITS

MEANS, TIE = (0.05, 0.15), (0.1, 0.1)
"""How often a unit of each arm gives a 1, on average over units."""

OUTCOME = Recurrent(sigma_unit=0.04, least=0.0, most=1.0)
ERROR, GROWTH, CAP = 0.05, 1.3, 4000
"""The error; how many times later the next look comes, and when a run ends at last."""

LEVEL = -math.log(ERROR)
SMALL, LARGE = (UCB(alpha, radius="bernstein", growth=GROWTH) for alpha in (1.5, 4))
EQUAL = ", equal arms"

PART = 10
"""One in this number of runs is played."""


def points() -> tuple[FigureCell, ...]:
    """Return everything that is simulated for these claims.

    >>> len(points())
    3
    """
    rules = (SMALL, LARGE)
    designs = [Design(ARMS, OUTCOME, rule, error=ERROR, sides=1, max_units=CAP) for rule in rules]
    return (
        *(FigureCell(design, LEVEL, MEANS, PART) for design in designs),
        FigureCell(designs[0], LEVEL, TIE, PART, EQUAL),
    )


@states(
    "bounded-units-by-bernstein",
    UNITS,
    "Where unit effects and noise are bounded and their variances unknown, the results carry "
    "over with empirical Bernstein inequalities: the error is kept, and a smaller α costs less "
    "regret and decides later.",
)
def bounded_units_by_bernstein(m: Measurements) -> Finding:
    """Count wrong decisions at a gap and between equal arms, and compare two alphas."""
    apart = [m.at(rule.label, LEVEL) for rule in (SMALL, LARGE)]
    tie = m.at(f"{SMALL.label}{EQUAL}", LEVEL)
    promises = keeping(
        [
            *(Promise.of(one.wrong | (one.winner < 0), ERROR) for one in apart),
            Promise.of(tie.winner >= 0, 2 * ERROR),
        ],
        "without the right decision, or with one between equal arms",
    )
    regret = below(m, "regret", SMALL.label, LARGE.label, [LEVEL])
    time = below(m, "decision_time", LARGE.label, SMALL.label, [LEVEL])
    trade = [one.verdict(2) for one in (regret, time)]
    return Finding(
        (
            Measured.of(f"regret, {LARGE.label} - {SMALL.label}", regret.average),
            Measured.of(f"decision time, {SMALL.label} - {LARGE.label}", time.average),
            *(
                Measured.of(f"{what} of {one.design.rule.label}", one.summary()[column])
                for one in apart
                for what, column in (("regret", "regret"), ("decision time", "decision_time"))
            ),
            *promises.measured,
        ),
        f"units that give 0 or 1 ({MEANS[0]:g} and {MEANS[1]:g} on average), error {ERROR:g}: "
        f"{promises.rule}; and both differences are over 0 by more than chance",
        _verdict(promises.verdict, judged(trade == ["holds"] * 2, "does not hold" in trade)),
        f"{promises.detects}; the opposite order by {regret.noticed(2):.2g} in regret or "
        f"{time.noticed(2):.2g} in decision time",
    )


def _verdict(promise: Verdict, trade: Verdict) -> Verdict:
    """Return the weaker of two verdicts."""
    order: tuple[Verdict, ...] = ("does not hold", "not shown", "not contradicted", "holds")
    return min(promise, trade, key=order.index)


BOUNDED_UNITS: tuple[Judge, ...] = (bounded_units_by_bernstein,)
"""In the order of the page."""
