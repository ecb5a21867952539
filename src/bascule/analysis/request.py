"""What was asked about a log, checked, and what came out of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from bascule.analysis.evidence.recurring import Recurring
from bascule.analysis.evidence.replay import Replayed
from bascule.analysis.reduce.sums import Table
from bascule.core import checks
from bascule.core.design import DEFAULT_ERROR, Design
from bascule.core.errors import InputError
from bascule.core.measure import Aggregate, Measure, seconds
from bascule.core.outcomes import Bernoulli, Bounded, Outcome, Recurrent

RECURRENT = "recurrent"
"""Asks for outcomes that keep coming, with spreads that the log has to tell."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, checked: the parts of a design that a log needs, and how outcomes are made.

    `outcome` is None where the log has to say what its outcomes are. `period` is a number of days.
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
        missing: float | None,
        period: float | str | None,
        until: date | datetime | str | None,
        by_day: bool,
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
        return cls(
            design,
            model,
            level,
            least,
            measure,
            how if measure is None else measure.aggregate,
            (0.0 if missing is None else missing) if measure is None else measure.missing,
            None if period is None else _checked_period(period),
            outcome == RECURRENT or isinstance(model, Recurrent),
            _moment(until),
            by_day,
        )

    @property
    def limits(self) -> Outcome | None:
        """The outcome model if it has limits."""
        return self.outcome if isinstance(self.outcome, (Bernoulli, Bounded)) else None


@dataclass(frozen=True, slots=True)
class Reduced:
    """What came out of the log: its arms, the table of sums, and how outcomes came about.

    `final` says whether an outcome is what it will stay; `ends` is when the log ends.
    """

    arms: tuple[str, ...]
    table: Table
    final: bool
    ends: datetime | None
    rows: int
    aside: dict[str, int]
    recurring: dict[str, Recurring] | None = None
    replayed: Replayed | None = None


def measure_of(
    design: Design | None,
    outcome: Outcome | str | None,
    window: float | str | None,
    aggregate: Aggregate | None,
    missing: float | None,
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
    return Measure(window, how, 0.0 if missing is None else missing, grace=grace)


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
