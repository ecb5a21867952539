"""Which columns of which tables an analysis was made from: said in text, data and report."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from bascule.analysis.log.times import TimeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The log that was read, its columns by what they are, and what else could have been the value.

    Without `unit` every row was a unit, and without `value` every event counted as 1. `times` says
    whether these are dates or numbers of days, and `time_form` how they were written if that had
    to be found out; `written` says how values are written that are text. `block` is what units are
    compared within. With `cumulative` a row has what was counted up to its time,
    and with `at_risk` a row's time at risk lies between its start and its stop; `notes` say what
    was not used and why.
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
    follow_up: bool = False
    times: TimeKind = "dates"
    time_form: str | None = None
    written: str = ""
    block: Literal["day", "week"] = "day"
    at_risk: bool = False
    notes: tuple[str, ...] = ()

    def stamp(self, day: str) -> str | None:
        """A day as the log has it: a date, the number of a day, or None where it has no times.

        >>> Reading(log="log.csv", arm="arm", times="numbers").stamp("1970-01-09")
        'day 8'
        """
        if self.times == "none":
            return None
        if self.times == "dates":
            return day
        return f"day {(date.fromisoformat(day) - date(1970, 1, 1)).days}"

    def without(self, values: Collection[str | None]) -> Reading:
        """Return the reading without columns of values that are other metrics of the analysis."""
        others = tuple(name for name in self.other_values if name not in values)
        return replace(self, other_values=others)

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """What was used for what, in words: pairs of a role and a column.

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
