"""The log of a steered test, counted in its database: first exposures by block, arm and outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from bascule.analysis.api import one_line
from bascule.analysis.call import Asked, LogMetric
from bascule.analysis.log.log import ResolvedLog, read_log
from bascule.analysis.log.rows import good
from bascule.analysis.reduce.tables import Survey, surveyed, units_with_events
from bascule.analysis.request import Request
from bascule.analysis.source.open import MEMORY, connections, open_tables
from bascule.analysis.source.places import run, stored, uncollected
from bascule.core.errors import invalid
from bascule.steering.definition import OutcomeTable, SteeredTest
from bascule.steering.ledger import CountedPart, Period

Outcomes = tuple[float, ...]
"""The outcomes of a unit: of the primary metric, and of each other metric of the design."""

Counts = dict[str, dict[Outcomes, int]]
"""For each arm, the number of units with each combination of outcomes."""


@dataclass(frozen=True, slots=True)
class LogRead:
    """Summary of what a run has read: the number of rows, their end, and what does not count.

    `newest` is the time up to which all tables have rows; None if one of them has none. `elsewhere`
    is the number of units that do not count yet, or that came while shares were changing.
    `excluded` has the number of rows that do not count, by reason.
    """

    rows: int
    newest: datetime | None
    ends_first: str
    """Name of the table that has the earliest last row, at the time `newest`."""
    elsewhere: int = 0
    excluded: Mapping[str, int] = field(default_factory=dict)

    @property
    def end(self) -> str:
        """The time up to which all tables have rows, in words."""
        if self.newest is None:
            return f"{self.ends_first} has no rows yet"
        return f"{self.ends_first} ends {self.newest:%Y-%m-%d %H:%M} UTC"

    def to_dict(self) -> dict[str, Any]:
        """Return what was read as plain data."""
        newest = None if self.newest is None else self.newest.isoformat()
        return {"rows": self.rows, "newest": newest, "not_counted": self.elsewhere}


@dataclass(frozen=True, slots=True)
class SteeredLog:
    """The units of a test, each in the arm and at the time of its first exposure.

    A unit's window has closed if it closes by `read.newest`: a warehouse may get its rows late, so
    later times are not complete yet.
    """

    arms: tuple[str, ...]
    units: Any
    read: LogRead

    def counts(self, blocks: Sequence[CountedPart]) -> tuple[list[Counts], int]:
        """Return the counts of each block, and the number of units that are in no block."""
        import ibis

        units, first = self.units, self.units["first"]
        cases = [
            ((first >= _naive(block.since)) & (first < _naive(block.until)), ibis.literal(number))
            for number, block in enumerate(blocks)
        ]
        block = ibis.cases(*cases, else_=-1) if cases else ibis.literal(-1)
        names = [name for name in units.columns if name.startswith(OUTCOME)]
        grouped = units.group_by(*names, block=block, arm=units.code)
        counted: list[Counts] = [{arm: {} for arm in self.arms} for _ in blocks]
        elsewhere = 0
        for row in run(grouped.agg(units=units.count())):
            if row["block"] < 0:
                elsewhere += int(row["units"])
            else:
                outcomes = tuple(float(row[name]) for name in names)
                counted[row["block"]][self.arms[row["arm"]]][outcomes] = int(row["units"])
        return counted, elsewhere


OUTCOME = "outcome"
"""Prefix of the names of outcome columns; the number of the metric follows it."""


@contextmanager
def opened_log(test: SteeredTest) -> Iterator[SteeredLog]:
    """Open the tables of a test, and find the first exposure of every unit with its outcome."""
    tables = {"exposures": test.exposures, **{table.name: table.log for table in test.outcomes}}
    sources = [replace(log.where, field=name) for name, log in tables.items()]
    with uncollected(), connections(MEMORY) as opened, one_line():
        exposures, *events = open_tables(opened, sources)
        surveys: dict[str, Survey] = {}
        units = None
        for place, (table, rows) in enumerate(zip(test.outcomes, events, strict=True)):
            log = _read(test, table, rows, exposures)
            surveys[table.name] = surveyed(log.rows)
            if units is None:
                surveys["exposures"] = surveyed(log.assigned)
                units = first = _first_exposures(log.assigned)
            aggregate, missing = table.measure.aggregate, table.measure.missing_value
            scored = units_with_events(log.rows, first, table.measure, aggregate)
            outcome = {f"{OUTCOME}{place}": scored.outcome.fill_null(missing)}
            units = units.inner_join(scored.select("unit", **outcome), "unit")
        name, late = min(surveys.items(), key=lambda item: item[1].last or datetime.min)
        read = LogRead(
            sum(survey.rows for survey in surveys.values()),
            None if late.last is None else late.last.replace(tzinfo=UTC),
            name,
            excluded={
                f"{reason} ({name})": rows
                for name, survey in surveys.items()
                for reason, rows in survey.excluded.items()
            },
        )
        yield SteeredLog(tuple(test.design.arms), stored(units, "bascule_steered"), read)


def _read(test: SteeredTest, table: OutcomeTable, events: Any, exposures: Any) -> ResolvedLog:
    """Find the columns of the events of a metric and of the exposures."""
    metric = LogMetric(table.value)
    asked = Asked(
        log=table.log,
        unit=table.log.unit,
        arm=test.arm,
        time=table.log.time,
        design=table.design,
        assignments=test.exposures,
    )
    log = read_log(asked, metric, Request.of(metric, asked), events, exposures)
    if log.reading.times != "dates":
        raise invalid("time: a steered test needs the dates and times of exposures and outcomes")
    return log


def _first_exposures(rows: Any) -> Any:
    """Return a table with a row per unit: the arm and the time of its first exposure.

    Later exposures do not count, whatever their arm, because it depends on the shares whether a
    unit meets a second arm. A unit that met two arms at its first time is left out.
    """
    rows = good(rows)
    rows = rows.group_by("unit").mutate(first=rows.time.min())
    rows = rows.filter(rows.time == rows["first"])
    units = rows.group_by("unit").agg(
        first=rows.time.min(), code=rows.code.min(), highest=rows.code.max()
    )
    return units.filter(units.code == units.highest).select("unit", "first", "code")


def new_blocks(
    periods: Sequence[Period], blocks: Sequence[CountedPart], closed: datetime
) -> list[CountedPart]:
    """Return the parts of periods, after the last block, in which all windows have closed.

    The windows of units that came before `closed` have closed. The shares are constant within a
    block.
    """
    counted = blocks[-1].until if blocks else periods[0].since
    found = []
    for period in periods:
        since = max(period.since, counted)
        until = closed if period.until is None else min(period.until, closed)
        if since < until:
            found.append(CountedPart(since, until, period.shares))
    return found


def _naive(time: datetime) -> datetime:
    """Return a time as logs have it: in UTC, without a zone."""
    return time.astimezone(UTC).replace(tzinfo=None)
