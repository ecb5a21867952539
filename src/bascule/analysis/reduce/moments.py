"""Sums of products of a unit's value, denominator and covariate, up to the third degree.

They are what ratios of means and adjusted means need: any linear combination of the three has its
sum, its sum of squares and its sum of cubes in them, and parts of a log still add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from bascule.core.errors import InputError
from bascule.core.types import FloatArray

POWERS = tuple(powers for powers in product(range(4), repeat=3) if sum(powers) <= 3)
"""The exponents of value, denominator and covariate in each product."""

PLACE = {powers: at for at, powers in enumerate(POWERS)}


def moment_sums(value: Any, per: Any, covariate: Any) -> dict[str, Any]:
    """The sums of all products, as expressions; a part that is None is not there."""
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
    """The name of a product's column.

    >>> name_of((1, 0, 2))
    'moment_102'
    """
    return "moment_" + "".join(map(str, powers))


def check_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse denominators below 0 and covariates that are missing in any of the reduced rows."""
    least = min((row["least_per"] for row in rows if row.get("least_per") is not None), default=0.0)
    if least < 0.0:
        raise InputError("per", f"per must not be below 0 (a unit has {least:g})")
    check_covered(sum(row.get("uncovered") or 0 for row in rows))


def check_covered(uncovered: int | None) -> None:
    """Refuse units without a covariate."""
    if uncovered:
        units = "1 unit" if uncovered == 1 else f"{uncovered:,} units"
        raise InputError(
            "covariate",
            f"covariate is missing for {units}: fill it in, with 0 for units without data from "
            "before the test",
        )


def moments_of(row: dict[str, Any]) -> FloatArray:
    """The products of a reduced row; without a denominator it is 1, without a covariate 0."""
    units, products = float(row["units"]), np.zeros(len(POWERS))
    has_per = name_of((0, 1, 0)) in row
    for at, (y, d, x) in enumerate(POWERS):
        reduced = (y, d if has_per else 0, x)
        value = row.get(name_of(reduced))
        products[at] = units if sum(reduced) == 0 else 0.0 if value is None else float(value)
    return products


class Adjustment(NamedTuple):
    """The ratio, the mean denominator, the coefficient of the covariate, and its mean."""

    ratio: float
    per: float
    theta: float
    covariate: float

    @property
    def terms(self) -> tuple[tuple[tuple[int, int, int], float], ...]:
        """The linear combination that stands for an outcome, whose mean is the adjusted ratio."""
        constant = self.ratio + self.theta * self.covariate
        return (
            ((0, 0, 0), constant),
            ((1, 0, 0), 1.0 / self.per),
            ((0, 1, 0), -self.ratio / self.per),
            ((0, 0, 1), -self.theta),
        )


class Centre(NamedTuple):
    """Units, means of the three variables, and their covariances for one unit."""

    units: float
    value: float
    per: float
    covariate: float
    spread: FloatArray

    @classmethod
    def of(cls, moments: FloatArray) -> Centre:
        """From sums of products over the units."""
        n = float(moments[PLACE[0, 0, 0]])
        first = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
        means = [float(moments[PLACE[one]]) / n for one in first]
        spread = np.zeros((3, 3))
        for i, j in product(range(3), repeat=2):
            powers = tuple(a + b for a, b in zip(first[i], first[j], strict=True))
            about = float(moments[PLACE[powers]]) - n * means[i] * means[j]
            spread[i, j] = about / max(n - 1.0, 1.0)
        return cls(n, means[0], means[1], means[2], spread)

    @classmethod
    def within(cls, arms: FloatArray) -> Centre:
        """From sums of products in each arm, with covariances about the means of the arms.

        About the means of all units, a slope would also take up a difference between the arms
        where outcomes are missing in some arms more often, and by the covariate.
        """
        parts = [cls.of(arm) for arm in arms if arm[PLACE[0, 0, 0]] > 1.0]
        free = sum(part.units - 1.0 for part in parts)
        spread = sum((part.spread * (part.units - 1.0) for part in parts), np.zeros((3, 3)))
        return cls.of(arms.sum(axis=0))._replace(spread=spread / max(free, 1.0))

    @property
    def ratio(self) -> float:
        """The mean value per denominator."""
        return self.value / self.per

    @property
    def ratio_variance(self) -> float:
        """The variance of the ratio for one unit, by the delta method."""
        s, r = self.spread, self.ratio
        return float((s[0, 0] - 2.0 * r * s[0, 1] + r * r * s[1, 1]) / self.per**2)

    @property
    def with_covariate(self) -> float:
        """The covariance of the ratio and the covariate for one unit."""
        return float((self.spread[0, 2] - self.ratio * self.spread[1, 2]) / self.per)

    @property
    def adjustment(self) -> Adjustment:
        """The adjustment that these units suggest."""
        if self.per <= 0.0:
            raise InputError("per", "per: all denominators are 0: is it the right column?")
        variance = float(self.spread[2, 2])
        theta = self.with_covariate / variance if variance > 0.0 else 0.0
        return Adjustment(self.ratio, self.per, theta, self.covariate)


def adjusted_mean(arm: Centre, whole: Centre) -> tuple[float, float]:
    """The mean of an arm's metric and its variance for one unit, adjusted as all units suggest."""
    theta = whole.adjustment.theta
    mean = arm.ratio - theta * (arm.covariate - whole.covariate)
    variance = arm.ratio_variance + theta**2 * arm.spread[2, 2] - 2.0 * theta * arm.with_covariate
    # Where all units have one ratio, rounding may leave less than nothing.
    return mean, max(0.0, float(variance))
