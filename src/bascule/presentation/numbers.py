"""Formatting of numbers for people: shares, counts, amounts, estimates, differences, means.

Every table, sentence, page and command formats its numbers here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

from bascule.core.approximate import UNKNOWN, about, part, percent, size
from bascule.core.design_parts import cost_unit
from bascule.core.metrics.metric import Goal

if TYPE_CHECKING:
    from bascule.core.outcomes import Outcome

    # Imported for types only: a report on a log must not load the simulator.
    from bascule.simulation import Estimate

__all__ = ["UNKNOWN", "part", "percent"]
"""Names of `core.approximate` that other modules import from this one."""

NORMAL_95 = 1.959964
"""Standard errors on either side of an interval of 95 %."""

LEAST_ERROR = 1e-4
"""Smallest relative standard error that is shown: smaller ones do not affect four digits."""

BETTER: dict[Goal, tuple[str, ...]] = {"increase": (), "decrease": ("lower is better",)}
"""Note on the direction of a metric; empty if higher is better."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """Formats the outcomes of one test: in percent if they are 0 or 1.

    Means have three digits in percent and four otherwise. A difference with a known interval is
    rounded to a hundredth of the interval's width or less, and to six decimals at most.

    >>> Amounts(binary=True).mean(0.0525), Amounts(binary=False).mean(12.3456)
    ('5.25 %', '12.35')
    >>> Amounts(binary=True).interval(-0.004, 0.0113)
    '−0.40 to +1.13 points'
    """

    binary: bool
    cost_unit: str = "outcome units"

    @classmethod
    def of(cls, outcome: Outcome, goal: Goal = "increase") -> Amounts:
        """Return the formatter for the outcomes of a model, and for their cost."""
        return cls(outcome.binary, cost_unit(outcome, goal))

    @property
    def factor(self) -> float:
        """Factor by which an outcome is multiplied before it is written."""
        return 100.0 if self.binary else 1.0

    @property
    def difference_unit(self) -> str:
        """Unit of differences, in words."""
        return "points" if self.binary else "outcome units"

    def mean(self, value: float | None) -> str:
        """Return a mean or a standard deviation."""
        return self._in_percent(self._digits(value)) if known(value) else UNKNOWN

    def difference(self, value: float | None, width: float = math.nan) -> str:
        """Return a difference of two means with its sign and unit."""
        return UNKNOWN if not known(value) else self._in_points(self.signed(value, width))

    def size(self, value: float) -> str:
        """Format a difference that the user stated, such as a margin, without a sign.

        >>> Amounts(binary=True).size(0.02), Amounts(binary=False).size(5.0)
        ('2 points', '5')
        """
        return size(value, binary=self.binary)

    def interval(self, low: float, high: float) -> str:
        """Return the bounds of a difference, with their unit; empty if none is finite."""
        bounds = self.bounds(low, high)
        return self._in_points(bounds) if bounds else ""

    def bounds(self, low: float, high: float) -> str:
        """Return the bounds of a difference, without their unit; empty if none is finite.

        >>> Amounts(binary=True).bounds(-0.01, 0.02), Amounts(binary=True).bounds(0.01, math.inf)
        ('−1.00 to +2.00', 'at least +1.00')
        """
        return bounds_words(low, high, partial(self.signed, width=high - low))

    def signed(self, value: float | None, width: float = math.nan) -> str:
        """Return a difference with its sign, without its unit; `width` is that of its interval.

        >>> Amounts(binary=True).signed(0.0123456, 0.03), Amounts(binary=False).signed(-12.3456)
        ('+1.23', '−12.35')
        >>> Amounts(binary=False).signed(-1.5e-6)
        '−1.500e-06'
        """
        if value is None or not known(value):
            return _unbounded(value)
        wide = self.factor * width
        if not known(wide) or wide <= 0.0:
            text = self._digits(value)
        else:
            decimals = min(6, max(0, 2 - math.floor(math.log10(wide))))
            text = _minus(f"{self.factor * value:,.{decimals}f}")
        if not text.strip("−0.,"):
            return "0"
        return text if text[0] == "−" else f"+{text}"

    def _digits(self, value: float) -> str:
        scaled = self.factor * value
        if abs(scaled) >= 1000:
            return _minus(count(scaled))
        # Trailing zeros show the precision and keep a column aligned.
        text = f"{scaled:#.{3 if self.binary else 4}g}".removesuffix(".")
        return "0" if float(text) == 0 else _minus(text)

    def _in_percent(self, text: str) -> str:
        return f"{text} %" if self.binary else text

    def _in_points(self, text: str) -> str:
        return f"{text} points" if self.binary else text


def known(value: float | None) -> TypeGuard[float]:
    """Whether a value is a finite number."""
    return value is not None and math.isfinite(value)


def bounds_words(
    low: float | None, high: float | None, written: Callable[[float | None], str]
) -> str:
    """Return the bounds of an interval, or its only finite bound; empty if no bound is finite.

    >>> bounds_words(-0.5, 1.0, relative), bounds_words(0.0, math.inf, relative)
    ('−50 % to +100 %', 'at least 0 %')
    """
    if known(low) and known(high):
        return f"{written(low)} to {written(high)}"
    if known(low):
        return f"at least {written(low)}"
    return f"at most {written(high)}" if known(high) else ""


def count(value: float) -> str:
    """Format a whole number of units, runs or outcomes, with commas.

    >>> count(12345.6)
    '12,346'
    """
    return f"{value:,.0f}"


def number(value: float | None, digits: int = 4) -> str:
    """Format a number with `digits` significant digits; whole digits are never rounded away.

    >>> number(1234567.0), number(0.000123456), number(-3.0), number(None)
    ('1,234,567', '0.0001235', '−3', '–')
    """
    if value is None or not known(value):
        return _unbounded(value)
    rounded = float(f"{value:.{digits}g}") + 0.0  # no "-0"
    if abs(rounded) >= 10**digits or abs(rounded) >= 1000:
        return _minus(count(value if abs(rounded) >= 1000 else rounded))
    return _minus(f"{rounded:.{digits}g}")


def amount(value: float | None) -> str:
    """Format a cost or a number of days with three digits.

    >>> amount(3.5592), amount(12345.6), amount(math.nan)
    ('3.56', '12,346', '–')
    """
    return number(value, 3)


def as_shown(value: float) -> float:
    """Return a cost rounded as `amount` writes it, so that figures of a page add up.

    >>> as_shown(3.5592), as_shown(12345.6)
    (3.56, 12346.0)
    """
    rounded = float(f"{value:.3g}")
    return float(round(value)) if abs(rounded) >= 1000 else rounded


def compared(cost: float, other: float) -> str:
    """Return a cost's difference from another in percent, computed from the rounded figures.

    >>> compared(110.4, 118.2), compared(3.0, 2.0), compared(100.0, 100.1)
    ('7 % less', '50 % more', 'about as much')
    """
    mine, theirs = as_shown(cost), as_shown(other)
    if theirs <= 0.0:
        return "about as much" if mine <= 0.0 else "more"
    saved = round(100.0 * (1.0 - mine / theirs))
    return "about as much" if not saved else f"{abs(saved)} % {'less' if saved > 0 else 'more'}"


def relative(lift: float | None) -> str:
    """Format a relative lift in percent with its sign, with three digits.

    >>> relative(0.4321), relative(-0.05), relative(None), relative(math.inf)
    ('+43.2 %', '−5 %', '–', '∞')
    """
    if lift is None or not known(lift):
        return _unbounded(lift)
    rounded = float(f"{100 * lift:.3g}")
    return f"{_minus(f'{rounded:+,.10g}') if rounded else '0'} %"


def axis_amount(value: float) -> str:
    """Return a number beside an axis.

    >>> axis_amount(0.05), axis_amount(2000.0), axis_amount(5e6)
    ('0.05', '2,000', '5M')
    """
    if value >= 1e6:
        return f"{value / 1e6:,g}M"
    return count(value) if value >= 1 else f"{value:g}"


def estimate(value: Estimate) -> str:
    """Format a mean with its standard error; a prediction has none and gets three digits.

    >>> from bascule.simulation import Estimate
    >>> estimate(Estimate(56.314, 1.02)), estimate(Estimate(56.314, math.nan))
    ('56.3 ± 1.0', '56.3')
    >>> estimate(Estimate(27.824, 0.0042)), estimate(Estimate(25.0, 0.0))
    ('27.8240 ± 0.0042', '25')
    >>> estimate(Estimate(0.999588, 0.0000098)), estimate(Estimate(math.nan, 0.1))
    ('0.9996', '–')
    """
    is_exact = math.isnan(value.mean) or not 0 < value.se < math.inf
    if is_exact or value.se < LEAST_ERROR * abs(value.mean):
        return amount(value.mean) if is_exact else f"{value.mean:,.4g}"
    return str(value)


def estimate_95(value: Estimate) -> str:
    """Format a mean with the half width of its 95 % interval.

    Decimals end with the first digit of the half width. There are at most three, and fewer if the
    mean is 10 or more.

    >>> from bascule.simulation import Estimate
    >>> estimate_95(Estimate(1234.6, 10.0))
    '1,235 ± 20'
    """
    half = NORMAL_95 * value.se
    if not half > 0:
        return f"{value.mean:,.6g}"
    size = max(1.0, abs(value.mean))
    places = max(0, min(-math.floor(math.log10(half)), 3 - math.floor(math.log10(size))))
    return f"{value.mean:,.{places}f} ± {half:,.{places}f}"


def day(days: float) -> str:
    """Format a day of a test to a tenth, or to two digits below 1; infinity is "later".

    An infinite day is one after the deadline.

    >>> day(6.587), day(math.inf)
    ('6.6', 'later')
    """
    if math.isinf(days):
        return "later"
    return f"{days:.1f}" if days >= 1 else f"{days:.2g}"


def day_count(days: float) -> str:
    """Format a number of days that the user has chosen.

    >>> day_count(1.0), day_count(28.0), day_count(2.5)
    ('1 day', '28 days', '2.5 days')
    """
    return f"{days:g} day" if days == 1.0 else f"{days:g} days"


def duration(days: float | None) -> str:
    """Format a number of days in the unit that people would use.

    >>> duration(3.2), duration(0.3), duration(None)
    ('3.2 days', '7.2 hours', '–')
    """
    return about(days) if known(days) else UNKNOWN


def range_words(low: float, high: float) -> str:
    """Return a range of days in whole numbers of the unit that people would use.

    >>> range_words(3.4, 8.2), range_words(0.1, 1.5), range_words(0.0, 3.0), range_words(80, 150)
    ('3 to 9 days', '2 to 36 hours', 'up to 3 days', '11 to 22 weeks')
    >>> range_words(0.0, 0.03)
    'up to 1 hour'
    """
    unit, size = ("hour", 1.0 / 24.0) if high < 2.0 else ("day", 1.0)
    if high > 60.0:
        unit, size = "week", 7.0
    first, last = math.floor(low / size), max(1, math.ceil(high / size))
    end = f"{last} {unit}" if last == 1 else f"{last} {unit}s"
    return f"{first} to {end}" if first > 0 else f"up to {end}"


def when(seconds: float) -> str:
    """Format a Unix time, in seconds, as date and time in UTC.

    >>> when(0.0)
    '1970-01-01 00:00:00'
    """
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, OSError, TypeError, ValueError):
        # A stored time outside the range of `datetime` must not make a page fail.
        return f"{seconds!r} s"


def shown(means: Sequence[float]) -> str:
    """Format a list of means; after the first eight it is cut off.

    >>> shown([0.0, 0.5])
    '0, 0.5'
    """
    first = ", ".join(f"{mean:g}" for mean in means[:8])
    return first + (", ..." if len(means) > 8 else "")


def lost(unit: str) -> str:
    """Return the name of a cost that is counted in a unit.

    >>> lost("conversions"), lost("extra events")
    ('conversions lost', 'extra events')
    """
    return unit if unit.startswith("extra") else f"{unit} lost"


def joined(names: Sequence[str], limit: int = 3) -> str:
    """Join names for a sentence; after the first few, only the number of others is given.

    >>> joined(["a", "b", "c"]), joined(["a", "b", "c", "d", "e"])
    ('a, b and c', 'a, b, c and 2 more')
    """
    named = list(names)
    if len(names) > limit:
        named = [*names[:limit], f"{len(names) - limit} more"]
    *first, last = named
    return f"{', '.join(first)} and {last}" if first else last


def by_reason(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Group names by their reasons, given pairs of a name and a reason.

    >>> by_reason([("a", "too long"), ("b", "unknown"), ("c", "too long")])
    {'too long': 'a, c', 'unknown': 'b'}
    """
    names: dict[str, list[str]] = {}
    for name, reason in pairs:
        names.setdefault(reason, []).append(name)
    return {reason: ", ".join(listed) for reason, listed in names.items()}


def _unbounded(value: float | None) -> str:
    if value is None or math.isnan(value):
        return UNKNOWN
    return "∞" if value > 0 else "−∞"


def _minus(text: str) -> str:
    return f"−{text[1:]}" if text.startswith("-") else text
