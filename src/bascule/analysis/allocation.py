"""Checks of the assignment: whether each arm got its intended share of the units."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from bascule.analysis.assigned import Assigned
from bascule.analysis.checks import LEVEL, looks_words
from bascule.analysis.log.rows import is_rare
from bascule.analysis.reduce.moments import Scores
from bascule.analysis.result import SAMPLE_RATIO, Check
from bascule.core.diagnostics import AllocationStatistics
from bascule.core.diagnostics.allocation import allocation_any_time
from bascule.core.diagnostics.result import chi_square_tail, normal_tails, p_at_look, shown
from bascule.core.errors import invalid
from bascule.core.inputs import checks
from bascule.core.types import FloatArray

SIMPLE_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 1 / 3)
"""Common shares of the smaller of two arms, besides a half."""

NEARLY_EVEN, NEARLY_SIMPLE = 0.1, 0.05
"""Relative tolerance of the smallest arm's share, for an even split and for a simple share."""


def sample_ratio(
    arms: Sequence[str],
    units: FloatArray,
    weights: Sequence[Sequence[float]] | None,
    *,
    one_look: bool = False,
) -> Check:
    """Compare the units per arm with the stated weights, or with the nearest simple split.

    `units` and `weights` have a row for each period in which the weights were constant.
    If the split is right, the probability that it is ever flagged is at most 1 %, however often
    one looks. With `one_look` it is also flagged if a chi-square test of this look alone is
    significant.

    >>> sample_ratio(["a", "b"], np.array([[5000.0, 5400.0]]), [[0.5, 0.5]]).flagged
    True
    """
    assumed = ""
    counts = [int(n) for n in units.sum(axis=0)]
    if weights is None:
        split = plausible_split(counts)
        if split is None:
            message = "no weights were stated, and the split is no simple one: give weights"
            return Check(SAMPLE_RATIO, False, message, made=False)
        even = len(set(split)) == 1
        names = "an even split" if even else ":".join(f"{100 * w:.3g}" for w in split)
        assumed = f"; no weights were stated, and {names} was assumed"
        weights, units = [split], units.sum(axis=0, keepdims=True)
    shares = np.asarray(weights) / np.sum(weights, axis=1, keepdims=True)
    total = AllocationStatistics.empty(len(arms))
    for period, share in zip(units, shares, strict=True):
        total += AllocationStatistics.of_counts(period.astype(int).tolist(), share.tolist())
    ratio, wanted = allocation_any_time(total, LEVEL), total.expected
    off = [(n - size) ** 2 / size if size else 0.0 for n, size in zip(counts, wanted, strict=True)]
    once = _at_once(total)
    words = looks_words(once if one_look else ratio.p_value, once)
    if not (ratio.flagged or (one_look and once <= LEVEL)):
        message = f"units per arm agree with the weights ({words})"
        if once <= LEVEL:
            message = f"units per arm are far from the weights for a single look ({words})"
        return Check(SAMPLE_RATIO, False, message + assumed, ratio.p_value)
    worst = off.index(max(off))
    message = (
        f"arm {arms[worst]} has {counts[worst]:,} units where its weight makes "
        f"{wanted[worst]:,.1f} "
        f"({words}): find out where units are lost or counted twice before you "
        "trust a comparison"
    )
    return Check(SAMPLE_RATIO, True, message + assumed, ratio.p_value)


def _at_once(statistics: AllocationStatistics) -> float:
    """Return the p-value of a chi-square test of all arms, valid for a single look."""
    if statistics.impossible or not statistics.units:
        return 0.0 if statistics.impossible else 1.0
    off = np.array(statistics.observed) - np.array(statistics.expected)
    inverse = np.linalg.pinv(np.array(statistics.covariance), rcond=1e-9, hermitian=True)
    return chi_square_tail(float(off @ inverse @ off), len(off) - 1)


def plausible_split(counts: Sequence[int]) -> list[float] | None:
    """Return an even split or, for two arms, a simple one that is close to the counts; else None.

    >>> plausible_split([9010, 990]), plausible_split([5000, 4600]), plausible_split([30, 70])
    ([0.9, 0.1], [0.5, 0.5], None)
    """
    even = 1.0 / len(counts)
    share = min(counts) / max(sum(counts), 1)
    if share >= (1.0 - NEARLY_EVEN) * even:
        return [even] * len(counts)
    small = min(SIMPLE_SHARES, key=lambda simple: abs(simple - share))
    if len(counts) != 2 or abs(share - small) > NEARLY_SIMPLE * small:
        return None
    return [1.0 - small, small] if counts[0] >= counts[1] else [small, 1.0 - small]


