"""The columns that an analysis uses, and the question to the user about unclear ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Any

from bascule.analysis.assigned import Assigned
from bascule.analysis.call import Log, LogMetric, call_of
from bascule.analysis.log.times import TimeKind
from bascule.core.errors import InputError
from bascule.core.outcomes import Bernoulli


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The columns of a log by their roles, and other columns that could have been the metric.

    Without `unit` every row was a unit, and without `value` every event counted as 1. `times` says
    whether times are dates or numbers of days, and `time_form` in which format they were written,
    if that had to be found out; `written` is the number format of values that are text. `block` is
    the period within which units are compared. With `cumulative`, rows have totals up to their
    time. `notes` are remarks on how the log was read. `wholes` are columns that group units,
    with one arm in each group, and `mixed` says which columns disagree with the arm in some rows.
    """

    log: str = ""
    arm: str
    unit: str | None = None
    value: str | None = None
    time: str | None = None
    segment: str | None = None
    assignments_unit: str | None = None
    assignments_time: str | None = None
    count: str | None = None
    squares: str | None = None
    cumulative: bool = False
    per: str | None = None
    covariate: str | None = None
    cluster: str | None = None
    other_values: tuple[str, ...] = ()
    assignments: str | None = None
    probability: tuple[str, ...] = ()
    window: str | None = None
    times: TimeKind = "dates"
    time_form: str | None = None
    written: str = ""
    block: str = "day"
    notes: tuple[str, ...] = ()
    wholes: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()

    def stamp(self, day: str) -> str | None:
        """Return a day as the log writes it, a date or the number of a day; None without times.

        >>> Reading(log="log.csv", arm="arm", times="numbers").stamp("1970-01-09")
        'day 8'
        """
        if self.times == "none":
            return None
        if self.times == "dates":
            return day
        return f"day {(date.fromisoformat(day) - date(1970, 1, 1)).days}"

    @property
    def named(self) -> tuple[str | None, ...]:
        """The columns of the unit, the arm, the time and the metric."""
        return self.unit, self.arm, self.time, self.value

    def without(self, values: Collection[str | None]) -> Reading:
        """Return the reading without those alternatives to the metric that are in `values`."""
        other_values = tuple(name for name in self.other_values if name not in values)
        return replace(self, other_values=other_values)

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a role and its column, in words.

        >>> Reading(log="log.csv", arm="arm", value="y", other_values=("z",)).parts[1:4]
        (('unit', 'every row'), ('arm', 'arm'), ('time', 'none'))
        """
        value = self.value or "every event counts as 1"
        if self.written:
            value += f" ({self.written})"
        if self.other_values:
            value += f" (not used, though numbers: {', '.join(self.other_values)})"
        time = self.time or "none"
        if self.time_form is not None:
            time += f" (read as {self.time_form})"
        pairs = [
            ("log", self.log),
            ("unit", self.unit or ("" if self.count else "every row")),
            ("number of units", f"{self.count}{', up to the last time' if self.cumulative else ''}")
            if self.count
            else ("", ""),
            ("sum of squares", self.squares),
            ("arm", self.arm),
            ("time", time),
            ("value", value),
            ("per", self.per),
            ("covariate", self.covariate),
            ("cluster, the unit of comparison", self.cluster),
            ("window", self.window),
            ("segment", self.segment),
            ("probability", ", ".join(self.probability)),
            ("assignments", self.assignments),
            ("their unit", self.assignments_unit),
            ("their time", self.assignments_time),
            ("compared within a block of", "" if self.block == "day" else self.block),
        ]
        return tuple((role, column) for role, column in pairs if column)


OTHER_SUMS = (
    "for sums of other numbers export the sum of the squares of the units' values as well, and "
    'name its column, squares="COLUMN" (--squares COLUMN), or export one row per unit'
)
"""What to export if rows are sums of outcomes other than 0 and 1."""


EVERY_ROW = "if every row is a unit of its own, give row_is_unit=True, --row-is-unit"
"""What to say if no column has the units."""


UNITS_OF_SUMS = (
    "export one row per unit, or also the number of units and the sum of the squares of their "
    f"values, and name these columns ({EVERY_ROW})"
)
"""What to export if rows seem to be sums over an unknown number of units."""


COUNTS_RISE = (
    "the counts of all arms rise from day to day: say whether rows have what was counted up to "
    "their time (cumulative=True, --cumulative) or on their day alone (cumulative=False, "
    "--no-cumulative)"
)
"""Question to the user if counts look like running totals."""


PLACEHOLDERS = {"COLUMN", "FILE", "FORM", "OUTCOMES"}
"""Placeholders, in the call to copy, for names that only the user knows."""


class Question(InputError):  # noqa: N818 - it asks
    """All questions about unclear columns of a log, raised as one error.

    `recognised` has the columns that are clear, by their roles. `unclear` has the questions, and
    `options` the options that would answer them, by their names in Python.
    """

    def __init__(
        self,
        place: str,
        recognised: Mapping[str, str],
        unclear: Iterable[str],
        **options: Any,
    ) -> None:
        self.place, self.recognised, self.options = place, dict(recognised), options
        self.unclear = tuple(unclear)
        super().__init__(next(iter(options), "metric"), self.text(self._call()))

    def __reduce__(self) -> Any:
        arguments = (self.place, self.recognised, self.unclear)
        return _question, (*arguments, self.options)

    def text(self, example: str) -> str:
        """Return the message: the questions, the recognised columns, and a call that answers them.

        Values that cannot be found in the log are placeholders in capitals.
        """
        clear = ", ".join(f"{role} {column}" for role, column in self.recognised.items())
        how = "Ask again with the columns that you mean, for example"
        if PLACEHOLDERS & {value for value in self.options.values() if isinstance(value, str)}:
            how = "Ask again, with names in place of the capitals"
        return f"{'; '.join(self.unclear)}. Recognised: {clear or 'nothing'}. {how}: {example}"

    @property
    def zero_or_one(self) -> bool:
        """Whether rows are sums that may be sums of 0 and 1."""
        return "count" in self.options and "squares" not in self.options

    def _call(self) -> str:
        """Return the call in Python that answers the questions."""
        columns = {role: self.recognised.get(role) for role in ("unit", "arm", "time")}
        options = columns | self.options
        place = options.pop("log", self.place)
        options["value"] = options.pop("metric", self.recognised.get("metric", "COLUMN"))
        if self.zero_or_one:
            options["outcome"] = Bernoulli()
        call = call_of(place, **options)
        first = [_written(call.pop(name), name) for name in ("log", "metric")]
        parts = [*first, *(f"{name}={_written(value, name)}" for name, value in call.items())]
        text = f"bs.{'analyze_each' if 'test' in call else 'analyze'}({', '.join(parts)})"
        # If a table is read twice, both arguments have the same name.
        is_table = options.get("assignments") == self.place and self.place.startswith("a ")
        return text.replace("bs.Log(assignments,", "bs.Log(log,") if is_table else text


def _written(value: Any, name: str) -> str:
    """Return a value as source code: changed fields of a group, a variable's name for a frame."""
    if name == "outcome":
        return f"bs.{value!r}"
    if not isinstance(value, (Log, LogMetric, Assigned)):
        is_frame = name in ("log", "assignments") and str(value).startswith("a ")
        return name if is_frame else repr(value)
    both = ((field.name, getattr(value, field.name), field.default) for field in fields(value))
    stated = {field: part for field, part, default in both if part != default}
    first = [_written(stated.pop(field), name) for field in ("source", "value") if field in stated]
    if not stated:
        return first[0]
    parts = [*first, *(f"{field}={_written(part, field)}" for field, part in stated.items())]
    return f"bs.{type(value).__name__}({', '.join(parts)})"


def _question(place: str, recognised: Any, unclear: Any, options: dict[str, Any]) -> Question:
    return Question(place, recognised, unclear, **options)
