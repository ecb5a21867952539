"""CSV files, of which every line is checked before it is used.

DuckDB takes the types of columns from the first lines of a file. Beyond these it stops at a text
among numbers, rounds 0.5 to a whole number and drops the zeros of 007; a zone among times without
one it drops anywhere. So the lines are read as text first: a column gets a type if every entry has
it, and is text otherwise. The copy that is then made is quicker to read than the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, NamedTuple

from bascule.analysis.source.backend import run
from bascule.analysis.source.csv_files import Form, form_of, headed, read_as, types_of
from bascule.analysis.source.places import Unreadable, first_line
from bascule.analysis.source.texts import BLANK_TEXTS, points, surely, unclear_points
from bascule.core.errors import InputError

RAGGED = ("MISSING COLUMNS", "TOO MANY COLUMNS")
"""Kinds of lines that are excluded and counted; a file with any other broken line is refused."""

QUOTES = "UNQUOTED VALUE"
REJECTS, SCANS = "bascule_rejects", "bascule_scans"
MOST_REJECTS = 100_000
MOST_EXAMPLES = 3

FITS = {
    "int64": r"^\s*[-+]?(0|[1-9][0-9]*)\s*$",
    "float64": r"^\s*[-+]?((0|[1-9][0-9]{0,17})(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$",
    "timestamp": r"^\s*[0-9]{4}[-/][0-9]+[-/][0-9]+([T ][0-9]+:[0-9]{2}(:[0-9.]+)?)?\s*$",
    "boolean": "(?i)^(true|false)$",
}
"""What every entry of a column must look like for a type: DuckDB would read more, and lose some."""

CANDIDATES = {
    frozenset({"BIGINT"}): ("int64", "float64"),
    frozenset({"DOUBLE"}): ("float64",),
    frozenset({"BIGINT", "DOUBLE"}): ("float64",),
    frozenset({"DATE"}): ("timestamp",),
    frozenset({"TIMESTAMP"}): ("timestamp",),
    frozenset({"DATE", "TIMESTAMP"}): ("timestamp",),
    frozenset({"BOOLEAN"}): ("boolean",),
}
"""Types to try, by those that the files seem to have; a column of any others is text."""


@dataclass(frozen=True, slots=True)
class _File:
    """A file with its name for the user, its form, and the names of its columns."""

    path: str
    shown: str
    form: Form
    names: list[str]


def read_csv(
    local: Any, paths: Sequence[str], shown: Sequence[str], folder: Path
) -> tuple[list[str], Unreadable]:
    """Write copies of CSV files with the types that fit every line; say which lines fit none.

    `shown` has the names of the files for messages. Empty files are passed over.
    """
    both = [names for names in zip(paths, shown, strict=True) if Path(names[0]).stat().st_size]
    files = [_opened(local, *names, alone=len(paths) == 1) for names in both]
    _check_headers(files)
    surveys = [_surveyed(local, file) for file in files]
    files = [survey.file for survey in surveys]
    kinds = {name: _kind(surveys, name) for name in files[0].names}
    copies = []
    for i, file in enumerate(files):
        table = _text(local, file)
        table = table.filter(~_repeats(table, file.names))
        typed = [(name, kind) for name, kind in kinds.items() if kind is not None]
        # Blank text among numbers and times is no value.
        casts = {name: table[name].try_cast(kind) for name, kind in typed}
        target = str(folder / f"checked_{len(list(folder.iterdir()))}_{i}.parquet")
        local.con.sql(local.compile(table.mutate(**casts))).write_parquet(target)
        copies.append(target)
    return copies, sum((survey.unreadable for survey in surveys), Unreadable())


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


def _text(local: Any, file: _File) -> Any:
    """The lines of a file as text, but for those that DuckDB rejects, which it writes down."""
    for table in (REJECTS, SCANS):
        local.con.execute(f"DROP TABLE IF EXISTS {table}").fetchall()
    relation = read_as(
        local.con,
        file.path,
        file.form,
        dict.fromkeys(file.names, "VARCHAR"),
        store_rejects=True,
        rejects_table=REJECTS,
        rejects_scan=SCANS,
        rejects_limit=MOST_REJECTS,
    )
    relation.create_view("bascule_text", replace=True)
    return local.table("bascule_text")


def _repeats(table: Any, names: Sequence[str]) -> Any:
    """Whether a line has the names of the columns again, as in files that were put together."""
    import ibis

    same = reduce(and_, (table[name].fill_null("").strip() == name.strip() for name in names))
    # Few lines have the first name at all, and only these are looked at further.
    return ibis.ifelse(table[names[0]].contains(names[0].strip()), same, False).fill_null(False)


def _blank(entry: Any) -> Any:
    """Whether an entry is text that stands for no value."""
    return entry.strip().lower().isin(BLANK_TEXTS)


class _Survey(NamedTuple):
    """A file as it is best read, and what its lines are.

    `types` has the types of those columns that have entries, `misfits` how many entries do not fit
    a type, by column and type.
    """

    file: _File
    types: dict[str, str]
    misfits: dict[tuple[str, str], int]
    unreadable: Unreadable


def _surveyed(local: Any, file: _File) -> _Survey:
    """Look at every line of a file."""
    forms = [file.form]
    if not file.form["Quote"]:
        # Lines beyond those from which the form was detected may be the first to have quotes.
        forms.insert(0, file.form | {"Quote": '"', "Escape": '"'})
    for form in forms:
        attempt = replace(file, form=form)
        types, misfits, rows, headers = _fitted(local, attempt)
        rejects = _rejects(local)
        if not any(reject.kind == QUOTES for reject in rejects):
            break
    unreadable = replace(_unreadable(attempt, rejects, rows), headers=headers)
    return _Survey(attempt, types, misfits, unreadable)


def _fitted(local: Any, file: _File) -> tuple[dict[str, str], dict[tuple[str, str], int], int, int]:
    """Types of columns that have entries, how many do not fit them, rows, and repeated headers."""
    import ibis

    table = _text(local, file)
    repeats = _repeats(table, file.names)
    types = dict(zip(file.names, types_of(file.form), strict=True))
    # Columns that stay text are looked at too, for entries that are not in UTF-8.
    parts = {f"n{i}": table[name].count() for i, name in enumerate(types)}
    parts |= {"rows": table.count(), "headers": repeats.sum()}
    tried = [
        (name, kind) for name, one in types.items() for kind in CANDIDATES.get(frozenset({one}), ())
    ]
    for i, (name, kind) in enumerate(tried):
        text = table[name]
        fits = text.re_search(FITS[kind]) & text.try_cast(kind).notnull()
        # Few entries need more than the first test, and only these are looked at further.
        misfit = ibis.ifelse(fits, False, ~_blank(text) & ~repeats)
        if kind in ("int64", "float64"):
            misfit = ibis.ifelse(surely(text, kind), False, misfit)
        parts[f"x{i}"] = misfit.sum()
        if types[name] == "DOUBLE":
            # Whether 1.234 is a thousand or a little more than one is not DuckDB's to guess.
            parts |= points(text, str(i))
    (row,) = run(table.agg(**parts))
    return (
        {name: kind for i, (name, kind) in enumerate(types.items()) if row[f"n{i}"]},
        {
            key: max(int(row[f"x{i}"] or 0), unclear_points(row, str(i)))
            for i, key in enumerate(tried)
        },
        int(row["rows"]),
        int(row["headers"] or 0),
    )


def _kind(surveys: Sequence[_Survey], name: str) -> str | None:
    """The type that every entry of a column has in all files; None for text."""
    kinds = frozenset(survey.types[name] for survey in surveys if name in survey.types)
    for kind in CANDIDATES.get(kinds, ()):
        if not any(survey.misfits.get((name, kind)) for survey in surveys if name in survey.types):
            return kind
    return None


class _Reject(NamedTuple):
    """A line that DuckDB rejects, and why."""

    kind: str
    line: int
    text: str
    reason: str


def _rejects(local: Any) -> list[_Reject]:
    """The lines that were rejected since `_text`, each once."""
    rows = local.con.execute(
        "SELECT any_value(error_type), line, any_value(csv_line[:80]), max(error_message) "  # nosec B608
        f"FROM {REJECTS} GROUP BY line ORDER BY line"
    ).fetchall()
    return [_Reject(*row) for row in rows]


def _unreadable(file: _File, rejects: Sequence[_Reject], rows: int) -> Unreadable:
    """Count the lines with too few or too many columns; refuse a file with any other."""
    for one in rejects:
        if one.kind not in RAGGED:
            raise InputError(
                "events", f"cannot read line {one.line} of {file.shown}: {_reason(one)}"
            )
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
