"""Sums of weighted outcomes for logs with the probabilities of assignment.

A unit of arm i counts in the comparison with arm j with a weight that is known before it is
assigned, up to which of the two arms it gets. With the probabilities p_i and p_j of that unit, the
weight is p_j / (p_i + p_j) in arm i and p_i / (p_i + p_j) in arm j, so the expected weighted
difference is the difference of the arms times p_i p_j / (p_i + p_j), the unit's *clock*.
docs/research/analyse.md has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    """

    weight: FloatArray
    scored: FloatArray
    squares: FloatArray
    squares_scored: FloatArray
    squares_scored_twice: FloatArray
    heaviest: FloatArray
    clock: FloatArray


def score_sums(units: Any, value: Any, arms: int) -> dict[str, Any]:
    """The sums that `Scores` is made of, as expressions over a table with one row per unit.

    Units whose value is null are excluded, and count for nothing.
    """
    import ibis

    zero = ibis.literal(0.0)
    if OF_ASSIGNED in units.columns:
        assigned = units[OF_ASSIGNED]
        every = [ibis.ifelse(units.arm == i, assigned, 1.0 - assigned) for i in range(2)]
    else:
        every = [units[f"{ALL}{i}"] for i in range(arms)]
        cases = [(units.arm == i, p) for i, p in enumerate(every)]
        assigned = ibis.cases(*cases, else_=ibis.null("float64"))
    total = sum(every[1:], every[0])
    sums: dict[str, Any] = {
        "smallest_own": assigned.min(),
        "largest_any": ibis.greatest(*every).max(),
        "largest_total": total.max(),
        "unlogged": ibis.ifelse(assigned.isnull() | total.isnull(), 1, 0).sum(),
    }
    # A unit of the log got one of these arms: given that, their probabilities add up to 1.
    there = ibis.ifelse(value.isnull(), ibis.null("float64"), total.nullif(0.0))
    every, assigned = [p / there for p in every], assigned / there
    for j, rival in enumerate(every):
        weight = (rival / (assigned + rival).nullif(0.0)).fill_null(zero)
        once = weight * value
        sums |= {
            f"weight_{j}": weight.sum(),
            f"scored_{j}": once.sum(),
            f"squares_{j}": (weight * weight).sum(),
            f"squares_scored_{j}": (weight * once).sum(),
            f"squares_scored_twice_{j}": (once * once).sum(),
            f"heaviest_{j}": weight.max(),
        }
        for i in range(j):
            both = (every[i] + rival).nullif(0.0)
            sums[f"clock_{i}_{j}"] = (every[i] * rival / both).fill_null(zero).sum()
    return sums


def laid_out(rows: Sequence[Record], first: date, days: int, arms: int) -> Scores | None:
    """Scores from reduced rows; None if the log has no probabilities."""
    if not rows or "unlogged" not in rows[0]:
        return None
    shape = (days, arms, arms)
    parts = {name: np.zeros(shape) for name in (*PARTS, "clock")}
    for row in rows:
        _check_row(row)
        day, arm = (row["day"] - first).days, row["arm"]
        if not row["units"]:
            continue
        for j in range(arms):
            for name in PARTS:
                parts[name][day, arm, j] = row[f"{name}_{j}"]
            for i in range(j):
                parts["clock"][day, i, j] += row[f"clock_{i}_{j}"]
                parts["clock"][day, j, i] = parts["clock"][day, i, j]
    return Scores(**parts)


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
