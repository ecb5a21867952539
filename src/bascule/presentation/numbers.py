"""Numbers as people read them: shares in percent, counts, amounts, estimates, differences, means.

Every table, sentence, page and command formats its numbers here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bascule.core.approximate import UNKNOWN, about, part, percent

if TYPE_CHECKING:
    # Not loaded for a report on a log, which has no simulation.
    from bascule.simulation import Estimate

__all__ = [
    "UNKNOWN",
    "amount",
    "axis_amount",
    "count",
    "day",
    "duration",
    "estimate",
    "estimate_95",
    "joined",
    "less_or_more",
    "number",
    "part",
    "percent",
    "relative",
    "short",
    "shown",
    "signed",
]

NORMAL_95 = 1.959964
"""Standard errors on either side of an interval of 95 %."""


def count(value: float) -> str:
    """Return a number of units, runs or outcomes.

    >>> count(12345.6)
    '12,346'
    """
    return f"{value:,.0f}"


def amount(value: float) -> str:
    """Return a number to three digits, or more when it has more before the point.

    >>> amount(3.5592), amount(12345.6), amount(math.nan)
    ('3.56', '12,346', '–')
    """
    if math.isnan(value):
        return UNKNOWN
    return f"{value:,.3g}" if abs(value) < 1000 else count(value)


def number(value: float) -> str:
    """Return a number to four digits, with a real minus sign.

    >>> number(1234567.0), number(0.000123456), number(-3.0)
    ('1,234,567', '0.0001235', '−3')
    """
    return _minus(count(value) if abs(value) >= 1000 else f"{value:.4g}")


def signed(value: float, decimals: int) -> str:
    """Return a difference with its sign, to a number of decimals.

    >>> signed(0.01234, 3), signed(-12.3, 1), signed(-math.inf, 1)
    ('+0.012', '−12.3', '−∞')
    """
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    return _minus(f"{value:+,.{decimals}f}")


def relative(lift: float | None) -> str:
    """Return a relative lift in percent with its sign, to three digits.

    >>> relative(0.4321), relative(-0.05), relative(None), relative(math.inf)
    ('+43.2 %', '−5 %', '–', '∞')
    """
    if lift is None or math.isnan(lift):
        return UNKNOWN
    if math.isinf(lift):
        return "∞" if lift > 0 else "−∞"
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
    """Return a mean to four digits with its standard error; a prediction, which has none, to three.

    >>> from bascule.simulation import Estimate
    >>> estimate(Estimate(56.314, 1.02)), estimate(Estimate(56.314, math.nan))
    ('56.3 ± 1.0', '56.3')
    """
    if math.isnan(value.mean) or not 0 < value.se < math.inf:
        return amount(value.mean)
    digits = 3 - math.floor(math.log10(max(abs(value.mean), value.se)))
    places = max(0, min(1 - math.floor(math.log10(value.se)), digits))
    return f"{value.mean:,.{places}f} ± {value.se:,.{places}f}"


def estimate_95(value: Estimate) -> str:
    """Return a mean with the half width of its 95 % interval, to one digit of the latter.

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
    """Return a day of a test, to a tenth; a day after the deadline is "later".

    >>> day(6.587), day(math.inf)
    ('6.6', 'later')
    """
    if math.isinf(days):
        return "later"
    return f"{days:.1f}" if days >= 1 else f"{days:.2g}"


def by_day(days: float) -> str:
    """Return by which day something happens, or that it is after the deadline.

    >>> by_day(6.587), by_day(math.inf)
    ('by day 6.6', 'after the deadline')
    """
    return "after the deadline" if math.isinf(days) else f"by day {day(days)}"


def duration(days: float | None) -> str:
    """Return a length of time in the unit that people would use.

    >>> duration(3.2), duration(0.3), duration(None)
    ('3.2 days', '7.2 hours', '–')
    """
    return UNKNOWN if days is None or not math.isfinite(days) else about(days)


def less_or_more(value: float, other: float) -> str:
    """Return how much less, or more, a value is than another one.

    >>> less_or_more(75.0, 100.0), less_or_more(120.0, 100.0)
    ('25 % less', '20 % more')
    """
    change = 100 * (1 - value / other)
    return f"{change:.0f} % less" if change >= 0 else f"{-change:.0f} % more"


def short(value: float) -> str:
    """Return a number to four digits, or more when it has more before the point.

    >>> short(12.345), short(12345.6)
    ('12.35', '12,346')
    """
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def shown(means: Sequence[float]) -> str:
    """Return means in words, the first few of them.

    >>> shown([0.0, 0.5])
    '0, 0.5'
    """
    first = ", ".join(f"{mean:g}" for mean in means[:8])
    return first + (", ..." if len(means) > 8 else "")


def joined(names: Sequence[str], most: int = 3) -> str:
    """Return names in a sentence, the first few of them.

    >>> joined(["a", "b", "c"]), joined(["a", "b", "c", "d", "e"])
    ('a, b and c', 'a, b, c and 2 more')
    """
    named = list(names)
    if len(names) > most:
        named = [*names[:most], f"{len(names) - most} more"]
    *first, last = named
    return f"{', '.join(first)} and {last}" if first else last


def _minus(text: str) -> str:
    return text if "e" in text else text.replace("-", "−")
