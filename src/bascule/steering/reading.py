"""The log of a steered test, counted where it is: first exposures by block, arm and outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bascule.analysis.api import one_line
from bascule.analysis.call import Asked, LogMetric
from bascule.analysis.log.log import read_log
from bascule.analysis.log.rows import OF_ASSIGNMENTS, good
from bascule.analysis.reduce.tables import surveyed, units_with_events
from bascule.analysis.request import Request
from bascule.analysis.source.open import MEMORY, connections, open_tables
from bascule.analysis.source.places import run, stored, uncollected
from bascule.core.errors import InputError
from bascule.steering.definition import SteeredTest
from bascule.steering.ledger import CountedPart, Period

Counts = dict[str, dict[float, int]]
"""For each arm how many units have which outcome."""


@dataclass(frozen=True, slots=True)
class SteeredLog:
    """The units of a test, each in the arm and at the time of its first exposure.

    `newest` is the time up to which both tables have rows. A unit's window has closed if it closes
    by then: rows that a late warehouse has not got yet are still to come.
    """

    arms: tuple[str, ...]
    units: Any
    newest: datetime | None
    rows: int
    excluded: dict[str, int]

    def counts(self, blocks: Sequence[CountedPart]) -> tuple[list[Counts], int]:
        """Return what each block has, and how many units are in none of them."""
        import ibis

        units, first = self.units, self.units["first"]
        cases = [
            ((first >= _naive(block.since)) & (first < _naive(block.until)), ibis.literal(number))
            for number, block in enumerate(blocks)
        ]
        block = ibis.cases(*cases, else_=-1) if cases else ibis.literal(-1)
        grouped = units.group_by(block=block, arm=units.code, outcome=units.outcome)
        counted: list[Counts] = [{arm: {} for arm in self.arms} for _ in blocks]
        elsewhere = 0
        for row in run(grouped.agg(units=units.count())):
            if row["block"] < 0:
                elsewhere += int(row["units"])
            else:
                of_arm = counted[row["block"]][self.arms[row["arm"]]]
                of_arm[float(row["outcome"])] = int(row["units"])
        return counted, elsewhere


@contextmanager
def opened_log(test: SteeredTest) -> Iterator[SteeredLog]:
    """Open the tables of a test, and find the first exposure of every unit with its outcome."""
    design, measure = test.design, test.measure
    metric = LogMetric(test.value)
    asked = Asked(
        log=test.outcomes,
        unit=test.outcomes.unit,
        arm=test.arm,
        time=test.outcomes.time,
        design=design,
        assignments=test.exposures,
    )
    sources = [test.outcomes.where, replace(test.exposures.where, field="assignments")]
    with uncollected(), connections(MEMORY) as opened, one_line():
        outcomes, exposures = open_tables(opened, sources)
        log = read_log(asked, metric, Request.of(metric, asked), outcomes, exposures)
        if log.reading.times != "dates":
            raise InputError(
                "time", "time: a steered test needs the dates and times of exposures and outcomes"
            )
        surveys = [surveyed(log.rows), surveyed(log.assigned)]
        ends = [survey.last for survey in surveys]
        excluded = dict(surveys[0].excluded)
        excluded |= {f"{reason}{OF_ASSIGNMENTS}": n for reason, n in surveys[1].excluded.items()}
        first = _first_exposures(log.assigned)
        units = units_with_events(log.rows, first, measure, measure.aggregate)
        units = units.select(
            "first", "code", outcome=units.outcome.fill_null(measure.missing_value)
        )
        newest = None if None in ends else min(end for end in ends if end is not None)
        yield SteeredLog(
            tuple(design.arms),
            stored(units, "bascule_steered"),
            None if newest is None else newest.replace(tzinfo=UTC),
            sum(survey.rows for survey in surveys),
            excluded,
        )


def _first_exposures(rows: Any) -> Any:
    """A row per unit with the arm and the time of its first exposure.

    Later exposures do not count, in whichever arm: who meets a second arm depends on the shares.
    A unit with two arms at its first moment has no first one, and is left out.
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

    `closed` is the arrival of the first unit whose window is open. A block never holds two splits.
    """
    counted = blocks[-1].until if blocks else periods[0].since
    found = []
    for period in periods:
        since = max(period.since, counted)
        until = closed if period.until is None else min(period.until, closed)
        if since < until:
            found.append(CountedPart(since, until, period.shares))
    return found


def closed_by(newest: datetime, test: SteeredTest) -> datetime:
    """Return the arrival of the first unit whose window is open at some moment."""
    return newest - timedelta(seconds=test.measure.matures(0.0))


def _naive(time: datetime) -> datetime:
    """Return a time as logs have it: in UTC, without a zone."""
    return time.astimezone(UTC).replace(tzinfo=None)
