"""Sums of products of values, denominators and covariates, and of weighted outcomes.

Ratios of means and adjusted means need them: the sum, sum of squares and sum of cubes of any
linear combination of the three follow from them, and they add up over parts of a log.

A unit of arm i has a weight in the comparison with arm j. Given which of the two arms it gets,
the weight is known before the assignment. With the probabilities p_i and p_j of that unit, the
weight is p_j / (p_i + p_j) in arm i and p_i / (p_i + p_j) in arm j, so the expected weighted
difference is the difference of the arms times p_i p_j / (p_i + p_j), the unit's *clock*.
docs/research/analyse.md has the proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from bascule.analysis.source.places import Record
from bascule.core.errors import invalid
from bascule.core.types import FloatArray

POWERS = tuple(powers for powers in product(range(4), repeat=3) if sum(powers) <= 3)
"""Exponents of value, denominator and covariate in each product."""

PLACE = {powers: at for at, powers in enumerate(POWERS)}
UNITS, VALUE, PER = PLACE[0, 0, 0], PLACE[1, 0, 0], PLACE[0, 1, 0]


def moment_sums(value: Any, per: Any, covariate: Any) -> dict[str, Any]:
    """Return the sums of all products as expressions; variables that are None are left out."""
    sums: dict[str, Any] = {}
    variables = (value, per, covariate)
    for powers in POWERS:
        if any(power and part is None for power, part in zip(powers, variables, strict=True)):
            continue
        factors = [
            part for power, part in zip(powers, variables, strict=True) for _ in range(power)
        ]
        if factors:
            term = factors[0]
            for factor in factors[1:]:
                term = term * factor
            sums[name_of(powers)] = term.sum()
    if per is not None:
        sums["least_per"] = per.min()
    if covariate is not None:
        sums["uncovered"] = (covariate.isnull() & value.notnull()).sum()
    return sums


def name_of(powers: tuple[int, ...]) -> str:
    """Return the name of the column of a product.

    >>> name_of((1, 0, 2))
    'moment_102'
    """
    return "moment_" + "".join(map(str, powers))


def check_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise an error if any reduced row has a negative denominator or lacks a covariate."""
    lowest = min(
        (row["least_per"] for row in rows if row.get("least_per") is not None), default=0.0
    )
    if lowest < 0.0:
        raise invalid(f"per must not be below 0 (a unit has {lowest:g})")
    check_covered(sum(row.get("uncovered") or 0 for row in rows))


def check_covered(uncovered: int | None) -> None:
    """Raise an error if units lack a covariate."""
    if uncovered:
        units = "1 unit" if uncovered == 1 else f"{uncovered:,} units"
        raise invalid(
            f"covariate is missing for {units}: fill it in, with 0 for units without data from "
            "before the test",
        )


def moments_of(row: dict[str, Any]) -> FloatArray:
    """Return the products of a reduced row; a missing denominator is 1, a missing covariate 0."""
    units, products = float(row["units"]), np.zeros(len(POWERS))
    has_per = name_of((0, 1, 0)) in row
    for at, (y, d, x) in enumerate(POWERS):
        reduced = (y, d if has_per else 0, x)
        value = row.get(name_of(reduced))
        products[at] = units if sum(reduced) == 0 else 0.0 if value is None else float(value)
    return products


class RatioAdjustment(NamedTuple):
    """A ratio, its mean denominator, and the coefficient and mean of the covariate."""

    ratio: float
    per: float
    theta: float
    covariate: float

    @property
    def terms(self) -> tuple[tuple[tuple[int, int, int], float], ...]:
        """The linear combination that replaces the outcome, as pairs of powers and a coefficient.

        Its mean is the adjusted ratio.
        """
        constant = self.ratio + self.theta * self.covariate
        return (
            ((0, 0, 0), constant),
            ((1, 0, 0), 1.0 / self.per),
            ((0, 1, 0), -self.ratio / self.per),
            ((0, 0, 1), -self.theta),
        )


