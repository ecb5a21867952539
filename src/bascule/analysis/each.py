"""Many tests at once: a folder with a file for each, or a table with a column that names them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bascule.analysis.api import analyze, one_line
from bascule.analysis.call import Log
from bascule.analysis.log.naming import named
from bascule.analysis.source.backend import run
from bascule.analysis.source.files import form_of
from bascule.analysis.source.open import MEMORY, connections, open_tables
from bascule.analysis.source.places import Source, Unreadable
from bascule.core.errors import InputError
from bascule.core.presenter import presenter


@dataclass(frozen=True, slots=True)
class LogAnswer:
    """What the log of one test of many says.

    `leader` is the winner, or the arm that looks best; the difference is that of the leader minus
    its nearest rival; where outcomes are `binary`, 0 or 1, it is a difference of shares. `flagged`
    names the checks that found something. A log that could not be analysed has the reason in
    `problem`, and nothing else.
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


@dataclass(frozen=True, slots=True)
class LogCollection:
    """The answers of many tests, a row each; `bascule.analyze_each` makes it.

    `excluded` says how many rows of a log belong to no test, by reason.
    """

    rows: tuple[LogAnswer, ...]
    excluded: Mapping[str, int] = field(default_factory=dict)

    @property
    def decided(self) -> int:
        """How many tests are decided."""
        return sum(row.decision is not None for row in self.rows)

    def to_rows(self) -> list[dict[str, Any]]:
        """Plain data, a row for each test."""
        return [asdict(row) for row in self.rows]

    def to_frame(self) -> Any:
        """A data frame of pandas with a row for each test."""
        import pandas

        return pandas.DataFrame(self.to_rows())

    def __str__(self) -> str:
        return "\n".join(presenter("analysis.text").collection_lines(self))


def analyze_each(
    log: object, metric: Any = None, *, test: str | None = None, **options: Any
) -> LogCollection:
    """Analyse many tests, each with its own arms: the files of a folder, or parts of a table.

    `log` is a folder with a file for each test, or with `test` any log that has a column with the
    name of the test. All other options are those of `analyze`. Each test has the whole error.

    >>> import bascule as bs
    >>> log = {"test": ["x"] * 400 + ["y"] * 400, "unit": range(800), "arm": ["a", "b"] * 400,
    ...        "value": [0, 0, 0, 1] * 100 + [0, 1] * 200}
    >>> [(row.test, row.decision) for row in bs.analyze_each(log, test="test").rows]
    [('x', 'b'), ('y', 'b')]
    """
    given = Log.of(log)
    options |= {"metric": metric}
    if test is None:
        files = _files(given.source)
        return LogCollection(
            tuple(_answer(name, replace(given, source=file), options) for name, file in files)
        )
    source = Source(given.source, given.query, "events", given.encoding)
    with connections(given.memory or MEMORY) as opened, one_line():
        (table,) = open_tables(opened, [source])
        column = named("test", test, list(table.columns))
        names = run(table.group_by(name=table[column]).agg(rows=table.count()).order_by("name"))
        parts = (
            (str(row["name"]), table.filter(table[column] == row["name"]).drop(column))
            for row in names
            if row["name"] is not None
        )
        excluded = {f"no {column}": row["rows"] for row in names if row["name"] is None}
        excluded |= opened.unreadable.get(source.field, Unreadable()).excluded
        each = replace(given, query=None, encoding=None)
        answers = (_answer(name, replace(each, source=part), options) for name, part in parts)
        return LogCollection(tuple(answers), excluded)


def _files(folder: object) -> Iterator[tuple[str, Path]]:
    """The files of a folder with the names of their tests."""
    if not isinstance(folder, (str, Path)) or not Path(folder).is_dir():
        raise InputError(
            "events", f"events must be a folder with a file for each test, or name test ({folder})"
        )
    files = [file for file in sorted(Path(folder).iterdir()) if file.is_file() and form_of(file)]
    if not files:
        raise InputError("events", f"events: the folder {folder} has no Parquet, CSV or JSON files")
    for file in files:
        yield file.name.split(".")[0], file


def _answer(name: str, log: Log, options: dict[str, Any]) -> LogAnswer:
    try:
        analysis = analyze(log, **options)
    except InputError as problem:
        return LogAnswer(name, problem=str(problem))
    decision, nearest = analysis.decision, next(iter(analysis.leads), None)
    ends: tuple[float | None, float | None, float | None] = (None, None, None)
    if nearest is not None:
        ends = nearest.difference, _finite(nearest.low), _finite(nearest.high)
    return LogAnswer(
        name,
        analysis.units,
        len(analysis.design.arms),
        None if decision is None else decision.name,
        analysis.decided if analysis.reading.times != "none" else None,
        analysis.leader if any(arm.mean is not None for arm in analysis.arms) else None,
        None if nearest is None else nearest.second,
        *ends,
        analysis.guarantee,
        ", ".join(check.name for check in analysis.flagged),
        binary=analysis.design.outcome.binary,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