def logged_ratio(arms: Sequence[str], scores: Scores) -> Check:
    """Compare the units per arm with the logged assignment probabilities.

    If the probabilities are right, the weights (`Scores.weight`) of the units of two arms against
    each other have the same expected sum. The p-value is corrected for the number of pairs, and
    holds for a look at the end of every day.
    """
    weight, squares = scores.weight.sum(axis=0), scores.squares.sum(axis=0)
    pairs = list(combinations(range(len(arms)), 2))
    worst, worst_pair = 0.0, pairs[0]
    for i, j in pairs:
        spread = squares[i, j] + squares[j, i]
        z = abs(weight[i, j] - weight[j, i]) / np.sqrt(spread) if spread > 0.0 else 0.0
        if z > worst:
            worst, worst_pair = float(z), (i, j)
    p_value = p_at_look(min(1.0, len(pairs) * normal_tails(worst)), len(scores.weight))
    if p_value > LEVEL:
        message = f"units per arm agree with the logged probabilities ({shown(p_value)})"
        return Check(SAMPLE_RATIO, False, message, p_value)
    message = (
        f"the units of {arms[worst_pair[0]]} and {arms[worst_pair[1]]} do not agree with the "
        f"logged probabilities ({shown(p_value)}): find out whether the logged ones "
        "are those that were used"
    )
    return Check(SAMPLE_RATIO, True, message, p_value)


def checked_weights(arms: Sequence[str], assigned: Assigned) -> list[list[float]] | None:
    """Return the stated weights of each period, in the order of the arms; None if unstated."""
    if assigned.weights is None:
        return None
    return [_checked(arms, weights) for _, weights in assigned.periods]


def _checked(arms: Sequence[str], weights: object) -> list[float]:
    """Return weights as positive numbers in the order of the arms."""
    if isinstance(weights, dict):
        unknown = set(map(str, weights)) - set(arms)
        if unknown or len(weights) != len(arms):
            raise invalid(f"weights must name every arm: {', '.join(arms)} (got {weights!r:.60})")
        weights = [weights[arm] for arm in arms]
    if not isinstance(weights, (list, tuple)) or len(weights) != len(arms):
        raise invalid(
            f"weights must be {len(arms)} numbers, one per arm: {', '.join(arms)} "
            f"(got {weights!r:.60})",
        )
    how = "state how the units were split, such as [0.9, 0.1]"
    return [checks.positive("weights", weight, how) for weight in weights]


def other_assignment(wholes: Sequence[str], mixed: Sequence[str]) -> list[Check]:
    """Return checks for groups assigned as a whole, and for columns that contradict the arm.

    `wholes` has the columns with such groups, and `mixed` a description of each column that
    contradicts the arm.

    >>> print(other_assignment(["school"], [])[0])
    ! whole groups: all units of one school have the same arm: if it was assigned as a whole, ...
    """
    together = (
        "all units of one {0} have the same arm: if it was assigned as a whole, give `cluster` "
        "{0!r}, or intervals are too narrow"
    )
    doubt = "find out which arm these units got, or leave them out (`query`)"
    groups = [Check("whole groups", True, together.format(name)) for name in wholes]
    return groups + [Check("other arm", True, f"{words}: {doubt}") for words in mixed]


def rare_arms(arms: Sequence[str], units: Sequence[float]) -> list[Check]:
    """Flag arms with so few units that their names may be mistakes in the column.

    >>> rare_arms(["a", "b", "-1"], [310, 289, 1])[0].message.split(":")[0]
    '-1 has 1 unit'
    >>> rare_arms(["a", "b"], [310, 289])
    []
    """
    largest = max(units, default=0)
    rare = [(arm, n) for arm, n in zip(arms, units, strict=True) if n > 0 and is_rare(n, largest)]
    if not rare:
        return []
    counts = ", ".join(f"{arm} has {n:.0f} {'unit' if n == 1 else 'units'}" for arm, n in rare)
    doubt = "is that an arm of the test? If it is a mistake, leave these rows out"
    return [Check("rare arms", True, f"{counts}: {doubt}: each further arm widens all intervals")]
