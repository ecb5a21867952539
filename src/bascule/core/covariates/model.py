"""What is known of a unit before it is assigned: name, limits, and the value if missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import numpy as np

from bascule.core.errors import InputError
from bascule.core.inputs import checks

MOST = 10
"""Covariates that a design may have: each costs some units until its coefficient is known."""

RESERVED = frozenset(
    (
        *("unit", "arm", "number", "probability", "block", "size", "time"),
        *("value", "at", "received", "id", "per"),
    )
)
"""Names that columns of an export have."""


@dataclass(frozen=True, slots=True)
class Covariate:
    """A number known of a unit before its assignment that is correlated with its outcome.

    Outcomes are compared after subtracting what the covariate explains, so that a test needs fewer
    units. A covariate that is not related to the outcome does no harm.

    - `name`: the name under which the value is given with an assignment.
    - `low`, `high`: limits of the values, needed if outcomes have limits; values beyond them count
      as the nearest limit.
    - `missing`: the value of a unit that comes without one; the status says how many did.

    >>> Covariate("spend_before").missing
    0.0
    """

    name: str
    low: float | None = None
    high: float | None = None
    missing: float = 0.0

    def __post_init__(self) -> None:
        name = self.name
        if not isinstance(name, str) or not name.strip() or len(name) > 100:
            raise InputError("covariates", f"a covariate needs a short name (got {name!r:.60})")
        if name in RESERVED:
            raise InputError(
                "covariates", f"covariate {name!r} has the name of an export's column: change it"
            )
        for field in ("low", "high"):
            remedy = f"it is a limit of {name}; leave it out if none"
            checks.accept_given(self, field, checks.finite, remedy)
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise InputError("high", f"high of {name} must be above low ({self.low:g})")
        checks.accept(self, "missing", checks.finite, f"a unit without {name} counts with it")
        if self.limited(self.missing) != self.missing:
            raise InputError(
                "missing", f"missing of {name} must lie within its limits (got {self.missing:g})"
            )

    @property
    def width(self) -> float:
        """The distance between the limits; infinite without both."""
        if self.low is None or self.high is None:
            return math.inf
        return self.high - self.low

    def limited(self, value: float) -> float:
        """Return a value within the limits.

        >>> Covariate("age", 0, 100).limited(130.0)
        100.0
        """
        if self.low is not None:
            value = max(value, self.low)
        return value if self.high is None else min(value, self.high)


class Known(NamedTuple):
    """The covariates of one unit: values in the order of the design, and how many were not given.

    `beyond` counts those that lay beyond a limit and count as the limit.
    """

    values: tuple[float, ...]
    missing: int
    beyond: int

    @property
    def text(self) -> str:
        """The values as a JSON list, as they are stored."""
        return f"[{','.join(map(repr, self.values))}]"


def known_of(declared: Sequence[Covariate], given: Mapping[str, object] | None) -> Known:
    """Return the covariates of a unit as they are stored; InputError for what is no number.

    >>> known_of([Covariate("age", 0, 100)], {"age": 130})
    Known(values=(100.0,), missing=0, beyond=1)
    """
    given = {} if given is None else given
    if type(given) is not dict and not isinstance(given, Mapping):
        raise InputError(
            "covariates",
            f'covariates must be names with numbers, as in {{"spend_before": 12.5}} '
            f"(got {given!r:.60})",
        )
    values = []
    missing = beyond = 0
    for one in declared:
        value = given.get(one.name)
        if value is None:
            missing += 1
            values.append(one.missing)
            continue
        number = _number(one.name, value)
        values.append(one.limited(number))
        beyond += values[-1] != number
    if len(given) > len(values) - missing:
        _refuse_unknown(declared, given)
    return Known(tuple(values), missing, beyond)


def _refuse_unknown(declared: Sequence[Covariate], given: Mapping[str, object]) -> None:
    names = [one.name for one in declared]
    for name in given:
        if name not in names:
            there = f"it has {', '.join(names)}" if names else "it declares none"
            raise InputError(
                "covariates", f"{name!r:.60} is not a covariate of this design: {there}"
            )


def _number(name: str, value: object) -> float:
    if type(value) is float and -checks.LARGEST <= value <= checks.LARGEST:
        return value
    if isinstance(value, (Real, np.bool_)):
        try:
            number = float(value)
        except (ArithmeticError, ValueError, TypeError):
            number = math.nan
        if math.isfinite(number) and abs(number) <= checks.LARGEST:
            return number
    raise InputError(
        "covariates",
        f"covariate {name} must be a finite number of at most {checks.LARGEST:g} "
        f"(got {value!r:.60}): leave it out where it is not known",
    )


def checked_covariates(given: object) -> tuple[Covariate, ...] | None:
    """Return the covariates of a design, or None where there are none."""
    if given is None or given in ((), []):
        return None
    if not isinstance(given, (list, tuple)) or not all(isinstance(x, Covariate) for x in given):
        raise InputError(
            "covariates",
            f'covariates must be a list such as [Covariate("age")] (got {given!r:.80})',
        )
    names = [one.name for one in given]
    if len(set(names)) < len(names):
        raise InputError("covariates", "covariates must have different names")
    if len(names) > MOST:
        raise InputError("covariates", f"covariates must be at most {MOST} (got {len(names)})")
    return tuple(given)
