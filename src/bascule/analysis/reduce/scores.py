"""Sums of weighted outcomes for logs with the probabilities of assignment.

A unit of arm i counts in the comparison with arm j with a weight that is known before it is
assigned, up to which of the two arms it gets. With the probabilities p_i and p_j of that unit, the
weight is p_j / (p_i + p_j) in arm i and p_i / (p_i + p_j) in arm j, so the expected weighted
difference is the difference of the arms times p_i p_j / (p_i + p_j), the unit's *clock*. Where only
the probability of the unit's own arm is logged, of three or more, the weight is 1/p, which no proof
covers. docs/research/analyse.md has the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np

from bascule.analysis.source.backend import Record
from bascule.core.errors import InputError
from bascule.core.types import FloatArray

OF_ASSIGNED, ALL = "probability", "probability_"
"""Columns: the probability of the unit's own arm, or with a number behind it that of each arm."""

CLOSE = 1e-6
"""By how much the probabilities of a unit may exceed 1 in total."""

PARTS = ("weight", "scored", "squares", "squares_scored", "squares_scored_twice", "heaviest")
"""Parts of scores that a row has for each rival arm."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Per day of arrival, arm and rival arm: sums of weights, and of weighted outcomes.

    `weight` is the sum of the weights s of the arm's units against the rival, `scored` that of
    s X, `squares`, `squares_scored` and `squares_scored_twice` those of s^2, s^2 X and s^2 X^2, and
    `heaviest` is the largest s. `clock` is the sum of the clocks of *all* units for the pair.
    `bounded` says whether all weights are sure to lie between 0 and 1, whichever arm a unit could
    have got: what a proof needs.
    """

    weight: FloatArray
    scored: FloatArray
    squares: FloatArray
    squares_scored: FloatArray
    squares_scored_twice: FloatArray
    heaviest: FloatArray
    clock: FloatArray
    bounded: bool = True

    def first(self, days: int) -> Scores:
        """The scores of the first days alone."""
        return self._changed(lambda part: part[:days])

    def of_arms(self, places: Sequence[int]) -> Scores:
        """The scores of some arms alone."""
        return self._changed(lambda part: part[:, places][:, :, places])

    def merged(self, starts: Sequence[int]) -> Scores:
        """Scores whose rows are blocks of days, by the places of their first days."""
        heaviest = np.maximum.reduceat(self.heaviest, starts)
        return replace(self._changed(lambda part: np.add.reduceat(part, starts)), heaviest=heaviest)

    def _changed(self, change: Callable[[FloatArray], FloatArray]) -> Scores:
        """Return the scores with a change of all arrays."""
        names = (*PARTS, "clock")
        parts: dict[str, Any] = {name: change(getattr(self, name)) for name in names}
        return replace(self, **parts)


def score_sums(units: Any, value: Any, arms: int) -> dict[str, Any]:
    """The sums that `Scores` is made of, as expressions over a table with one row per unit.

    Units whose value is null are excluded, and count for nothing.
    """
    import ibis

    zero = ibis.literal(0.0)
    if OF_ASSIGNED in units.columns:
        assigned = units[OF_ASSIGNED]
        if arms > 2:
            inverse = ibis.ifelse(value.isnull(), zero, 1.0 / assigned.nullif(0.0))
            return _checks(assigned, assigned, assigned, ibis) | _sums_of(inverse, value, "_own")
        every = [ibis.ifelse(units.arm == i, assigned, 1.0 - assigned) for i in range(2)]
    else:
        every = [units[f"{ALL}{i}"] for i in range(arms)]
        cases = [(units.arm == i, p) for i, p in enumerate(every)]
        assigned = ibis.cases(*cases, else_=ibis.null("float64"))
    total = sum(every[1:], every[0])
    sums = _checks(assigned, ibis.greatest(*every), total, ibis)
    # A unit of the log got one of these arms: given that, their probabilities add up to 1.
    there = ibis.ifelse(value.isnull(), ibis.null("float64"), total.nullif(0.0))
    every, assigned = [p / there for p in every], assigned / there
    for j, rival in enumerate(every):
        sums |= _sums_of((rival / (assigned + rival).nullif(0.0)).fill_null(zero), value, f"_{j}")
        for i in range(j):
            both = (every[i] + rival).nullif(0.0)
            sums[f"clock_{i}_{j}"] = (every[i] * rival / both).fill_null(zero).sum()
    return sums


def _checks(assigned: Any, largest: Any, total: Any, ibis: Any) -> dict[str, Any]:
    return {
        "smallest_own": assigned.min(),
        "largest_any": largest.max(),
        "largest_total": total.max(),
        "unlogged": ibis.ifelse(assigned.isnull() | total.isnull(), 1, 0).sum(),
    }


def _sums_of(weight: Any, value: Any, ending: str) -> dict[str, Any]:
    once = weight * value
    return {
        f"weight{ending}": weight.sum(),
        f"scored{ending}": once.sum(),
        f"squares{ending}": (weight * weight).sum(),
        f"squares_scored{ending}": (weight * once).sum(),
        f"squares_scored_twice{ending}": (once * once).sum(),
        f"heaviest{ending}": weight.max(),
    }


def laid_out(rows: Sequence[Record], first: date, days: int, arms: int) -> Scores | None:
    """Scores from reduced rows; None if the log has no probabilities."""
    if not rows or "unlogged" not in rows[0]:
        return None
    paired = "weight_0" in rows[0]
    shape = (days, arms, arms)
    parts = {name: np.zeros(shape) for name in (*PARTS, "clock")}
    for row in rows:
        _check_row(row)
        day, arm = (row["day"] - first).days, row["arm"]
        if not row["units"]:
            continue
        if not paired:
            for name in PARTS:
                parts[name][day, arm] = row[f"{name}_own"]
            parts["clock"][day] += row["units"]
            continue
        for j in range(arms):
            for name in PARTS:
                parts[name][day, arm, j] = row[f"{name}_{j}"]
            for i in range(j):
                parts["clock"][day, i, j] += row[f"clock_{i}_{j}"]
                parts["clock"][day, j, i] = parts["clock"][day, i, j]
    return Scores(**parts, bounded=paired)


def _check_row(row: Record) -> None:
    if (
        row["unlogged"]
        or not row["smallest_own"] > 0.0
        or not row["largest_any"] <= 1.0
        or row["largest_total"] > 1.0 + CLOSE
    ):
        raise InputError(
            "probability",
            "probability must lie above 0 and at most at 1 for every unit: it is that of the arm "
            "that the unit got (a column for each arm: together at most 1)",
        )
