"""Format shares, numbers and times as text, in the same way everywhere."""

from __future__ import annotations

import math

UNKNOWN = "–"
"""Text to show in place of a number that is not known."""


ROUNDING = 1e-6
"""Tolerance for floating-point errors, in units of the last digit shown."""


def at_most(error: float) -> str:
    """Return a probability in percent as text, rounded up to three significant digits.

    >>> at_most(0.05), at_most(0.05 / 3), at_most(1e-6)
    ('5 %', '1.67 %', '0.0001 %')
    """
    if error <= 0.0:
        return "0 %"
    unit = 10.0 ** (math.floor(math.log10(100.0 * error)) - 2)
    return f"{math.ceil(100.0 * error / unit - ROUNDING) * unit:.3g} %"


def error_words(error: float, arms: int = 2, among: str = "") -> str:
    """Describe in words which probabilities a one-sided `error` bounds.

    >>> error_words(0.025)
    'false positive rate at most 5 %, at most 2.5 % to ship the worse arm'
    >>> error_words(0.025, arms=3)
    'false positive rate at most 5 %, at most 2.5 % to ship a worse arm'
    """
    article = "the" if arms == 2 else "a"
    return (
        f"false positive rate{among} at most {at_most(min(1.0, 2.0 * error))}, at most "
        f"{at_most(error)} to ship {article} worse arm"
    )


def percent(share: float, digits: int = 3) -> str:
    """Return a share or a probability in percent as text, rounded as by `part`.

    >>> percent(0.05), percent(0.0125), percent(0.98765), percent(0.00333, digits=2)
    ('5 %', '1.25 %', '98.8 %', '0.33 %')
    """
    return f"{part(share, digits)} %"


def part(share: float, digits: int = 3) -> str:
    """Return a share in percent as text without "%", with `digits` significant digits.

    A share just below 1 has more digits, so that it is never shown as 100.

    >>> part(0.987), part(0.99996), part(1.0), part(math.nan), part(0.03614, digits=2)
    ('98.7', '99.996', '100', '–', '3.6')
    """
    if math.isnan(share):
        return UNKNOWN
    text = f"{100 * share:.{digits}g}"
    if float(text) == 100 and share < 1:
        text = f"{100 - float(f'{100 * (1 - share):.1g}'):.10g}"
    return f"{float(text):.10g}"


def size(difference: float, binary: bool) -> str:
    """Return a difference of means as text: in percentage points for 0/1 outcomes.

    >>> size(0.02, binary=True), size(0.01, binary=True), size(5.0, binary=False)
    ('2 points', '1 point', '5')
    """
    if not binary:
        return f"{difference:g}"
    points = f"{100 * difference:.10g}"
    return f"{points} point" if points == "1" else f"{points} points"


def two_digits(value: float) -> str:
    """Return a number as text with two significant digits.

    >>> two_digits(1234.0), two_digits(0.256)
    ('1,200', '0.26')
    """
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10 else f"{rounded:g}"


def about(days: float) -> str:
    """Return a duration as text, with two digits and in the unit that people would use.

    >>> about(3.2), about(0.3), about(0.002), about(400), about(1.0), about(24500.0)
    ('3.2 days', '7.2 hours', '2.9 minutes', '57 weeks', '1 day', '67 years')
    """
    # Years and weeks are for long times only: 11 days reads better than 1.6 weeks.
    lengths = {"year": 365.25, "week": 7.0, "day": 1.0, "hour": 1 / 24, "minute": 1 / 1440}
    enough_days = {"year": 3, "week": 10}
    for unit, length in lengths.items():
        if days >= length * enough_days.get(unit, 1):
            return _of(days / length, unit)
    return _of(days * 86400, "second")


def exactly(seconds: float) -> str:
    """Return a duration as text, in the largest unit that gives a whole number.

    >>> exactly(90 * 86400.0), exactly(86400.0), exactly(7200.0), exactly(0.5)
    ('90 days', '1 day', '2 hours', '0.5 seconds')
    """
    for size, unit in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second")):
        number = seconds / size
        if number >= 1.0 and math.isclose(number, round(number)):
            return f"{round(number):,} {unit}{'' if round(number) == 1 else 's'}"
    return f"{seconds:.4g} seconds"


def _of(number: float, unit: str) -> str:
    shown = two_digits(number)
    return f"{shown} {unit}" if shown == "1" else f"{shown} {unit}s"
