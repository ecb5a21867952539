"""What an analysis is asked: a log, what is measured in it, and how units were assigned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.metrics.measure import Aggregate
from bascule.core.metrics.metric import METRIC_ERROR, Goal, Harm, Metric, Role
from bascule.core.outcomes import Outcome

PER_ROW = "row"
"""Denominator of a rate per row: the number of a unit's rows that have a value."""


@dataclass(frozen=True, slots=True)
class Log:
    """Where a log is, and what has to be known to read it.

    >>> Log("sums.csv", count="visitors").count
    'visitors'
    """

    source: object
    """A file, a folder, a pattern, a data frame, an Ibis table, or the URL of a database."""
    query: str | None = None
    """Rows of a database, or the name of a table."""
    unit: str | None = None
    """Column of the unit, in a table of assignments that calls it otherwise."""
    time: str | None = None
    """Column of the time, in a table of assignments that calls it otherwise."""
    row_is_unit: bool = False
    """Whether every row is a unit of its own, whatever columns there are."""
    count: str | None = None
    """Column with the number of units of a row, if rows are sums."""
    squares: str | None = None
    """Column with the sum of squares, if rows are sums of numbers other than 0 and 1."""
    cumulative: bool | None = None
    """Whether rows that are sums have what was counted up to their time."""
    time_format: str | None = None
    """How times are written, such as "%d/%m/%Y"."""
    decimal: str | None = None
    """Decimal sign of numbers that are text: "." or ","."""
    encoding: str | None = None
    """Encoding of CSV files that are not in UTF-8."""
    drop_duplicates: bool = False
    """Whether rows that are exact copies of others are left out."""
    memory: str | None = None
    """What DuckDB may take, such as "2GB"; about 300 MB if not given."""

    @classmethod
    def of(cls, given: object) -> Log:
        """Return the log that was given, or one whose source it is."""
        return given if isinstance(given, Log) else cls(given)


@dataclass(frozen=True, slots=True)
class LogMetric:
    """What is measured in a log: a column, and what its values make of a unit's outcome.

    >>> LogMetric.of("good per judged").per
    'judged'
    """

    value: str | None = None
    """Column with the values; found if not given, and every event counts as 1 if there is none."""
    per: str | None = None
    """Denominator of a ratio: a column, or "row" for a rate per row that has a value."""
    follow_up: str | tuple[str, str] | None = None
    """How long a unit was at risk: a column, or those with the start and the stop of each row."""
    outcome: Outcome | str | None = None
    """Outcome model, or "recurrent"; as the log suggests if not given."""
    goal: Goal | None = None
    """Whether the highest mean is the best or the lowest; "increase" if not given."""
    min_effect: float | None = None
    """Smallest difference that matters; the test also ends when all are proven smaller."""
    window: float | str | None = None
    """How long a unit's events count from its arrival on, such as "7d"."""
    aggregate: Aggregate | None = None
    """What a unit's values add up to; "sum" if not given, "any" for 0/1 outcomes."""
    missing: float | str | None = None
    """Outcome of a unit without any value, 0 if not given; or "exclude"."""
    grace: float | str = 0.0
    """How much later events may be logged."""
    period: float | str | None = None
    """How often a unit gives an outcome, where outcomes keep coming."""
    margin: float | None = None
    """How much worse than the control an arm may be, which makes the metric a guardrail."""
    error: float | None = None
    """Error of a guardrail or a secondary metric; that of the analysis if not given."""
    harm: Harm = "margin"
    """What makes an arm harmful: worse than the margin, worse at "any" amount, or "never"."""

    @classmethod
    def of(cls, given: object) -> LogMetric:
        """Return the metric that was given: as it is, as a column, or as one of a design."""
        if isinstance(given, LogMetric):
            return given
        if isinstance(given, Metric):
            return cls._of_design(given)
        if given is not None and not isinstance(given, str):
            raise InputError(
                "metric", f"metric must be a column or LogMetric(...) (got {given!r:.60})"
            )
        value, _, per = (given or "").partition(" per ")
        return cls(value.strip() or None, per=per.strip() or None)

    @classmethod
    def _of_design(cls, metric: Metric) -> LogMetric:
        pairs, measure = metric.outcome.pairs, metric.measure
        if pairs:
            raise InputError(
                "metrics",
                f"metric {metric.name} is a ratio: name its columns, as in "
                'LogMetric("revenue", per="sessions")',
            )
        return cls(
            metric.name,
            outcome=metric.outcome,
            goal=metric.goal,
            window=None if measure is None else measure.window,
            aggregate=None if measure is None else measure.aggregate,
            missing=None if measure is None else measure.missing,
            grace=0.0 if measure is None else measure.grace,
            margin=metric.margin,
            error=metric.error,
            harm=metric.harm,
        )

    def __post_init__(self) -> None:
        if self.margin is not None:
            checks.accept(self, "margin", checks.positive, "it is how much worse an arm may be")
        if self.per is not None and self.follow_up is not None:
            raise InputError("follow_up", "follow_up and per are both denominators: leave one out")

    @property
    def role(self) -> Role:
        """A metric with a margin is a guardrail, another one secondary."""
        return "secondary" if self.margin is None else "guardrail"

    @property
    def harm_line(self) -> float | None:
        """How much worse than the control an arm must be proven to be harmful; None for never."""
        return {"margin": self.margin, "any": 0.0, "never": None}[self.harm]

    def beside(self, first: LogMetric) -> LogMetric:
        """Return the metric as it is measured beside another one, on units with the same window."""
        if self.window is not None or self.period is not None:
            return self
        missing = first.missing if self.missing is None else self.missing
        return replace(self, window=first.window, grace=first.grace, missing=missing)

    @property
    def own_error(self) -> float | None:
        """Error that the metric is judged by; None for that of the analysis."""
        return METRIC_ERROR if self.error is None and self.margin is not None else self.error


