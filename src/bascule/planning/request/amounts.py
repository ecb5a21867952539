"""Numbers as people write them: 0.05 and 5%, and a lift that is a part of the baseline."""

from __future__ import annotations

from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.inputs.written_numbers import read_number


def amount(field: str, value: object, remedy: str) -> float:
    """Return a number, or the number that a text holds; 5% is 0.05, and 5k is 5,000.

    >>> amount("baseline", "5%", "give a number"), amount("baseline", 20, "give a number")
    (0.05, 20.0)
    """
    if not isinstance(value, str):
        return checks.finite(field, value, remedy)
    return checks.finite(field, _read(field, value, remedy)[0], remedy)


def lift_of(value: object, baseline: float) -> float:
    """Return a lift in outcome units: a plain number is one, and 10% is a tenth of the baseline.

    >>> lift_of(0.01, baseline=0.05), lift_of("10%", baseline=0.05)
    (0.01, 0.005)
    """
    remedy = "it is the difference worth finding; 0.01 is absolute, 10% is of the baseline"
    if not isinstance(value, str):
        return checks.finite("lift", value, remedy)
    number, is_percent = _read("lift", value, remedy)
    accepted = checks.finite("lift", number, remedy)
    if not is_percent:
        return accepted
    if baseline == 0:
        raise InputError(
            "lift",
            f"lift {value} is a part of the baseline, which is 0: give it as a plain number, "
            "in the unit of the outcome",
        )
    return tidy(abs(baseline) * accepted)


def tidy(value: float) -> float:
    """Return a number without the rounding error of decimal fractions.

    >>> tidy(0.05 + 0.01)
    0.06
    """
    return float(f"{value:.12g}")


def _read(field: str, text: str, remedy: str) -> tuple[float, bool]:
    """Return the number in a text, and whether it is a percentage."""
    try:
        return read_number(text)
    except ValueError:
        raise InputError(
            field,
            f"{field} must be a number (got {text!r:.60}), as 0.05, 5%, 5000 or 5k: {remedy}",
        ) from None
