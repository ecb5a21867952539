"""The checked options of an analysis, and the log reduced by them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import NamedTuple, cast

from bascule.analysis.assigned import moment_of
from bascule.analysis.call import Asked, LogMetric
from bascule.analysis.log.reading import Reading
from bascule.analysis.log.rows import Arms
from bascule.analysis.reduce.blocks import PERIOD, Block, Blocks, block_hours
from bascule.analysis.reduce.sums import ReducedTable
from bascule.core.design import Design
from bascule.core.design_parts import DEFAULT_ERROR, INCREASE, check_kind, checked_sides
from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks
from bascule.core.metrics.measure import Aggregate, Measure
from bascule.core.metrics.metric import Goal
from bascule.core.outcomes import OUTCOMES, Outcome

FOLLOWED = ("sum", "any")
"""Aggregates whose outcomes are followed from day to day if they have no window."""

EXCLUDE = "exclude"
"""Value of `missing` that excludes units without any value."""

Missing = float | str | None
"""Outcome of a unit without any value: a number, "zero" or "exclude"; None means 0."""

REPEATED = (
    "repeated outcomes of a unit are not analysed by the rules for recurring units: compare the "
    'mean of the rows, with the metric "VALUE per row"'
)


@dataclass(frozen=True, slots=True)
class Request:
    """The checked options of an analysis: parts of a design, and how outcomes are measured.

    `outcome` is None if the outcome model is to be found from the log. A unit without any value has
    the outcome `missing`, or is excluded with `exclude`. With `by_day`, outcomes that still grow
    are compared at the end of every day, not only of the last one. A `brief` answer has no fixed-
    sample tests and no lifts. `changes` are the times at which the stated weights of the arms
    changed.
    """

    design: Design | None
    outcome: Outcome | None
    error: float
    min_effect: float | None
    measure: Measure | None
    aggregate: Aggregate
    missing: float
    until: datetime | None
    by_day: bool
    exclude: bool = False
    goal: Goal = INCREASE
    control: str | None = None
    block: Block | None = None
    changes: tuple[datetime, ...] = ()
    exclude_moved: bool = False
    once: bool = False
    brief: bool = False

    @classmethod
    def of(cls, metric: LogMetric, asked: Asked) -> Request:
        """Return the checked request; raise an error if options contradict each other."""
        asked.check(metric)
        looks, design = asked.looks, asked.design
        if looks not in (None, 1, "now"):
            raise invalid(
                f'looks must be 1, "now", or left out for any number (got {looks!r})',
            )
        changes = tuple(since for since, _ in asked.assigned.periods[1:] if since is not None)
        blocks = Blocks(block_hours(asked.assigned.block or "day"), changes)
        if asked.assigned.block == "week" and changes:
            raise invalid("block must not be longer than a day where weights changed: leave it out")
        once, outcome, missing = looks == 1, metric.outcome, metric.missing
        goal = metric.goal
        if design is not None and not isinstance(design, Design):
            raise invalid(f"design must be a Design (got {design!r:.60})")
        if design is not None and design.metrics:
            design = replace(design, metrics=(), decides="primary")
        model = stated_outcome(outcome) if design is None else design.outcome
        measure = _measure(design, model, metric)
        if model is not None and not model.supports("analysis"):
            raise InputError("outcome" if design is None else "design", REPEATED)
        if measure is not None and model is not None:
            measure.check_outcome(model)
        level = (
            checks.probability(
                "error", DEFAULT_ERROR if asked.error is None else asked.error, "0.05 is usual"
            )
            / checked_sides(asked.sides)
            if design is None
            else design.calibration.error
        )
        base = missing_number(missing) if measure is None else measure.missing_value
        if model is not None:
            if missing is None or missing == EXCLUDE:
                base = min(max(base, model.low), model.high)
            else:
                _check_missing(model, base)
        aggregate = metric.aggregate or default_aggregate(model)
        return cls(
            design=design,
            outcome=model,
            error=level,
            min_effect=metric.min_effect if design is None else design.min_effect,
            measure=measure,
            aggregate=aggregate if measure is None else measure.aggregate,
            missing=base,
            until=_moment(asked.until),
            by_day=looks is None and aggregate in FOLLOWED and base == 0.0 and blocks.whole_days,
            exclude=missing == EXCLUDE,
            goal=(goal or INCREASE) if design is None else design.goal,
            control=asked.control if design is None else design.control,
            block=asked.assigned.block or (None if blocks.whole_days else PERIOD),
            changes=changes,
            exclude_moved=asked.assigned.two_arms == "exclude",
            once=once,
        )

    @property
    def blocks(self) -> Blocks:
        """The division of the log into blocks."""
        return Blocks(block_hours(self.block or "day"), self.changes)

    @property
    def limits(self) -> Outcome | None:
        """The model at whose limits outcomes are capped; None for 0/1 or unlimited outcomes."""
        model = self.outcome
        return None if model is None or model.binary or not model.limited else model

    @property
    def strict_outcome(self) -> Outcome | None:
        """The model if its `check_value` checks more than limits; None otherwise, and for 0/1."""
        model = self.outcome
        if model is None or model.binary:
            return None
        return model if model.strict else None


class Unfit(NamedTuple):
    """Number of outcomes that a model rejects, and its message about the first of them."""

    units: int
    reason: str


class Valueless(NamedTuple):
    """Number of units of an arm that have rows, and how many of these have no value."""

    units: int
    without: int


@dataclass(frozen=True, slots=True)
class Reduced:
    """A reduced log: its arms, the table of sums, and how outcomes were obtained.

    `final` says that outcomes do not change any more; `log_end` is the end of the log. `valueless`
    has, by the number of the arm, how many units have no value. `unfit` has the outcomes that the
    model rejects. `spelled` has the arms with their entries in the log. `worded` is the number of
    rows with words in place of numbers. `duplicates` is the number of rows that are exact copies of
    others, or None if these were not searched for. With `only_copies`, units have one row each
    apart from copies.
    """

    spelled: Arms
    table: ReducedTable
    reading: Reading
    final: bool = True
    log_end: datetime | None = None
    rows: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    valueless: dict[int, Valueless] = field(default_factory=dict)
    examples: dict[str, tuple[str, ...]] = field(default_factory=dict)
    worded: int = 0
    duplicates: int | None = None
    only_copies: bool = False
    unfit: Unfit | None = None

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return self.spelled.names


def _measure(design: Design | None, model: Outcome | None, metric: LogMetric) -> Measure | None:
    """Return the measure of the design or of the options; None if outcomes have no window."""
    if design is not None and design.measure is not None:
        if any(option is not None for option in (metric.window, metric.aggregate, metric.missing)):
            raise invalid(
                "window, aggregate and missing are in the design's measure: leave them out",
            )
        return design.measure
    if metric.window is None:
        return None
    aggregate = metric.aggregate or default_aggregate(model)
    return Measure(
        metric.window, aggregate, missing_number(metric.missing), grace=metric.grace or 0.0
    )


def stated_outcome(outcome: Outcome | str | None) -> Outcome | None:
    """Return the stated outcome model; None if it is to be found from the log."""
    if outcome is None:
        return None
    models = ", ".join(model.example for model in OUTCOMES if model.supports("analysis"))
    check_kind("outcome", outcome, Outcome, models)
    return cast(Outcome, outcome)


def default_aggregate(model: Outcome | None) -> Aggregate:
    """Return the default aggregate of a unit's values: "any" for 0/1 outcomes, else "sum".

    >>> default_aggregate(None)
    'sum'
    """
    return "any" if model is not None and model.binary else "sum"


def _check_missing(model: Outcome, missing: float) -> None:
    try:
        model.check_value(missing)
    except InputError as problem:
        raise invalid(f"missing must be an outcome of a unit: {problem}") from None


def missing_number(missing: Missing) -> float:
    """Return the outcome of a unit without any value; 0 if not stated or if excluded.

    >>> missing_number(None), missing_number("exclude"), missing_number(2)
    (0.0, 0.0, 2.0)
    """
    if missing in (None, EXCLUDE, "zero"):
        return 0.0
    if isinstance(missing, str):
        raise invalid(f'missing must be a number, "zero" or "exclude" (got {missing!r:.60})')
    return checks.finite("missing", missing, "it is the outcome of a unit without any value")


def _moment(until: date | datetime | str | None) -> datetime | None:
    """Return a time in UTC, without a time zone; a date means the end of its day."""
    if until is None:
        return None
    moment = moment_of("until", until)
    is_day = not isinstance(until, datetime) and len(str(until)) <= len("2026-03-01")
    return moment + timedelta(days=1) if is_day else moment