@dataclass(frozen=True, slots=True)
class Assigned:
    """How units were assigned to the arms, where it was not one even split of single units.

    >>> Assigned(weights=[9, 1]).weights
    [9, 1]
    """

    probability: str | Mapping[str, str] | None = None
    """Column with the probability of the unit's own arm, or the column of each arm."""
    least_probability: float | Mapping[str, float] | None = None
    """Probability below which no arm was ever assigned, for three or more arms and one column."""
    weights: Sequence[float] | Mapping[str, float] | None = None
    """How units were to be split, for the sample ratio."""
    cluster: str | None = None
    """Column of what was assigned as a whole, or of groups of units that are alike."""
    block: str | int | None = None
    """What units are compared within: "day", "week", or days with at least a number of units."""

    def __post_init__(self) -> None:
        if self.least_probability is not None and not isinstance(self.probability, str):
            raise InputError(
                "least_probability",
                "least_probability goes with the column of the unit's own probability: name that "
                "one",
            )


def metrics_of(metric: object, others: object) -> list[LogMetric]:
    """Return the metric that decides, and those beside it."""
    several = metric if isinstance(metric, list | tuple) else [metric]
    if not several:
        raise InputError("metric", "metric: the list of columns is empty")
    if isinstance(others, str | Metric | LogMetric) or not isinstance(others, Iterable):
        raise InputError("metrics", f"metrics must be a list (got {others!r:.60})")
    first, *rest = dict.fromkeys(LogMetric.of(one) for one in (*several, *others))
    return [first, *(one.beside(first) for one in rest)]


def call_of(source: object, **options: Any) -> dict[str, Any]:
    """Return the arguments of `analyze` from options that are all at one level.

    >>> call = call_of("log.csv", value="bought", window="7d", count=None, weights=None, error=0.01)
    >>> call["metric"].window, call["log"], call["error"], "assigned" in call
    ('7d', 'log.csv', 0.01, False)
    """
    given = {name: value for name, value in options.items() if value is not None}

    def taken(cls: Any, *beside: str) -> dict[str, Any]:
        names = {each.name for each in fields(cls)} - {"error", "unit", "time", *beside}
        return {name: given.pop(name) for name in names & set(given)}

    of_table = {name: given.pop(f"assignments_{name}", None) for name in ("query", "unit", "time")}
    log, metric, assigned = taken(Log), taken(LogMetric), taken(Assigned)
    call = given | {"log": Log(source, **log) if log else source}
    if isinstance(metric.get("value"), list):
        call["metric"] = [LogMetric(**metric | {"value": one}) for one in metric["value"]]
    elif metric:
        call["metric"] = LogMetric(**metric)
    if assigned:
        call["assigned"] = Assigned(**assigned)
    if any(of_table.values()):
        call["assignments"] = Log(given["assignments"], **of_table)
    return call
