"""Outcomes that are made of events: which events of a unit count, and how they are combined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks
from bascule.core.inputs.checks import seconds
from bascule.core.outcomes import Outcome, Pair, Value

Aggregate = Literal["sum", "any", "mean", "last"]

"""How the events of a unit are combined; "any" is 1 if one of them is not 0."""

Missing = Literal["zero", "exclude"]
"""How a unit without a value counts if no number is given for it: as 0, or not at all."""


def missing_of(text: str | None) -> float | Missing | None:
    """Return the outcome of a unit without events that a text describes.

    >>> missing_of("exclude"), missing_of("2.5"), missing_of(None)
    ('exclude', 2.5, None)
    """
    if text is None or text in get_args(Missing):
        return text  # type: ignore[return-value]
    return checks.amount("missing", text, '0 is usual, or give "zero" or "exclude"')


EXCLUDED_COVERAGE, COUNTED_COVERAGE = 0.5, 0.8
"""Default shares of an arm's units that need a value: if units without a value are excluded, and if
they count."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A unit's outcome: how the events of its conversion window are combined.

    At the end of its window a unit is mature and counts. Give a `window` or a `period`. Durations
    are seconds, or text with s, m (minutes), h, d or w, such as "12h" or "7d".

    - `window`: how long events count, from the assignment of the unit on.
    - `aggregate`: how events are combined: "sum", "any" (1 if one is not 0), "mean" or "last". 0/1
      outcomes need "any" or "last", and each of their events is 0 or 1; a `Ratio` needs "sum".
    - `missing`: the outcome of a unit without events: a number, "zero", or for metrics other than
      the primary one "exclude", which leaves the unit out. The default is 0 for a sum and "any"; a
      mean and a last value have no default in live tests.
    - `grace`: how much later events may arrive, such as those of a nightly upload; units wait for
      this time.
    - `period`: instead of a window, for `Recurrent` outcomes: each unit gives one number for every
      period since its assignment, `missing` if nothing happened.
    - `coverage`: where values can be missing, the share of an arm's units that must have one before
      the arm can be shipped. The default is 0.5 with "exclude", and 0.8 for a mean, a last value or
      a `missing` that is another number than 0. If it is 0, missing values never delay a decision,
      even if there are few values or their shares differ between the arms. A sum and "any" are 0
      without events unless `missing` says otherwise; then nothing is missing, and `coverage` is
      refused.

    >>> Measure("7d", "any").window, Measure(period="1d").period
    (604800.0, 86400.0)
    """

    window: float | str | None = None
    aggregate: Aggregate = "sum"
    missing: float | Missing | None = None
    grace: float | str = field(default=0.0, kw_only=True)
    period: float | str | None = field(default=None, kw_only=True)
    coverage: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checks.choice("aggregate", self.aggregate, get_args(Aggregate))
        if self.missing not in (None, *get_args(Missing)):
            checks.accept(self, "missing", checks.finite, 'or give "zero" or "exclude"')
        if (self.window is None) == (self.period is None):
            raise InputError(
                "window",
                'give either window, how long a unit\'s events count, as "7d", or period, how '
                "often a unit gives an outcome",
            )
        if self.coverage is not None:
            self._check_coverage()
        checks.accept(self, "grace", seconds)
        for name in ("window", "period"):
            checks.accept_given(self, name, seconds)
            if getattr(self, name) == 0.0:
                raise invalid(f'{name} must be above 0: it is how long events count, as "7d"')

    def _check_coverage(self) -> None:
        checks.accept(self, "coverage", checks.finite, "it is a share of the units")
        assert self.coverage is not None
        if not 0.0 <= self.coverage <= 1.0:
            raise invalid(
                f"coverage must lie within 0 and 1 (got {self.coverage:g}): it is the share of an "
                "arm's units that must have a value"
            )
        if not self.may_lack:
            raise invalid(
                f"coverage is for values that may be missing, and without events "
                f'"{self.aggregate}" is 0: leave it out, or say missing="exclude"'
            )

    def closes(self, arrived: float) -> float:
        """Return when the window of a unit that arrived at `arrived` closes, in seconds."""
        if self.window is None:
            raise invalid(
                "period is given: periods follow each other and have no end; give a window"
            )
        return arrived + float(self.window)

    def matures(self, arrived: float) -> float:
        """Return when the outcome of a unit that arrived at `arrived` is final, in seconds."""
        return self.closes(arrived) + float(self.grace)

    @property
    def missing_value(self) -> float:
        """The outcome of a unit without events; 0 if such units are excluded."""
        return float(self.missing) if isinstance(self.missing, (int, float)) else 0.0

    @property
    def may_lack(self) -> bool:
        """Whether a unit without events lacks a value, unlike a sum or "any" that is then 0.

        >>> Measure("7d").may_lack, Measure("7d", "mean", "zero").may_lack
        (False, True)
        """
        is_zero = self.missing != "exclude" and self.missing_value == 0.0
        return self.aggregate in ("mean", "last") or not is_zero

    @property
    def least_coverage(self) -> float:
        """The share of an arm's units that must have a value before the arm can be shipped.

        >>> Measure("7d", "mean", "exclude").least_coverage, Measure("7d").least_coverage
        (0.5, 0.0)
        """
        if not self.may_lack:
            return 0.0
        if self.coverage is not None:
            return self.coverage
        return EXCLUDED_COVERAGE if self.missing == "exclude" else COUNTED_COVERAGE

    def outcome_of(self, values: Sequence[float]) -> float:
        """Return the aggregate of events, given in the order of their times.

        Without events it is `missing`, or 0 if that is "exclude" or not given. (A unit that is
        excluded has no outcome: ignore the 0.)

        >>> measure = Measure("7d", "last", missing=-1)
        >>> measure.outcome_of([3, 5]), measure.outcome_of([])
        (5.0, -1.0)
        """
        if not values:
            return self.missing_value
        if self.aggregate == "any":
            return float(any(value != 0.0 for value in values))
        if self.aggregate == "last":
            return float(values[-1])
        total = float(sum(values))
        return total / len(values) if self.aggregate == "mean" else total

    def value_of(self, outcome: Outcome, values: Sequence[Value]) -> Value:
        """Return the aggregate of events; for a ratio, numerators and denominators are summed.

        >>> import bascule as bs
        >>> Measure("7d").value_of(bs.Ratio(), [Pair(1.0, 2.0), Pair(0.0, 3.0)])
        Pair(numerator=1.0, denominator=5.0)
        """
        if not outcome.pairs:
            return self.outcome_of(values)  # type: ignore[arg-type]
        return Pair(*(float(sum(parts)) for parts in zip((0.0, 0.0), *values, strict=True)))

    def check_outcome(self, outcome: Outcome) -> None:
        """Raise `InputError` if the aggregate does not fit the outcome model."""
        if outcome.recurring != (self.period is not None):
            named, excluded = ("period", "window") if self.period is None else ("window", "period")
            raise invalid(f"measure must have a {named} with {outcome!r}, and no {excluded}")
        if outcome.pairs and self.aggregate != "sum":
            raise invalid(
                f'aggregate must be "sum" with {outcome!r}: numerators and denominators of a unit '
                "add up"
            )
        if outcome.pairs and isinstance(self.missing, (int, float)):
            raise invalid(
                f"missing must not be a number with {outcome!r} (got {self.missing:g}): a unit "
                "without events has a denominator of 0, and says nothing about the ratio"
            )
        if outcome.binary and self.aggregate not in ("any", "last"):
            raise invalid(
                f'aggregate "{self.aggregate}" does not give 0 or 1, as {outcome!r} needs: use '
                '"any", or an outcome model with a sigma or with limits'
            )
        if self.missing == "exclude":
            return
        try:
            outcome.check_value(self.missing_value)
        except InputError as problem:
            line = str(problem).removeprefix("value")
            raise invalid(
                f"missing{line}; it is the outcome of a unit without events, so give one that "
                "units can have"
            ) from None
