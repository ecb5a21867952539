"""Numbers of an analysis as people say them: 0/1 outcomes in percent, days by their names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from bascule.presentation.numbers import UNKNOWN, number, percent, signed

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis

__all__ = ["UNKNOWN", "Dates", "Scale", "has_days", "minus", "number", "percent"]

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)

DAY_0 = date(1970, 1, 1)
"""Where days that are numbers begin."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How the outcomes of a log are written, and what cost is counted in."""

    percent: bool
    cost_unit: str = "outcome units"

    @classmethod
    def of(cls, analysis: Analysis) -> Scale:
        """In percent if outcomes are 0 or 1."""
        design = analysis.design
        return cls(design.outcome.binary, design.cost_unit)

    @property
    def factor(self) -> float:
        """What an outcome is multiplied with."""
        return 100.0 if self.percent else 1.0

    @property
    def difference_unit(self) -> str:
        """What differences are counted in."""
        return "points" if self.percent else "outcome units"

    def mean(self, value: float | None) -> str:
        """A mean or a spread, with four digits.

        >>> Scale(True).mean(0.05234), Scale(False).mean(None)
        ('5.234 %', '–')
        """
        if value is None:
            return "–"
        return f"{number(self.factor * value)} %" if self.percent else number(value)

    def signed(self, value: float, width: float = math.nan) -> str:
        """A difference with its sign, to a hundredth of the width of its interval or so.

        >>> Scale(True).signed(0.0123456, 0.03), Scale(False).signed(-12.3456, 80.0)
        ('+1.23', '−12.3')
        """
        return signed(self.factor * value, _decimals(self.factor * width))

    def difference(self, value: float, width: float = math.nan) -> str:
        """Return a difference with its sign and unit."""
        return f"{self.signed(value, width)}{' points' if self.percent else ''}"

    def interval(self, low: float, high: float, joint: str = "to") -> str:
        """The two ends of an interval of differences.

        >>> Scale(True).interval(-0.01, 0.02)
        '−1.00 to +2.00'
        """
        return f"{self.signed(low, high - low)} {joint} {self.signed(high, high - low)}"


def minus(text: str) -> str:
    """Return a number as text with the sign for minus instead of a hyphen."""
    return text.replace("-", "−")


@dataclass(frozen=True, slots=True)
class Dates:
    """How the days of a log are written: as dates, or as the numbers that it counts them by."""

    numbered: bool

    @classmethod
    def of(cls, analysis: Analysis) -> Dates:
        """As the time column has them."""
        return cls(analysis.reading.times == "numbers")

    def day(self, text: str, year: bool = True) -> str:
        """A day in words.

        >>> dates, numbers = Dates(False), Dates(True)
        >>> dates.day("1987-03-09"), dates.day("2026-03-09", year=False), numbers.day("1970-01-09")
        ('9 March 1987', '9 Mar', 'day 8')
        """
        when = date.fromisoformat(text)
        if self.numbered:
            return f"day {(when - DAY_0).days}"
        month = MONTHS[when.month - 1]
        return f"{when.day} {month} {when.year}" if year else f"{when.day} {month[:3]}"

    def stamp(self, text: str) -> str:
        """A day as a table has it.

        >>> Dates(False).stamp("2026-03-09"), Dates(True).stamp("1970-01-09")
        ('2026-03-09', 'day 8')
        """
        return self.day(text) if self.numbered else text


def has_days(analysis: Analysis) -> bool:
    """Whether the log says when anything happened."""
    return analysis.last_day is not None and analysis.reading.times != "none"


def _decimals(width: float) -> int:
    if not math.isfinite(width) or width <= 0.0:
        return 3
    return min(6, max(0, 2 - math.floor(math.log10(width))))
