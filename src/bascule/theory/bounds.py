"""Bounds on the decision time and the regret of a test: those we prove, and those of the paper.

`bounds` returns those of our own, sharper proof about the same event; `published_bounds` returns
those of the paper, with its printing slips corrected and its equations solved numerically. Both
proofs, and the list of slips, are in docs/research/bounds.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bascule.core.design import Design
from bascule.core.errors import InputError, invalid
from bascule.core.evidence.calibration import peel
from bascule.core.evidence.radius import LOG_2, radius
from bascule.core.inputs import checks
from bascule.core.numerics import turning_point
from bascule.core.procedures.intervals.procedure import ArmProcedure, IntervalProcedure, Shape
from bascule.core.procedures.recurrent import RecurrentProcedure, UnitShape, equal_weight
from bascule.core.progress import interval_procedure, recurrent_procedure
from bascule.core.rules import UCB
from bascule.core.rules.ucb import even_score, score
from bascule.theory.solve import units_at_width, units_within, widest_radius


def published_shape(design: Design) -> Shape:
    """Return the radius of a rule and the constants of its proof, as published in the paper.

    >>> import bascule as bs
    >>> published_shape(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))).count
    3.0
    """
    if not design.outcome.supports("published bounds"):
        raise InputError(
            "outcome",
            "the paper proves this for units that give one outcome each, not for Recurrent ones: "
            "use Gaussian(sigma)",
        )
    procedure = interval_procedure(design)
    shape = procedure.shape
    if shape.radius is not radius or procedure.pairwise:
        raise InputError(
            "rule",
            f"{procedure.label} is not in the paper, which says nothing about it: "
            "leave out the mixture, or use theory.bounds or theory.predict",
        )
    return shape


def published_unit_shape(design: Design) -> UnitShape:
    """Return the radius and the constants of its proof, as published for recurring outcomes.

    >>> import bascule as bs
    >>> published_unit_shape(bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.UCB(2))).count
    1.0
    """
    procedure = recurrent_procedure(design)
    shape = procedure.shape
    if shape.weight is not equal_weight:
        raise InputError(
            "rule",
            f"{procedure.label} is not in the paper, which says nothing about it: "
            'use radius="paper" or "alternative", or theory.bounds or theory.predict',
        )
    return shape


@dataclass(frozen=True, slots=True)
class Bounds:
    """Upper bounds for a design at given gaps, which hold together with probability `1 - error`.

    `design.calibration.guarantee` says how well founded this is; with an error of 1 the bounds
    promise nothing.

    `units` bounds the units of each arm: the best arm first, then the others in the order in which
    their gaps were given.
    """

    decision_time: float
    regret: float
    units: tuple[float, ...]
    error: float


Theorems = dict[str, Callable[[Design, Any, tuple[float, ...]], Bounds]]
"""Functions (design, procedure, gaps) -> bounds, by the kind of the procedure."""


def c_alpha(alpha: float) -> float:
    """Return the paper's constant in the regret of UCB_alpha: 1 at alpha = 1, 4 at infinity.

    >>> c_alpha(1.0), c_alpha(float("inf"))
    (1.0, 4.0)
    """
    alpha = _checked_alpha(alpha)
    if math.isinf(alpha):
        return 4.0
    small = _first_branch(alpha)
    return small if alpha == 1 else min(small, 4 * (alpha / (alpha - 1)) ** 2)


def sharper_c_alpha(alpha: float) -> float:
    """Return our constant in the regret of UCB_alpha, `4 alpha^2 / (alpha + 1)^2`: from 1 to 4.

    >>> sharper_c_alpha(1.0), sharper_c_alpha(3.0)
    (1.0, 2.25)
    """
    alpha = _checked_alpha(alpha)
    return 4.0 if math.isinf(alpha) else 4 * (alpha / (alpha + 1)) ** 2


def _checked_alpha(alpha: float) -> float:
    return UCB(alpha).alpha


def _first_branch(alpha: float) -> float:
    # A product overflows to infinity, where a power would raise an error.
    return (alpha + 1) / 2 * ((alpha + 1) / 2)


def checked_gaps(
    design: Design, gaps: float | Sequence[float], zero: bool = False
) -> tuple[float, ...]:
    """Return a positive gap for each arm but the best; a single number is used for all of them.

    With `zero` all gaps together may also be 0.

    >>> import bascule as bs
    >>> checked_gaps(bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.ETC()), 0.5)
    (0.5, 0.5)
    """
    rivals = len(design.arms) - 1
    listed = list(gaps) if isinstance(gaps, Iterable) else [gaps] * rivals
    if len(listed) != rivals:
        raise invalid(
            f"gaps must have {rivals} numbers, one for each arm but the best (got {len(listed)})"
        )
    if zero and not any(listed):
        return (0.0,) * rivals
    return tuple(
        checks.positive("gaps", gap, "a gap is how far an arm's mean is below the best")
        for gap in listed
    )


def bounds(design: Design, gaps: float | Sequence[float]) -> Bounds:
    """Return the sharpest bounds on decision time and regret that we can prove.

    They are for `UCB` (except with the radius "looks"), `ETC` and `ETCPrime`; other designs raise
    `InputError`.

    >>> import bascule as bs
    >>> promise = bounds(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.01), 1.0)
    >>> round(promise.decision_time), round(promise.regret)
    (1359, 126)
    """
    return _looked_up(BOUNDS, "has no proven bound on its decision time", design, gaps)


def published_bounds(design: Design, gaps: float | Sequence[float]) -> Bounds:
    """Return the bounds of the paper's exact theorems, with their errors corrected.

    They are for `UCB`, `ETC` and `ETCPrime` with the paper's radii and without "mixture"; other
    designs raise `InputError`.

    >>> import bascule as bs
    >>> promise = published_bounds(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.01), 1)
    >>> round(promise.decision_time), round(promise.regret)
    (1841, 171)
    """
    return _looked_up(PUBLISHED, "is not in the paper, which says nothing about it", design, gaps)


def _looked_up(
    table: Theorems, absent: str, design: Design, gaps: float | Sequence[float]
) -> Bounds:
    procedure = design.procedure
    if procedure.kind not in table:
        raise InputError(
            "rule",
            f"{design.rule.label} on {design.outcome!r} {absent}: use theory.predict or simulate "
            "it, or UCB(alpha), ETC() or ETCPrime()",
        )
    return table[procedure.kind](design, procedure, checked_gaps(design, gaps))


def has_known_index(procedure: ArmProcedure) -> bool:
    """Return whether units are allocated as theory assumes: by the index of UCB, or evenly."""
    return procedure.steps.score in (score, even_score)


def _check_index(procedure: ArmProcedure) -> None:
    if not has_known_index(procedure):
        raise InputError(
            "rule", f"{procedure.label} has an index of its own and no proven bound: simulate it"
        )


def _published_recurrent(
    design: Design, procedure: RecurrentProcedure, other_gaps: tuple[float, ...]
) -> Bounds:
    published_unit_shape(design)
    _check_index(procedure)
    if procedure.eliminates:
        return _etc_bounds(design, other_gaps)
    constant, spread = _published_constants(procedure.alpha, len(other_gaps))
    # The paper's inequalities are solved for radii. The best arm's units follow from the radius of
    # its nearest rival at the maximum number of units of that rival.
    rivals = [_reach(design, gap / (2 * math.sqrt(constant))) for gap in other_gaps]
    largest = max(rivals)
    narrowest = 0.0 if math.isinf(largest) else widest_radius(design, largest)
    return _summed(design, [_reach(design, narrowest / math.sqrt(spread)), *rivals], other_gaps)


def _published_intervals(
    design: Design, procedure: IntervalProcedure, other_gaps: tuple[float, ...]
) -> Bounds:
    shape, delta = published_shape(design), design.calibration.delta
    _check_index(procedure)
    if procedure.eliminates:
        return _etc_bounds(design, other_gaps)
    constant, spread = _published_constants(procedure.alpha, len(other_gaps))

    def information(gap: float) -> float:
        return 8 * (design.outcome.sigma / gap) * (design.outcome.sigma / gap) * constant + 1

    units = [units_within(spread * information(min(other_gaps)) + 1, shape, delta)]
    units += [units_within(information(gap), shape, delta) for gap in other_gaps]
    return _summed(design, units, other_gaps)


def _published_constants(alpha: float, rivals: int) -> tuple[float, float]:
    """Return the constant of the regret, and the factor by which the best arm takes more units."""
    # With more than two arms only the first branch of c_alpha has a proof: a beaten arm still gets
    # units until the leader's nearest rival is beaten too.
    constant = c_alpha(alpha) if rivals == 1 else _first_branch(alpha)
    if math.isinf(alpha):
        return (4.0 if rivals == 1 else math.inf), 1.0
    return constant, math.inf if alpha == 1 else ((alpha + 1) / (alpha - 1)) ** 2


def _recurrent_bounds(
    design: Design, procedure: RecurrentProcedure, other_gaps: tuple[float, ...]
) -> Bounds:
    if procedure.shape.growth > 0:
        raise InputError(
            "rule",
            f"{design.rule.label} has no proven bound on its decision time, because between the "
            'looks its intervals prove nothing: use theory.predict, or radius="mixture"',
        )
    return _arm_bounds(design, procedure, other_gaps)


def _arm_bounds(design: Design, procedure: ArmProcedure, other_gaps: tuple[float, ...]) -> Bounds:
    """Return the bounds of a test that ends when intervals no longer overlap."""
    _check_index(procedure)
    if procedure.eliminates:
        return _etc_bounds(design, other_gaps)
    if procedure.pairwise:
        raise InputError(
            "rule",
            f"{design.rule.label} has no proven bound on its decision time: "
            'use theory.predict, or leave out stop="mixture"',
        )
    alpha = procedure.alpha
    smallest = min(other_gaps)
    best_width = smallest / 4 if math.isinf(alpha) else smallest * (alpha - 1) / (4 * alpha)
    units = [_reach(design, best_width)]
    units += [_reach(design, _rival_width(alpha, gap, smallest)) for gap in other_gaps]
    return _summed(design, units, other_gaps)


def _rival_width(alpha: float, gap: float, smallest: float) -> float:
    """Return the radius below which a rival gets no more units while the test is undecided."""
    if math.isinf(alpha):
        return smallest / 4
    return gap / (alpha + 1) + (alpha - 1) / (alpha + 1) * ((alpha - 1) / (4 * alpha)) * smallest


def _etc_bounds(design: Design, other_gaps: tuple[float, ...]) -> Bounds:
    """Return the bounds of an even split: undecided arms have radii above a quarter of the gap."""
    # This holds for two arms too: twice their radius bounds the error of the difference.
    units = [_reach(design, gap / 4) for gap in other_gaps]
    return _summed(design, [max(units), *units], other_gaps)


def _reach(design: Design, width: float) -> float:
    """Return the maximum units of an arm that gets no more units once its radius is `width`."""
    units = units_at_width(design, width)
    return units if math.isinf(units) else float(math.floor(units) + 1)


def _summed(design: Design, units: list[float], other_gaps: tuple[float, ...]) -> Bounds:
    regret = sum(gap * count for gap, count in zip(other_gaps, units[1:], strict=True))
    cap = math.inf if design.max_units is None else float(design.max_units)
    time = min(cap, sum(units))
    return Bounds(time, min(regret, time * max(other_gaps)), tuple(units), design.calibration.error)


BOUNDS: Theorems = {
    "intervals": _arm_bounds,
    "recurrent": _recurrent_bounds,
}
"""Functions for our proven bounds, by the kind of procedure; other packages add their own."""

PUBLISHED: Theorems = {
    "intervals": _published_intervals,
    "recurrent": _published_recurrent,
}
"""Functions for the bounds in the paper, by the kind of procedure; other packages add their own."""


ZETA_THREE_HALVES = 2.6123753486854883


def corollary(level: float) -> float:
    """Return the bound of the paper's corollary on the probability that `peel` bounds.

    The corollary has two forms; each one is used only at levels for which its proof holds. The
    bound is 1 at other levels.

    >>> round(corollary(2e-4), 3)
    0.025
    """
    scaled = checks.probability("level", level, "it is delta over the rule's count") / LOG_2**2
    best = 1.0
    if scaled < LOG_2 * math.exp(-16):
        root = math.sqrt(math.log(LOG_2 / scaled))
        lead = math.e / LOG_2**2 / 4 * (16 / 15) / (2 - 16 / 15)
        best = min(best, scaled * (lead * root + math.e / LOG_2**2 + 1))
    if scaled <= math.exp(-4):
        best = min(best, scaled * (math.e * ZETA_THREE_HALVES * math.log(1 / scaled) + 5))
    return best


def delta_tilde(design: Design, *, by: Literal["peeling", "corollary"] = "peeling") -> float:
    """Return the one-sided error that is proven for a design's nominal delta.

    The rule is one of the paper. The proof is our "peeling", or the "corollary" of the paper.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=6.0e-4)
    >>> round(delta_tilde(design, by="corollary"), 3)
    0.05
    """
    if by not in {"peeling", "corollary"}:
        raise invalid(f'by must be "peeling" or "corollary" (got {by!r})')
    bound = corollary if by == "corollary" else peel
    shape = published_shape(design)
    return min(1.0, shape.sequences * bound(design.calibration.delta / shape.count))


def corollary_delta(error: float, design: Design) -> float:
    """Return the nominal delta for which the paper's corollary proves `error` for a design's rule.

    `error` is one-sided; the error of the design is not used.

    >>> import bascule as bs
    >>> print(f"{corollary_delta(0.05, bs.Design(['a', 'b'], bs.Gaussian(1), bs.ETC())):.1e}")
    4.4e-04
    """
    error = checks.probability("error", error, "0.05 is usual")
    shape = published_shape(design)

    def proves(level: float) -> bool:
        return shape.sequences * corollary(math.exp(level)) <= error

    largest = turning_point(proves, math.log(error) - 40.0, math.log(error))
    return shape.count * math.exp(math.nextafter(largest, -math.inf))
