"""What was asked about a log, checked, and what came out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

from bascule.analysis.evidence.recurring import Recurring
from bascule.analysis.evidence.replay import Replayed
from bascule.analysis.reduce.sums import Table
from bascule.core import checks
from bascule.core.design import DEFAULT_ERROR, Design
from bascule.core.errors import InputError
from bascule.core.measure import Aggregate, Measure, seconds
from bascule.core.outcomes import Bernoulli, Bounded, Outcome, Recurrent

EXCLUDE = "exclude"
"""Asks that units without any value do not count."""

Missing = float | str | None
"""What a unit without any value counts as: a number, "exclude", or 0 if nothing is said."""

RECURRENT = "recurrent"
"""Asks for outcomes that keep coming, with spreads that the log has to tell."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, checked: the parts of a design that a log needs, and how outcomes are made.

    `outcome` is None where the log has to say what its outcomes are. `period` is a number of days.
    A unit without any value has the outcome `missing`, or is excluded with `exclude`.
    """

    design: Design | None
    outcome: Outcome | None
    error: float
    min_effect: float | None
    measure: Measure | None
    aggregate: Aggregate
    missing: float
    period: int | None
    recurring: bool
    until: datetime | None
    by_day: bool
    exclude: bool = False
    least_probability: float | Mapping[str, float] | None = None

    @classmethod
    def of(
        cls,
        *,
        design: Design | None,
        outcome: Outcome | str | None,
        error: float | None,
        min_effect: float | None,
        measure: Measure | None,
        aggregate: Aggregate | None,
        missing: Missing,
        period: float | str | None,
        until: date | datetime | str | None,
        by_day: bool,
        least_probability: float | Mapping[str, float] | None = None,
    ) -> Request:
        """Accept what fits together."""
        if design is not None:
            if not isinstance(design, Design):
                raise InputError("design", f"design must be a Design (got {design!r:.60})")
            for name, other in (("outcome", outcome), ("error", error), ("min_effect", min_effect)):
                if other is not None:
                    raise InputError(name, f"{name} is a part of the design: leave one of them out")
        if outcome is not None and outcome != RECURRENT and not isinstance(outcome, Outcome):
            raise InputError(
                "outcome",
                "outcome must be one of Gaussian(sigma), Bernoulli(), Bounded(low, high) or "
                f'Recurrent(), or "recurrent" (got {outcome!r:.60})',
            )
        named = None if isinstance(outcome, str) else outcome
        model = named if design is None else design.outcome
        if measure is not None and model is not None and not isinstance(model, Recurrent):
            measure.check_outcome(model)
        level = (
            checks.probability("error", DEFAULT_ERROR if error is None else error, "0.05 is usual")
            if design is None
            else design.calibration.error
        )
        least = min_effect if design is None else design.min_effect
        if least is not None:
            least = checks.positive(
                "min_effect", least, "it is the smallest difference that counts"
            )
        how: Aggregate = aggregate or ("any" if isinstance(model, Bernoulli) else "sum")
        recurring = outcome == RECURRENT or isinstance(model, Recurrent)
        base = missing_number(missing) if measure is None else measure.missing
        if missing is None and isinstance(model, Bounded):
            base = min(max(base, model.low), model.high)
        elif isinstance(model, Bounded) and not model.low <= base <= model.high:
            raise InputError(
                "missing",
                f"missing must lie within the limits of the outcomes, {model.low:g} to "
                f"{model.high:g} (got {base:g})",
            )
        if recurring and missing is not None:
            raise InputError(
                "missing",
                "missing: outcomes that keep coming have none; a period without a row counts as 0",
            )
        return cls(
            design,
            model,
            level,
            least,
            measure,
            how if measure is None else measure.aggregate,
            base,
            None if period is None else _checked_period(period),
            recurring,
            _moment(until),
            by_day,
            missing == EXCLUDE,
            least_probability,
        )

    @property
    def limits(self) -> Bounded | None:
        """The limits at which outcomes are capped; outcomes that are not 0 or 1 are refused."""
        return self.outcome if isinstance(self.outcome, Bounded) else None

    def least(self, arms: Sequence[str]) -> list[float] | None:
        """The smallest probability with which each arm was ever assigned, as it was stated."""
        given = self.least_probability
        if given is None:
            return None
        if isinstance(given, Mapping):
            if set(given) != set(arms):
                raise InputError(
                    "least_probability", f"least_probability must name every arm: {', '.join(arms)}"
                )
            each = [given[arm] for arm in arms]
        else:
            each = [given] * len(arms)
        return [
            checks.probability(
                "least_probability", one, "no arm was ever assigned with less, for any unit"
            )
            for one in each
        ]


@dataclass(frozen=True, slots=True)
class Reduced:
    """What came out of the log: its arms, the table of sums, and how outcomes came about.

    `final` says whether an outcome is what it will stay; `ends` is when the log ends. `valueless`
    has for each arm how many units have rows, and how many of these have no value in any.
    """

    arms: tuple[str, ...]
    table: Table
    final: bool
    ends: datetime | None
    rows: int
    aside: dict[str, int]
    valueless: dict[int, tuple[int, int]] = field(default_factory=dict)
    recurring: dict[str, Recurring] | None = None
    replayed: Replayed | None = None


def measure_of(
    design: Design | None,
    outcome: Outcome | str | None,
    window: float | str | None,
    aggregate: Aggregate | None,
    missing: Missing,
    grace: float | str,
) -> Measure | None:
    """The measure of the design, or what the options make; None where outcomes have no window."""
    if design is not None and design.measure is not None:
        if window is not None or aggregate is not None or missing is not None:
            raise InputError(
                "window",
                "window, aggregate and missing are in the design's measure: leave them out",
            )
        return design.measure
    if window is None:
        return None
    model = outcome if design is None else design.outcome
    how: Aggregate = aggregate or ("any" if isinstance(model, Bernoulli) else "sum")
    return Measure(window, how, missing_number(missing), grace=grace)


def missing_number(missing: Missing) -> float:
    """The outcome of a unit without any value; 0 where none is stated, or such units are excluded.

    >>> missing_number(None), missing_number("exclude"), missing_number(2)
    (0.0, 0.0, 2.0)
    """
    if missing is None or missing == EXCLUDE:
        return 0.0
    if isinstance(missing, str):
        raise InputError("missing", f'missing must be a number or "exclude" (got {missing!r:.60})')
    return checks.finite("missing", missing, "it is the outcome of a unit without any value")


def _checked_period(given: float | str) -> int:
    days = seconds("period", given) / 86400.0
    if days < 1.0 or days != int(days):
        raise InputError("period", f'period must be whole days, as "1d" or "7d" (got {given!r})')
    return int(days)


def _moment(given: date | datetime | str | None) -> datetime | None:
    """A time without a zone, in UTC; a day is over at its end."""
    if given is None:
        return None
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given) if len(given) > 10 else date.fromisoformat(given)
        except ValueError:
            raise InputError(
                "until", f"until must be a day or a time, as 2026-03-01 (got {given!r})"
            ) from None
    if isinstance(given, datetime):
        return given if given.tzinfo is None else given.astimezone(UTC).replace(tzinfo=None)
    return datetime.combine(given + timedelta(days=1), time.min)
