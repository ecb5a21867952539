"""Numbers as people write them: 0.05 and 5%, and a lift that is a part of the baseline."""

from __future__ import annotations

from bascule.core import checks
from bascule.core.errors import InputError


def amount(field: str, value: object, remedy: str) -> float:
    """Return a number, or the number that a text holds; 5% is 0.05.

    >>> amount("baseline", "5%", "give a number"), amount("baseline", 20, "give a number")
    (0.05, 20.0)
    """
    if not isinstance(value, str):
        return checks.finite(field, value, remedy)
    number, percent = _split(value)
    return checks.finite(field, _read(field, number, value, remedy), remedy) / percent


def lift_of(value: object, baseline: float) -> float:
    """Return a lift in outcome units: a plain number is one, and 10% is a tenth of the baseline.

    >>> lift_of(0.01, baseline=0.05), lift_of("10%", baseline=0.05)
    (0.01, 0.005)
    """
    remedy = "it is the difference worth finding; 0.01 is absolute, 10% is of the baseline"
    if not isinstance(value, str):
        return checks.finite("lift", value, remedy)
    number, percent = _split(value)
    accepted = checks.finite("lift", _read("lift", number, value, remedy), remedy)
    if percent == 1:
        return accepted
    if baseline == 0:
        raise InputError(
            "lift",
            f"lift {value} is a part of the baseline, which is 0: give it as a plain number, "
            "in the unit of the outcome",
        )
    return tidy(abs(baseline) * accepted / percent)


def tidy(value: float) -> float:
    """Return a number without the rounding error of decimal fractions.

    >>> tidy(0.05 + 0.01)
    0.06
    """
    return float(f"{value:.12g}")


def _split(text: str) -> tuple[str, int]:
    """The number in a text, and what it is to be divided by."""
    stripped = text.strip()
    return (stripped[:-1], 100) if stripped.endswith("%") else (stripped, 1)


def _read(field: str, number: str, text: str, remedy: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise InputError(field, f"{field} must be a number (got {text!r}): {remedy}") from None
