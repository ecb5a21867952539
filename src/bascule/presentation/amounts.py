"""Numbers as the page writes them: outcomes in percent where they are 0 or 1, and times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeGuard

from bascule.core.approximate import about, size
from bascule.core.inputs.design_parts import cost_unit
from bascule.core.metrics.metric import Goal
from bascule.core.outcomes import Outcome
from bascule.presentation.numbers import amount

UNKNOWN = "–"


@dataclass(frozen=True, slots=True)
class Amounts:
    """How the outcomes of one test are written.

    >>> from bascule.core.outcomes import Bernoulli, Gaussian
    >>> Amounts.of(Bernoulli()).mean(0.0525), Amounts.of(Gaussian(1)).mean(12.3456)
    ('5.25 %', '12.35')
    >>> Amounts.of(Bernoulli()).interval(-0.004, 0.0113)
    '−0.400 to +1.13 points'
    """

    factor: float
    mean_unit: str
    difference_unit: str
    cost_unit: str

    @classmethod
    def of(cls, outcome: Outcome, goal: Goal = "increase") -> Amounts:
        """Return percent for 0/1 outcomes, and plain numbers for all others."""
        return cls.written(outcome.binary, cost_unit(outcome, goal))

    @classmethod
    def written(cls, binary: bool, unit: str = "outcome units") -> Amounts:
        """Return percent if outcomes are 0 or 1, and otherwise plain numbers."""
        return cls(100.0, " %", " points", unit) if binary else cls(1.0, "", "", unit)

    def mean(self, value: float | None) -> str:
        """A mean, in four digits at most."""
        return UNKNOWN if not known(value) else f"{self._short(value)}{self.mean_unit}"

    def mean_interval(self, low: float | None, high: float | None) -> str:
        """Where a mean lies."""
        if not known(low) or not known(high):
            return UNKNOWN
        return f"{self._short(low)} to {self._short(high)}{self.mean_unit}"

    def difference(self, value: float | None) -> str:
        """A difference of two means, with its sign."""
        return UNKNOWN if not known(value) else f"{self.signed(value)}{self.difference_unit}"

    def size(self, value: float) -> str:
        """A difference as it was stated, without a sign: a margin.

        >>> from bascule.core.outcomes import Bernoulli, Gaussian
        >>> Amounts.of(Bernoulli()).size(0.02), Amounts.of(Gaussian(30)).size(5.0)
        ('2 points', '5')
        """
        return size(value, binary=self.factor > 1)

    def interval(self, low: float | None, high: float | None) -> str:
        """Where a difference lies."""
        if not known(low) or not known(high):
            return UNKNOWN
        return f"{self.signed(low)} to {self.signed(high)}{self.difference_unit}"

    def signed(self, value: float | None) -> str:
        """A difference without its unit."""
        if not known(value):
            return UNKNOWN
        text = self._short(value)
        return text if text == "0" or text[0] == "−" else f"+{text}"

    def cost(self, value: float | None) -> str:
        """A cost, in outcome units."""
        return UNKNOWN if not known(value) else amount(value).replace("-", "−")

    def _short(self, value: float) -> str:
        scaled = self.factor * value
        if abs(scaled) >= 1000:
            return f"{scaled:,.0f}".replace("-", "−")
        # Zeros at the end say how much is known, and keep a column straight.
        text = f"{scaled:#.{self._digits}g}".removesuffix(".")
        return "0" if float(text) == 0 else text.replace("-", "−")

    @property
    def _digits(self) -> int:
        return 3 if self.factor > 1 else 4


def known(value: float | None) -> TypeGuard[float]:
    """Whether there is a number to show."""
    return value is not None and math.isfinite(value)


def duration(days: float | None) -> str:
    """A length of time in the unit that people would use; what is not known is a dash."""
    return about(days) if known(days) else UNKNOWN


def when(seconds: float) -> str:
    """A moment as a table shows it.

    >>> when(0.0)
    '1970-01-01 00:00:00'
    """
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, OSError, TypeError, ValueError):
        # A stored time that no calendar has must not make a page fail.
        return f"{seconds!r} s"


def count(value: float) -> str:
    """A number of units.

    >>> count(12345.6)
    '12,346'
    """
    return f"{value:,.0f}"
