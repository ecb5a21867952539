"""The options of an analysis: the log, its metrics, and how units were assigned.

Every option is declared once, here or in the module `assigned`. Python takes the options in groups,
and the command line takes all of them side by side.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, dataclass, fields, replace
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from bascule.analysis.assigned import Assigned
from bascule.analysis.source.places import Source
from bascule.core.design import Design
from bascule.core.errors import invalid
from bascule.core.metrics.measure import Aggregate
from bascule.core.metrics.metric import METRIC_ERROR, Goal, Harm, Metric, Role
from bascule.core.options import Declared, Group, Option, check_given, options_of
from bascule.core.outcomes import OUTCOMES, Outcome

PER_ROW = "row"
"""Denominator of a rate per row: the number of a unit's rows that have a value."""

Looks = Literal[1, "now"] | None
"""1 for a single look at the log, "now" for today's answer alone, None for any number of looks."""

MODELS = tuple(
    kind
    for kind in OUTCOMES.kinds
    if OUTCOMES.get(kind).supports("analysis") and not OUTCOMES.get(kind).pairs
)
"""Outcome models of one number per unit; ratios and means of repeated outcomes use `per`."""

Column = str | None
"""Name of a column; None to look for its usual names, or if there is no such column."""


EVEN = Assigned()
"""Assignment if none is stated: single units, and an even split or the one that the log shows."""


def _column(text: str, group: Group = "basics", **settings: Any) -> Option:
    """Return an option whose value is the name of a column."""
    return Option(text, group=group, metavar="COLUMN", **settings)


@dataclass(frozen=True, slots=True)
class Log(Declared):
    """Location of a log, and how to read it.

    >>> Log("sums.csv", count="visitors").count
    'visitors'
    """

    source: object
    """A file, a folder, a pattern, a data frame, an Ibis table, or the URL of a database."""
    query: Annotated[
        str | None,
        Option(
            "SQL that returns the rows of the log; a file is the table `log` in it.",
            group="basics",
            metavar="SQL",
        ),
    ] = None
    unit: Column = None
    """Name of the unit column in a table of assignments, if other than in the events."""
    time: Column = None
    """Name of the time column in a table of assignments, if other than in the events."""
    row_is_unit: Annotated[
        bool,
        Option("Every row is a separate unit.", kind="switch", excludes=("unit", "assignments")),
    ] = False
    count: Annotated[
        Column,
        _column(
            "If rows are sums: column with their number of units.",
            excludes=(
                *("unit", "row_is_unit", "assignments", "window", "missing"),
                *("probability", "per", "covariate", "cluster"),
            ),
        ),
    ] = None
    squares: Annotated[
        Column,
        _column(
            "If rows are sums of other numbers than 0 and 1: column with their sums of squares.",
            group="advanced",
            needs=("count",),
        ),
    ] = None
    cumulative: Annotated[
        bool | None,
        Option(
            "Whether rows that are sums include everything up to their time.",
            kind="switch",
            needs=("count",),
        ),
    ] = None
    time_format: Annotated[
        str | None, Option('How times are written, as "%d/%m/%Y %H:%M".', metavar="FORM")
    ] = None
    decimal: Annotated[
        str | None, Option('Decimal sign of numbers that are text: "." or ",".', metavar="SIGN")
    ] = None
    encoding: Annotated[
        str | None, Option("Encoding of CSV files that are not in UTF-8.", metavar="NAME")
    ] = None
    memory: Annotated[
        str | None,
        Option("Memory that DuckDB may use, as 2GB.", metavar="SIZE", unset="about 300MB"),
    ] = None
    """Memory that DuckDB may use, as `"2GB"`; about 300 MB if not given."""

    @classmethod
    def of(cls, metric: object) -> Log:
        """Return `metric` itself if it is a `Log`, else a `Log` that has it as the source."""
        return metric if isinstance(metric, Log) else cls(metric)

    def is_of(self, other: Log) -> bool:
        """Whether this log and another are the same table or file."""
        both = (self.source, other.source)
        return both[0] is both[1] or (
            all(isinstance(place, str | Path) for place in both) and str(both[0]) == str(both[1])
        )

    @property
    def where(self) -> Source:
        """The location of the log as a source to read."""
        return Source(self.source, self.query, "events", self.encoding)


