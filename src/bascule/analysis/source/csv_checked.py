"""CSV files, of which every line is checked before it is used.

DuckDB takes the types of columns from the first lines of a file. Beyond these it stops at a text
among numbers, rounds 0.5 to a whole number and drops the zeros of 007; a zone among times without
one it drops anywhere. So it reads all lines as text, and writes down those that it cannot read. A
column then gets a type if every entry has it, and is text otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, NamedTuple

from bascule.analysis.source.backend import run
from bascule.analysis.source.csv_files import Form, form_of, headed, read_as
from bascule.analysis.source.places import Unreadable, first_line
from bascule.analysis.source.texts import BLANK_TEXTS, points, surely, unclear_points
from bascule.core.errors import InputError

RAGGED = ("MISSING COLUMNS", "TOO MANY COLUMNS")
"""Kinds of lines that are excluded and counted; a file with any other broken line is refused."""

QUOTES, ENCODING = "UNQUOTED VALUE", "INVALID ENCODING"
REJECTS, SCANS = "bascule_rejects", "bascule_scans"
MOST_REJECTS = 100_000
MOST_EXAMPLES = 3

SAMPLE = 1000
"""Lines in which an entry of each column is looked for first."""

FITS = {
    "int64": r"^\s*[-+]?(0|[1-9][0-9]*)\s*$",
    "float64": r"^\s*[-+]?((0|[1-9][0-9]{0,17})(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$",
    "timestamp": r"^\s*[0-9]{4}[-/][0-9]+[-/][0-9]+([T ][0-9]+:[0-9]{2}(:[0-9.]+)?)?\s*$",
    "boolean": "(?i)^(true|false)$",
}
"""What every entry of a column must look like for a type: DuckDB would read more, and lose some."""


class EncodingError(InputError):
    """A line that is not in UTF-8."""


class _File(NamedTuple):
    """A file with its name for the user, its form, and the names of its columns."""

    path: str
    shown: str
    form: Form
    names: list[str]


class _Reject(NamedTuple):
    """A line that DuckDB rejects, and why."""

    kind: str
    line: int
    text: str
    reason: str


def read_csv(
    local: Any, paths: Sequence[str], shown: Sequence[str], folder: Path, view: str
) -> tuple[list[str], Unreadable]:
    """Make a view of CSV files with types that fit every line; say which lines were left out.

    `shown` has the names of the files for messages. Empty files are passed over. What is returned
    first are the copies of the files that the view reads.
    """
    both = [names for names in zip(paths, shown, strict=True) if Path(names[0]).stat().st_size]
    files = [_opened(local, *names, alone=len(paths) == 1) for names in both]
    _check_headers(files)
    place = folder / f"checked_{len(list(folder.iterdir()))}"
    copies = [f"{place}_{at}.parquet" for at in range(len(files))]
    each = [_copied(local, *pair) for pair in zip(files, copies, strict=True)]
    unreadable = sum(each, Unreadable())
    text = f"{view}_text"
    local.con.read_parquet(copies, union_by_name=True).create_view(text, replace=True)
    table, names = local.table(text), files[0].names
    repeats = _repeats(table, names)
    headers = int(run(table.agg(headers=repeats.sum()))[0]["headers"] or 0)
    table = table.filter(~repeats) if headers else table
    # Blank text among numbers and times is no value.
    casts = {name: table[name].try_cast(kind) for name, kind in _types(table, names).items()}
    local.con.sql(local.compile(table.mutate(**casts))).create_view(view, replace=True)
    return copies, unreadable + Unreadable(headers=headers)


def _opened(local: Any, path: str, shown: str, *, alone: bool) -> _File:
    import duckdb

    try:
        form = form_of(local.con, path, headed=not alone)
        return _File(path, shown, form, headed(local.con, path, form))
    except duckdb.Error as problem:
        if alone:
            raise
        raise InputError("events", f"cannot read {shown}: {first_line(problem)}") from None


def _check_headers(files: Sequence[_File]) -> None:
    """Refuse files of one log that do not have the same columns."""
    first = files[0]
    for file in files[1:]:
        parts = []
        if lacking := [name for name in first.names if name not in file.names]:
            parts.append(f"lacks {', '.join(map(repr, lacking))}")
        if others := [name for name in file.names if name not in first.names]:
            parts.append(f"has {', '.join(map(repr, others))} besides")
        if parts:
            raise InputError(
                "events",
                "the files of a log must have the same columns, in any order: line "
                f"{file.form['SkipRows'] + 1} of {file.shown} {' and '.join(parts)}, unlike "
                f"{first.shown}",
            )


def _copied(local: Any, file: _File, target: str) -> Unreadable:
    """Write the lines of a file as text, but for those that DuckDB rejects; say which these are."""
    forms = [file.form]
    if not file.form["Quote"]:
        # Lines beyond those from which the form was detected may be the first to have quotes.
        forms.insert(0, file.form | {"Quote": '"', "Escape": '"'})
    rejects: list[_Reject] = []
    for form in forms:
        for table in (REJECTS, SCANS):
            local.con.execute(f"DROP TABLE IF EXISTS {table}").fetchall()
        lines = read_as(
            local.con,
            file.path,
            form,
            dict.fromkeys(file.names, "VARCHAR"),
            store_rejects=True,
            rejects_table=REJECTS,
            rejects_scan=SCANS,
            rejects_limit=MOST_REJECTS,
        )
        lines.write_parquet(target)
        rows = local.con.execute(
            "SELECT any_value(error_type), line, any_value(csv_line[:80]), max(error_message) "  # nosec B608
            f"FROM {REJECTS} GROUP BY line ORDER BY line"
        ).fetchall()
        rejects = [_Reject(*row) for row in rows]
        if not any(reject.kind == QUOTES for reject in rejects):
            break
    return _unreadable(file, rejects, len(local.con.read_parquet(target)))


def _unreadable(file: _File, rejects: Sequence[_Reject], rows: int) -> Unreadable:
    """Count the lines with too few or too many columns; refuse a file with any other."""
    for one in rejects:
        if one.kind not in RAGGED:
            kind = EncodingError if one.kind == ENCODING else InputError
            raise kind("events", f"cannot read line {one.line} of {file.shown}: {_reason(one)}")
    if len(rejects) > rows or len(rejects) >= MOST_REJECTS:
        one = rejects[0]
        raise InputError(
            "events",
            f"cannot read {file.shown}: {len(rejects):,} of its lines do not have the "
            f"{len(file.names)} columns of its first, as line {one.line}, {one.text!r}",
        )
    examples = tuple(
        f"line {one.line} of {Path(file.shown).name}: {one.text}" for one in rejects[:MOST_EXAMPLES]
    )
    return Unreadable(len(rejects), examples, above=file.form["SkipRows"])


def _reason(reject: _Reject) -> str:
    if reject.kind == QUOTES:
        return f"a quote is not closed, or something follows it ({reject.text!r})"
    return first_line(ValueError(reject.reason))


def _repeats(table: Any, names: Sequence[str]) -> Any:
    """Whether a line has the names of the columns again, as in files that were put together."""
    import ibis

    same = reduce(and_, (table[name].fill_null("").strip() == name.strip() for name in names))
    # Few lines have the first name at all, and only these are looked at further.
    return ibis.ifelse(table[names[0]].contains(names[0].strip()), same, False).fill_null(False)


def _types(table: Any, names: Sequence[str]) -> dict[str, str]:
    """The types that all entries of columns have; a column of text has none."""
    import ibis

    there = {name: table[name].notnull() & ~_blank(table[name]) for name in names}
    entries = _entries(table.limit(SAMPLE), names)
    entries |= _entries(table, [name for name in names if entries[name] is None])
    left = {name: _candidates(entries[name]) for name in names}
    types: dict[str, str] = {}
    while tried := [(name, kinds.pop(0)) for name, kinds in left.items() if kinds]:
        misfits = {}
        for at, (name, kind) in enumerate(tried):
            text = table[name]
            fits = text.re_search(FITS[kind]) & text.try_cast(kind).notnull()
            if kind != "boolean":
                # Few entries need more than the first test, and only these are looked at further.
                fits = ibis.ifelse(surely(text, kind), True, fits)
            misfits[f"x{at}"] = ibis.ifelse(fits, False, there[name]).sum()
        (row,) = run(table.agg(**misfits))
        types |= {name: kind for at, (name, kind) in enumerate(tried) if not row[f"x{at}"]}
        left = {name: kinds for name, kinds in left.items() if name not in types}
    for name in [name for name, kind in types.items() if kind == "float64"]:
        # Whether 1.234 is a thousand or a little more than one is not to be guessed here.
        if unclear_points(run(table.agg(**points(table[name])))[0]):
            del types[name]
    return types


def _entries(table: Any, names: Sequence[str]) -> dict[str, str | None]:
    """Some entry of each column, None where all are blank."""
    some = [table[name].arbitrary(where=~_blank(table[name])) for name in names]
    (row,) = run(table.agg(**{f"c{at}": one for at, one in enumerate(some)})) if some else [{}]
    return dict(zip(names, row.values(), strict=True))


def _candidates(entry: str | None) -> list[str]:
    """Types that a column may have by one of its entries: others may have fractions."""
    return [kind for kind, form in FITS.items() if entry is not None and re.search(form, entry)]


def _blank(entry: Any) -> Any:
    """Whether an entry is text that stands for no value."""
    return entry.strip().lower().isin(BLANK_TEXTS)
