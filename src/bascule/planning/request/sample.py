"""Estimate the spread of outcomes between and within units from a sample before the test."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bascule.core.errors import InputError, invalid
from bascule.core.evidence.spread import skewness
from bascule.core.inputs import checks
from bascule.core.inputs.checks import amount, tidy
from bascule.core.types import FloatArray

FEWEST = 10
"""Minimum number of outcomes for estimating a spread."""

REMEDY = "it needs a column named value, and one named unit if units come again"


@dataclass(frozen=True, slots=True)
class Sample:
    """Summary of a sample of outcomes.

    `mean` and `sigma` are those of the units' averages. `sigma_unit` and `sigma_noise` are the
    standard deviations between units and within a unit; `sigma_noise` is nan if no unit has two
    outcomes. `low` and `high` are the smallest and the largest outcome. `cap` is the amount to
    which larger outcomes were reduced, None for no cap, and `above_cap` the share of outcomes that
    were larger.
    """

    outcomes: int
    units: int
    mean: float
    sigma: float
    sigma_unit: float
    sigma_noise: float
    low: float
    high: float
    zero_or_one: bool
    skewness: float = math.nan
    cap: float | None = None
    above_cap: float = 0.0

    @property
    def recurring(self) -> bool:
        """Whether some unit has more than one outcome."""
        return self.units < self.outcomes

    @classmethod
    def of(
        cls,
        values: Sequence[float],
        units: Sequence[str] | None = None,
        cap: float | str | None = None,
    ) -> Sample:
        """Create a sample from a list of values; without `units` each value has a unit of its own.

        It needs at least 10 outcomes, of 2 units or more.

        With a `cap`, a number or a quantile such as "99%", larger outcomes count as the cap.

        The two spreads are those of a one-way layout with random effects, by the method of moments:
        docs/research/planning.md has the formula.

        >>> sample = Sample.of([1, 3, 5, 7, 2, 4, 1, 9, 5, 5], list("aabbccddee"))
        >>> sample.units, round(sample.sigma_unit, 2), round(sample.sigma_noise, 2)
        (5, 0.0, 2.76)
        """
        outcomes = np.asarray(values, np.float64)
        limit = None if cap is None or not len(outcomes) else _cap_of(outcomes, cap)
        above = 0.0
        if limit is not None:
            above = float((outcomes > limit).mean())
            outcomes = np.minimum(outcomes, limit)
        _, owner = np.unique(range(len(outcomes)) if units is None else units, return_inverse=True)
        counts = np.bincount(owner).astype(np.float64)
        averages = np.bincount(owner, outcomes) / counts
        distinct, total = len(counts), len(outcomes)
        if total < FEWEST or distinct < 2:
            raise invalid(
                f"sample has {total} outcomes of {distinct} units: give at least {FEWEST}, "
                "of 2 units or more"
            )
        sigma = float(np.std(averages, ddof=1))
        noise = _noise(outcomes, averages[owner], distinct)
        return cls(
            total,
            distinct,
            float(averages.mean()),
            sigma,
            _between(averages, counts, noise) if distinct < total else sigma,
            noise,
            float(outcomes.min()),
            float(outcomes.max()),
            bool(np.isin(outcomes, (0.0, 1.0)).all()),
            skewness(*(float((averages**power).sum()) for power in range(4))),
            limit,
            above,
        )


def _cap_of(outcomes: FloatArray, cap: float | str) -> float:
    """Return a cap as a number; with a percent sign it is a quantile of the outcomes."""
    remedy = 'give an amount, as in 500, or a quantile of the sample, as in "99%"'
    if isinstance(cap, str) and cap.strip().endswith("%"):
        share = checks.probability("cap", amount("cap", cap, remedy), remedy)
        tidied = tidy(float(np.quantile(outcomes, share)))
    else:
        tidied = amount("cap", cap, remedy)
    if not tidied > 0.0:
        raise invalid(
            f"cap must be above 0 (got {cap}, which is {tidied:g}): give a higher quantile of the "
            "sample, or an amount above 0"
        )
    return tidied


def read_sample(path: str | Path, cap: float | str | None = None) -> Sample:
    """Read a sample from a CSV file: a column `value`, and `unit` if units have several rows.

    With a `cap`, a number or a quantile such as "99%", larger outcomes count as the cap.
    """
    values: list[float] = []
    units: list[str] | None = None
    for line, value, unit in _rows(Path(path)):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise invalid(
                f"sample {path}, line {line}: value must be a finite number (got {value!r}): "
                "correct it or take the line out"
            )
        values.append(number)
        if unit is not None:
            units = [] if units is None else units
            units.append(unit)
    return Sample.of(values, units, cap)


def _rows(path: Path) -> Iterator[tuple[int, str, str | None]]:
    """Yield the line number, value and unit of each row."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file)
            columns = table.fieldnames or []
            if "value" not in columns:
                known = ", ".join(columns[:5]) or "none"
                raise invalid(f"sample {path} has no column value (it has {known}): {REMEDY}")
            for row in table:
                unit = row["unit"] if "unit" in columns else None
                yield table.line_num, row["value"] or "", unit
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        reason = getattr(problem, "strerror", None) or "not a table of text"
        raise InputError("sample", f"cannot read the sample {path}: {reason}") from None


def _noise(outcomes: FloatArray, means: FloatArray, units: int) -> float:
    """Return the standard deviation of outcomes within units."""
    free = len(outcomes) - units
    return math.sqrt(float(((outcomes - means) ** 2).sum()) / free) if free > 0 else math.nan


def _between(averages: FloatArray, counts: FloatArray, noise: float) -> float:
    """Return the standard deviation between units, from which noise within units is removed."""
    total = counts.sum()
    mean = float(counts @ averages / total)
    free = len(counts) - 1
    variance = float(counts @ (averages - mean) ** 2) / free
    size = float(total - (counts @ counts) / total) / free
    return math.sqrt(max(0.0, (variance - noise**2) / size))