@dataclass(frozen=True, slots=True)
class LogMetric(Declared):
    """A metric of a log: a column, and how its values become a unit's outcome.

    >>> LogMetric.of("good per judged").per
    'judged'
    """

    value: Column = None
    """Column with the values; found if not given, and every event counts as 1 if there is none."""
    per: Annotated[
        Column,
        _column(
            "Denominator of a ratio: a column; or the word row, for the mean of rows with a value.",
            group="outcome",
            excludes=("window", "outcome", "probability", "assignments", "design"),
        ),
    ] = None
    """Denominator of a ratio: a column, or `"row"` for a rate per row that has a value; not with
    `outcome` or `window`."""
    outcome: Annotated[
        Outcome | str | None,
        Option(
            "Outcome model.",
            kind="choice",
            choices=MODELS,
            group="outcome",
            unset="as the log suggests",
        ),
    ] = None
    """An outcome model, such as `Bernoulli()`; found from the values if not given."""
    goal: Annotated[
        Goal | None,
        Option("Whether higher or lower values are better.", group="outcome", unset="increase"),
    ] = None
    min_effect: Annotated[
        float | None,
        Option(
            "Smallest difference that matters; a test also ends if all differences are smaller.",
            kind="positive",
        ),
    ] = None
    window: Annotated[
        float | str | None,
        Option(
            "How long a unit's events count from its arrival on, as 7d.",
            group="outcome",
            metavar="TIME",
        ),
    ] = None
    """How long a unit's events count from its arrival on, in seconds or as `"7d"`."""
    aggregate: Annotated[
        Aggregate | None,
        Option(
            "How the values of a unit are combined.",
            group="outcome",
            unset="sum; any with the outcome bernoulli",
        ),
    ] = None
    """How the values of a unit are combined: `"sum"`, the default, `"any"`, the default with
    `Bernoulli`, `"mean"` or `"last"`."""
    missing: Annotated[
        float | str | None,
        Option(
            "Outcome of a unit without any value, or: exclude.",
            group="outcome",
            metavar="NUMBER",
            unset="0",
        ),
    ] = None
    """Outcome of a unit without any value: a number, 0 by default, or `"exclude"`."""
    grace: Annotated[
        float | str | None,
        Option("How much later events may be logged.", metavar="TIME", needs=("window",)),
    ] = None
    """How much later events may be logged, in seconds or as `"1d"`."""
    margin: Annotated[float | None, Option(kind="positive")] = None
    """How much worse than the control an arm may be; a metric with a margin is a guardrail."""
    error: float | None = None
    """Error of the metric: by default 0.05 for a guardrail, and otherwise that of the analysis."""
    harm: Harm = "margin"
    """When an arm is harmful: if worse by the "margin", if worse by "any" amount, or "never"."""

    @classmethod
    def of(cls, source: object) -> LogMetric:
        """Return a metric from a `LogMetric`, the name of a column, or a metric of a design."""
        if isinstance(source, LogMetric):
            return source
        if isinstance(source, Metric):
            return cls._of_design(source)
        if source is not None and not isinstance(source, str):
            raise invalid(f"metric must be a column or LogMetric(...) (got {source!r:.60})")
        value, _, per = (source or "").partition(" per ")
        return cls(value.strip() or None, per=per.strip() or None)

    @classmethod
    def _of_design(cls, metric: Metric) -> LogMetric:
        alike = ("goal", "margin", "error", "harm")
        parts = {name: getattr(metric, name) for name in alike}
        if metric.outcome.pairs:
            # In the log of a ratio metric each row is a request, so the denominator counts rows.
            return cls(metric.name, per=PER_ROW, **parts)
        parts["outcome"] = metric.outcome
        if (measure := metric.measure) is not None:
            parts |= {name: getattr(measure, name) for name in ("window", "aggregate", "missing")}
            parts["grace"] = measure.grace or None
        return cls(metric.name, **parts)

    @property
    def role(self) -> Role:
        """Role of the metric: "guardrail" if it has a margin, else "secondary"."""
        return "secondary" if self.margin is None else "guardrail"

    @property
    def harm_line(self) -> float | None:
        """How much worse than the control an arm must be to be harmful; None if it never is."""
        return {"margin": self.margin, "any": 0.0, "never": None}[self.harm]

    @property
    def plain(self) -> bool:
        """Whether the metric is a plain column, without denominator, aggregate and window."""
        declared = (self.per, self.aggregate, self.window)
        return all(option is None for option in declared)

    def beside(self, first: LogMetric) -> LogMetric:
        """Return the metric with the window, grace and missing value of the first metric.

        A metric with a window of its own stays as it is; a missing value of its own is kept.
        """
        if self.window is not None:
            return self
        missing = first.missing if self.missing is None else self.missing
        return replace(self, window=first.window, grace=first.grace, missing=missing)

    @property
    def metric_error(self) -> float | None:
        """Error of the metric, 0.05 for a guardrail without one; None for that of the analysis."""
        return METRIC_ERROR if self.error is None and self.margin is not None else self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An analysis as requested: the log, its columns, and the requirements of a decision."""

    log: Log
    unit: Annotated[Column, _column("The unit that was assigned; usual names are found.")] = None
    arm: Annotated[Column, _column("The unit's arm; usual names are found.")] = None
    time: Annotated[Column, _column("The time; usual names are found.")] = None
    design: Annotated[
        Design | None,
        Option(
            "A design file: arms, outcome, error, guardrails.",
            kind="file",
            group="basics",
            metavar="FILE",
            excludes=("outcome", "error", "min_effect", "sides", "goal", "control", "covariate"),
        ),
    ] = None
    error: Annotated[
        float | None,
        Option(
            "Maximum false positive rate; a worse arm is shipped with at most half of it.",
            kind="probability",
            group="basics",
            default="5%",
        ),
    ] = None
    sides: Annotated[
        int | None,
        Option(
            "1: the error is the probability that a worse arm wins; 5% gives 90 % intervals.",
            kind="whole",
            limits=(1, 2),
            group="basics",
            metavar="1|2",
        ),
    ] = None
    control: Annotated[
        str | None,
        Option("The arm that others are compared with.", group="basics", unset="the first"),
    ] = None
    covariate: Annotated[
        Column,
        _column(
            "A number known before the test, to reduce noise (CUPED).",
            excludes=("outcome", "probability"),
        ),
    ] = None
    segment: Annotated[
        Column, _column("Analyse each value of this column separately, with a part of the error.")
    ] = None
    assignments: Annotated[
        Log | None,
        Option(
            "Table with the arms of units, if LOG has events only.", group="basics", metavar="FILE"
        ),
    ] = None
    assigned: Assigned = EVEN
    until: Annotated[
        date | datetime | str | None,
        Option("Use the log up to the end of this day, or up to this time.", metavar="DAY"),
    ] = None
    looks: Looks = None

    @property
    def about_units(self) -> dict[str, Column]:
        """The columns that describe a unit or a row of several units, by role, without the arm."""
        return {
            "segment": self.segment,
            "covariate": self.covariate,
            "cluster": self.assigned.cluster,
            "count": self.log.count,
            "squares": self.log.squares,
        }

    def check(self, metric: LogMetric) -> None:
        """Raise an error if options contradict each other."""
        groups = (self.log, metric, self.assigned, self)
        stated = {
            field.name
            for group in groups
            for field in fields(group)
            if field.default is not MISSING and getattr(group, field.name) is not field.default
        }
        check_given(ANALYSIS, stated)


ANALYSIS = {
    name: option
    for group in (Log, LogMetric, Assigned, Asked)
    for name, option in options_of(group).items()
    if option.help
}
"""The options of all groups by name, without fields that have no help text."""


def metrics_of(metric: object, further: object) -> list[LogMetric]:
    """Return all metrics, the deciding one first; the others take over its window."""
    several = metric if isinstance(metric, list | tuple) else [metric]
    if not several:
        raise invalid("metric: the list of columns is empty")
    if isinstance(further, str | Metric | LogMetric) or not isinstance(further, Iterable):
        raise invalid(f"metrics must be a list (got {further!r:.60})")
    first, *rest = dict.fromkeys(LogMetric.of(metric) for metric in (*several, *further))
    return [first, *(metric.beside(first) for metric in rest)]


def call_of(source: object, **options: Any) -> dict[str, Any]:
    """Return the arguments of `analyze` for options that are not in groups.

    >>> call = call_of("log.csv", value="bought", window="7d", count=None, weights=None, error=0.01)
    >>> call["metric"].window, call["log"], call["error"], "assigned" in call
    ('7d', 'log.csv', 0.01, False)
    """
    stated = {name: value for name, value in options.items() if value is not None}

    def taken(cls: Any, *excluded: str) -> dict[str, Any]:
        names = {field.name for field in fields(cls)} - {"error", "unit", "time", *excluded}
        return {name: stated.pop(name) for name in names & set(stated)}

    of_table = {name: stated.pop(f"assignments_{name}", None) for name in ("query", "unit", "time")}
    log, metric, assigned = taken(Log), taken(LogMetric), taken(Assigned)
    call = stated | {"log": Log(source, **log) if log else source}
    if isinstance(metric.get("value"), list):
        call["metric"] = [LogMetric(**metric | {"value": column}) for column in metric["value"]]
    elif metric:
        call["metric"] = LogMetric(**metric)
    if assigned:
        call["assigned"] = Assigned(**assigned)
    if any(of_table.values()):
        call["assignments"] = Log(stated["assignments"], **of_table)
    return call