class Centre(NamedTuple):
    """Number of units, and means and covariances of their value, denominator and covariate."""

    units: float
    value: float
    per: float
    covariate: float
    spread: FloatArray

    @classmethod
    def of(cls, moments: FloatArray) -> Centre:
        """Return number, means and covariances of units from their sums of products."""
        n = float(moments[PLACE[0, 0, 0]])
        first = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
        means = [float(moments[PLACE[name]]) / n for name in first]
        spread = np.zeros((3, 3))
        for i, j in product(range(3), repeat=2):
            powers = tuple(a + b for a, b in zip(first[i], first[j], strict=True))
            about = float(moments[PLACE[powers]]) - n * means[i] * means[j]
            spread[i, j] = about / max(n - 1.0, 1.0)
        return cls(n, means[0], means[1], means[2], spread)

    @classmethod
    def within(cls, arms: FloatArray) -> Centre:
        """Return number and means of all units, and covariances about the means of their arms.

        Covariances about the mean of all units would let the slope absorb a difference between arms
        if outcomes are missing more often in some arms, depending on the covariate.
        """
        parts = [cls.of(arm) for arm in arms if arm[PLACE[0, 0, 0]] > 1.0]
        free = sum(part.units - 1.0 for part in parts)
        spread = sum((part.spread * (part.units - 1.0) for part in parts), np.zeros((3, 3)))
        return cls.of(arms.sum(axis=0))._replace(spread=spread / max(free, 1.0))

    @property
    def ratio(self) -> float:
        """The mean value divided by the mean denominator."""
        return self.value / self.per

    @property
    def ratio_variance(self) -> float:
        """The variance of a single unit's contribution to the ratio, by the delta method."""
        s, r = self.spread, self.ratio
        return float((s[0, 0] - 2.0 * r * s[0, 1] + r * r * s[1, 1]) / self.per**2)

    @property
    def with_covariate(self) -> float:
        """The covariance, between units, of the linearised ratio with the covariate."""
        return float((self.spread[0, 2] - self.ratio * self.spread[1, 2]) / self.per)

    @property
    def adjustment(self) -> RatioAdjustment:
        """The adjustment estimated from these units."""
        if self.per <= 0.0:
            raise invalid("per: all denominators are 0: is it the right column?")
        variance = float(self.spread[2, 2])
        theta = self.with_covariate / variance if variance > 0.0 else 0.0
        return RatioAdjustment(self.ratio, self.per, theta, self.covariate)


def adjusted_mean(arm: Centre, pooled: Centre) -> tuple[float, float]:
    """Return an arm's adjusted mean and its variance per unit, with the pooled slope."""
    theta = pooled.adjustment.theta
    mean = arm.ratio - theta * (arm.covariate - pooled.covariate)
    variance = arm.ratio_variance + theta**2 * arm.spread[2, 2] - 2.0 * theta * arm.with_covariate
    # If all units have the same ratio, rounding may make the variance negative.
    return mean, max(0.0, float(variance))


PROBABILITY = "probability_"
"""Prefix of the columns with the probability of each arm; the number of the arm follows."""

CLOSE = 1e-6
"""Amount by which the sum of a unit's probabilities may exceed 1."""

PARTS = ("weight", "scored", "squares", "squares_scored", "squares_scored_twice", "heaviest")
"""Names of the sums in a reduced row for each rival arm."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Sums of weights and of weighted outcomes, per day of arrival, arm and rival arm.

    Let s be the weight of a unit of the arm against the rival, and X its outcome. `weight` is the
    sum of s and `scored` that of s X. `squares`, `squares_scored` and `squares_scored_twice` are
    the sums of s^2, s^2 X and s^2 X^2, and `heaviest` is the largest s. `clock` is the sum of the
    clocks of *all* units for the pair.
    """

    weight: FloatArray
    scored: FloatArray
    squares: FloatArray
    squares_scored: FloatArray
    squares_scored_twice: FloatArray
    heaviest: FloatArray
    clock: FloatArray


def score_sums(units: Any, value: Any, arms: int) -> dict[str, Any]:
    """Return the expressions of the sums in `Scores`, over a table with one row per unit.

    Units whose value is null are excluded from all sums.
    """
    import ibis

    zero = ibis.literal(0.0)
    probabilities = [units[f"{PROBABILITY}{i}"] for i in range(arms)]
    cases = [(units.arm == i, p) for i, p in enumerate(probabilities)]
    assigned = ibis.cases(*cases, else_=ibis.null("float64"))
    total = sum(probabilities[1:], probabilities[0])
    sums: dict[str, Any] = {
        "smallest_own": assigned.min(),
        "largest_any": ibis.greatest(*probabilities).max(),
        "largest_total": total.max(),
        "unlogged": ibis.ifelse(assigned.isnull() | total.isnull(), 1, 0).sum(),
    }
    # Each unit of the log got one of these arms, so their probabilities are normalised to 1.
    propensity = ibis.ifelse(value.isnull(), ibis.null("float64"), total.nullif(0.0))
    probabilities, assigned = [p / propensity for p in probabilities], assigned / propensity
    for j, rival in enumerate(probabilities):
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
            share = (probabilities[i] + rival).nullif(0.0)
            sums[f"clock_{i}_{j}"] = (probabilities[i] * rival / share).fill_null(zero).sum()
    return sums


def laid_out(rows: Sequence[Record], first: date, days: int, arms: int) -> Scores | None:
    """Return the scores of reduced rows as arrays; None if the log has no probabilities."""
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
        raise invalid(
            "probability must be above 0 and at most 1 for every unit: it is that of the arm that "
            "the unit got (if each arm has a column: together at most 1)",
        )
