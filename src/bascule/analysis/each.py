"""Analysis of many tests in one table, with a column that names the test."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bascule.analysis.allocation import checked_weights
from bascule.analysis.api import one_line
from bascule.analysis.assemble import answer
from bascule.analysis.call import Asked, Log, LogMetric
from bascule.analysis.evidence.several import standing
from bascule.analysis.log.log import read_log
from bascule.analysis.log.naming import named, with_kind
from bascule.analysis.log.recognise import recognised
from bascule.analysis.log.rows import NO_ARM, compared, natural
from bascule.analysis.reduce.reduction import reduced
from bascule.analysis.request import Reduced, Request
from bascule.analysis.result import Analysis
from bascule.analysis.savings import Savings, savings_of
from bascule.analysis.source.open import MEMORY, connections, open_tables
from bascule.analysis.source.places import Unreadable, run, stored
from bascule.core.errors import InputError, invalid
from bascule.core.presenter import Reported, presenter


@dataclass(frozen=True, slots=True)
class LogAnswer:
    """The result of one test in a log of many tests.

    `leader` is the winner, or the arm that looks best. `difference` is its mean minus that of its
    nearest rival; if outcomes are `binary`, 0 or 1, these means are shares. `flagged` names the
    checks that found something. A test that could not be analysed has the reason in
    `problem`, and nothing else. `e_value` is the evidence at the end of the log against all arms
    being equal, and `stands` is true for the tests that remain significant after a correction for
    their number: at most 5 % of these are expected to be false. `savings` is a forecast of the same
    test with a planned adaptive design; None if there is none.
    """

    test: str
    units: int | None = None
    arms: int | None = None
    decision: str | None = None
    decided: str | None = None
    leader: str | None = None
    rival: str | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    guarantee: str | None = None
    flagged: str = ""
    problem: str = ""
    binary: bool = False
    e_value: float | None = None
    stands: bool = False
    savings: Savings | None = None


@dataclass(frozen=True, slots=True)
class LogCollection(Reported):
    """The result of `bascule.analyze_each`: the answers of many tests, one row per test.

    `excluded` has the number of rows or units that do not count, by reason.
    """

    rows: tuple[LogAnswer, ...]
    excluded: Mapping[str, int] = field(default_factory=dict)

    @property
    def decided(self) -> int:
        """Number of tests that are decided."""
        return sum(row.decision is not None for row in self.rows)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return plain data: a dictionary for each test."""
        return [asdict(row) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; `bascule analyze --test COLUMN --json` prints it."""
        return {"tests": self.to_rows()}

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each test."""
        import pandas

        return pandas.DataFrame(self.to_rows())

    def report(self) -> Any:
        """Return a report with a row for each test, and the number of decided tests."""
        return presenter("analysis.report").collection_report(self)


MOST_FORECASTS = 500
"""Maximum number of tests that are compared with an adaptive design."""

Progress = Callable[[str, int, int], None]
"""Called with the word "tests", the number of finished tests, and their total (0 if unknown)."""

OPTIONS = ("unit", "arm", "time", "error", "sides", "control", "assigned", "until", "looks")
"""Options of `analyze` that `analyze_each` accepts, for all tests."""


def analyze_each(
    log: object,
    metric: Any = None,
    *,
    test: str,
    progress: Progress | None = None,
    **options: Any,
) -> LogCollection:
    """Analyse every test in a log of many tests; `test` is the column that names the test of a row.

    `metric` is a single one. The options are `unit`, `arm`, `time`, `error`, `sides`, `control`,
    `assigned`, `until` and `looks` of `analyze`. Each test has the whole error. `progress` is
    called at the start and after each test, with the word "tests", the number of finished tests,
    and the number of all, which is 0 at the start.

    >>> import bascule as bs
    >>> log = {"test": ["x"] * 400 + ["y"] * 400, "unit": range(800), "arm": ["a", "b"] * 400,
    ...        "value": [0, 0, 0, 1] * 100 + [0, 1] * 200}
    >>> [(row.test, row.decision) for row in bs.analyze_each(log, test="test").rows]
    [('x', 'b'), ('y', 'b')]
    """
    if isinstance(metric, list | tuple):
        raise invalid("metric must be a single one, as all tests are compared by it (got a list)")
    for name, value in options.items():
        if value is not None and name not in OPTIONS:
            raise InputError(
                name, f"{name} does not go with many tests: leave it out, or analyse tests singly"
            )
    given = Log.of(log)
    report = progress or _silent
    source = given.where
    with connections(given.memory or MEMORY) as opened, one_line():
        (table,) = open_tables(opened, [source])
        column = named("test", test, list(table.columns))
        report("tests", 0, 0)
        (row,) = run(table.agg(unnamed=table.count(where=table[column].isnull())))
        excluded = {f"no {column}": row["unnamed"]} if row["unnamed"] else {}
        excluded |= opened.unreadable.get(source.field, Unreadable()).excluded
        control = options.pop("control", None)
        stated = {name: value for name, value in options.items() if value is not None}
        asked = Asked(log=given, segment=column, **stated)
        rows, notes = _answers(table, asked, LogMetric.of(metric), control, report)
        return LogCollection(rows, excluded | notes)


def _silent(name: str, number: int, total: int) -> None:
    """Report no progress."""


def _answers(
    table: Any, asked: Asked, metric: LogMetric, control: str | None, report: Progress
) -> tuple[tuple[LogAnswer, ...], dict[str, int]]:
    """Return the answers of all tests, ordered by name, and the number of excluded rows by reason.

    The table is read once: tests are segments with arms of their own. The arms of each test are
    numbered in the order of their names. A unit that is in several tests counts as a separate unit
    in each of them.
    """
    assert asked.segment is not None
    table = with_kind(table, metric.value)
    used = recognised(table, None, asked, metric, test=asked.segment)
    table, labels = _numbered(table, asked.segment, used.arm, used.unit)
    request = replace(Request.of(metric, asked), brief=True)
    total = reduced(request, read_log(asked, metric, request, table, used=used))
    request = replace(request, control=control)
    rows = []
    every = -(-len(labels) // MOST_FORECASTS)
    for number, test in enumerate(sorted(labels), start=1):
        try:
            row, names = _of_test(total, test, labels[test], control)
            weights = checked_weights(names, asked.assigned)
            found = answer(request, row, test, weights, request.error)
            savings = savings_of(found) if number % every == 0 else None
            rows.append(replace(_row(test, found), savings=savings))
        except InputError as problem:
            rows.append(LogAnswer(test, problem=str(problem)))
        report("tests", number, len(labels))
    stand = standing([row.e_value for row in rows])
    rows = [replace(row, stands=stands) for row, stands in zip(rows, stand, strict=True)]
    return tuple(rows), total.excluded | total.table.excluded


def _of_test(
    total: Reduced, test: str, arms: list[str], control: str | None
) -> tuple[Reduced, tuple[str, ...]]:
    """Return the sums of one test, and its arms, the control first."""
    names = compared(sorted(arms, key=natural), control)
    if test not in total.table.segments:
        raise invalid(f"events: no row of the test {test!r} can be used")
    places = [arms.index(name) for name in names]
    sums = total.table.segments[test].of_arms(places)
    parts = total.table.parts
    table = replace(
        total.table,
        segments={test: sums},
        excluded={},
        clipped=(),
        moved=0,
        arrivals={test: total.table.arrivals[test][:, :, places]},
        periods={test: total.table.periods[test][:, places]},
        parts={test: parts[test].of_arms(places)} if test in parts else {},
    )
    spelled = replace(total.spelled, names=names)
    return replace(total, spelled=spelled, table=table, valueless={}, examples={}), names


def _numbered(
    table: Any, test: str, arm: str, unit: str | None
) -> tuple[Any, dict[str, list[str]]]:
    """Number the arms of each test and make units unique to it; return the table and these arms."""
    import ibis

    text = table[arm].cast("string").strip()
    plain = text.lower()
    entry = ibis.ifelse(plain.isin(NO_ARM), ibis.null("string"), plain)
    name = table[test].cast("string")
    rank = ibis.dense_rank().over(group_by=name, order_by=entry) + FIRST
    code = ibis.ifelse(entry.isnull(), ibis.null("string"), rank.cast("string"))
    changed = {arm: code, test: name, "bascule_arm": text}
    if unit is not None:
        changed[unit] = name + ":" + table[unit].cast("string")
    table = stored(table.filter(table[test].notnull()).mutate(**changed), "bascule_tests")
    names = table.group_by(test=table[test], code=table[arm]).agg(name=table["bascule_arm"].min())
    labels: dict[str, list[str]] = {}
    for row in run(names.order_by("test", "code")):
        arms = labels.setdefault(row["test"], [])
        if row["code"] is not None:
            arms.append(row["name"])
    return table.drop("bascule_arm"), labels


FIRST = 1000
"""First number of an arm; all numbers have four digits, so text order is numeric order."""


def _row(name: str, analysis: Analysis) -> LogAnswer:
    """Return the row of a test in the collection."""
    decision, nearest = analysis.decision, next(iter(analysis.leads), None)
    bounds: tuple[float | None, float | None, float | None] = (None, None, None)
    if nearest is not None:
        bounds = _finite(nearest.difference), _finite(nearest.low), _finite(nearest.high)
    return LogAnswer(
        name,
        analysis.units,
        len(analysis.design.arms),
        None if decision is None else decision.name,
        analysis.decided if analysis.reading.times != "none" else None,
        analysis.leader if any(arm.mean is not None for arm in analysis.arms) else None,
        None if nearest is None else nearest.second,
        *bounds,
        analysis.guarantee,
        ", ".join(check.name for check in analysis.flagged),
        binary=analysis.design.outcome.binary,
        e_value=math.fsum(analysis.e_values) / len(analysis.e_values)
        if analysis.e_values
        else None,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
