"""Read CSV files, checking every line.

DuckDB detects the types of columns from the first lines of a file. After these it fails at text
among numbers, rounds 0.5 to a whole number and drops the zeros of 007; it always drops a time
zone among times without one. So all lines are read as text, and rejected lines are recorded. A
column then gets a type if every entry certainly has it. Otherwise it stays text, which is parsed
with more care later on.
"""

from __future__ import annotations

import codecs
import glob
import gzip
import io
import shutil
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, NamedTuple

from bascule.analysis.source import places
from bascule.core.errors import InputError, invalid

SNIFFED = 200_000
"""Number of lines from which the form of a CSV file is detected."""

SAMPLE = 1000
"""Number of first lines in which the possible types of a column are tried."""

SEPARATORS = ",;\t|"

OLDER, FEWEST_OLDER = "cp1252", 3
"""Encoding assumed for files that are not in UTF-8, and the minimum number of lines showing it."""

EMPTY = "(empty)"
"""What DuckDB's CSV sniffer writes for a character that a file does not use."""

RAGGED = ("MISSING COLUMNS", "TOO MANY COLUMNS")
"""Kinds of rejected lines that are excluded and counted; any other kind is an error."""

QUOTES, ENCODING = "UNQUOTED VALUE", "INVALID ENCODING"
REJECTS, SCANS = "bascule_rejects", "bascule_scans"
MOST_REJECTS = 100_000
MOST_EXAMPLES = 3

Form = dict[str, Any]
"""Result of DuckDB's sniffer: separator, quotes, columns."""


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
    local: Any,
    paths: Sequence[str],
    shown: Sequence[str],
    folder: Path,
    view: str,
    file_column: str | None = None,
) -> tuple[list[str], places.Unreadable]:
    """Create a view of CSV files with types that fit every line.

    Return the copies of the files that the view reads, and the lines that were left out. `shown`
    has the names of the files for messages. Empty files are skipped. With `file_column`, a column
    of that name has the name of each row's file, without its ending, unless the files have such a
    column already.
    """
    named = [names for names in zip(paths, shown, strict=True) if Path(names[0]).stat().st_size]
    files = [_opened(local, *names, alone=len(paths) == 1) for names in named]
    _check_headers(files)
    place = folder / f"checked_{len(list(folder.iterdir()))}"
    copies = [f"{place}_{at}.parquet" for at in range(len(files))]
    added = None if file_column in files[0].names else file_column
    read = [_copied(local, *pair, added) for pair in zip(files, copies, strict=True)]
    unreadable = sum(read, places.Unreadable())
    names = files[0].names
    local.con.read_parquet(copies, union_by_name=True).create_view(f"{view}_text", replace=True)
    table = local.table(f"{view}_text")
    repeats = _repeats(table, names)
    headers = int(places.run(table.agg(headers=repeats.sum()))[0]["headers"] or 0)
    table = table.filter(~repeats) if headers else table
    # Blank text among numbers and times is a missing value.
    casts = {name: table[name].try_cast(kind) for name, kind in _types(table, names).items()}
    local.con.sql(local.compile(table.mutate(**casts))).create_view(view, replace=True)
    return copies, unreadable + places.Unreadable(headers=headers)


def _opened(local: Any, path: str, shown: str, *, alone: bool) -> _File:
    import duckdb

    try:
        form = form_of(local.con, path, headed=not alone)
        return _File(path, shown, form, headed(local.con, path, form))
    except duckdb.Error as problem:
        if alone:
            raise
        raise InputError("events", f"cannot read {shown}: {places.first_line(problem)}") from None


def _check_headers(files: Sequence[_File]) -> None:
    """Raise an error if the files of a log do not have the same columns."""
    first = files[0]
    for file in files[1:]:
        parts = []
        if lacking := [name for name in first.names if name not in file.names]:
            parts.append(f"lacks {', '.join(map(repr, lacking))}")
        if unknown := [name for name in file.names if name not in first.names]:
            parts.append(f"has {', '.join(map(repr, unknown))} besides")
        if parts:
            raise InputError(
                "events",
                "the files of a log must have the same columns, in any order: line "
                f"{file.form['SkipRows'] + 1} of {file.shown} {' and '.join(parts)}, unlike "
                f"{first.shown}",
            )


def _copied(local: Any, file: _File, target: str, file_column: str | None) -> places.Unreadable:
    """Write the lines of a file as text, except those that DuckDB rejects; return the latter.

    With `file_column`, a column of that name has the name of the file, without its ending.
    """
    import duckdb

    forms = [file.form]
    if not file.form["Quote"]:
        # Quotes may first appear after the lines from which the form was detected.
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
        if file_column is not None:
            stem = duckdb.ConstantExpression(Path(file.shown.removesuffix(".gz")).stem)
            lines = lines.select(duckdb.StarExpression(), stem.alias(file_column))
        lines.write_parquet(target)
        rows = local.con.execute(
            "SELECT any_value(error_type), line, any_value(csv_line[:80]), max(error_message) "  # nosec B608
            f"FROM {REJECTS} GROUP BY line ORDER BY line"
        ).fetchall()
        rejects = [_Reject(*row) for row in rows]
        if not any(reject.kind == QUOTES for reject in rejects):
            break
    return _unreadable(file, rejects, len(local.con.read_parquet(target)))


def _unreadable(file: _File, rejects: Sequence[_Reject], rows: int) -> places.Unreadable:
    """Count the lines with too few or too many columns; raise an error for other rejects."""
    for one in rejects:
        if one.kind not in RAGGED:
            kind = EncodingError if one.kind == ENCODING else InputError
            raise kind("events", f"cannot read line {one.line} of {file.shown}: {_reason(one)}")
    if len(rejects) > rows or len(rejects) >= MOST_REJECTS:
        one = rejects[0]
        raise InputError(
            "events",
            f"cannot read {file.shown}: {len(rejects):,} of its lines do not have the "
            f"{len(file.names)} columns of its first line, for example line {one.line}, "
            f"{one.text!r}",
        )
    examples = tuple(
        f"line {reject.line} of {Path(file.shown).name}: {reject.text}"
        for reject in rejects[:MOST_EXAMPLES]
    )
    return places.Unreadable(len(rejects), examples, above=file.form["SkipRows"])


def _reason(reject: _Reject) -> str:
    if reject.kind == QUOTES:
        return f"a quote is not closed, or something follows it ({reject.text!r})"
    return places.first_line(ValueError(reject.reason))


def _repeats(table: Any, names: Sequence[str]) -> Any:
    """Return whether a line repeats the names of the columns, as in concatenated files."""
    import ibis

    repeats = reduce(and_, (table[name].fill_null("").strip() == name.strip() for name in names))
    # Few lines contain the first name at all; only these are compared in full.
    return ibis.ifelse(table[names[0]].contains(names[0].strip()), repeats, False).fill_null(False)


def _types(table: Any, names: Sequence[str]) -> dict[str, str]:
    """Return the types that all entries of a column certainly have; text columns are left out."""
    tried = [(name, kind) for name in names for kind in places.KINDS]
    # Few types fit the first lines, and only these are tried on all lines.
    fitting, rows = _fitting(table.limit(SAMPLE), tried)
    if rows == SAMPLE:
        fitting, _ = _fitting(table, list(fitting))
    types = {name: kind for (name, kind), entries in reversed(fitting.items()) if entries}
    for name in [name for name, kind in types.items() if kind == "float64"]:
        # Whether 1.234 is above a thousand or a little more than one must not be guessed here.
        if places.unclear_points(places.run(table.agg(**places.points(table[name])))[0]):
            del types[name]
    return types


def _fitting(
    table: Any, tried: Sequence[tuple[str, str]]
) -> tuple[dict[tuple[str, str], int], int]:
    """Return the number of entries for each (column, type) pair that fits all, and that of rows.

    Blank text is no entry, and fits no type.
    """
    sums: dict[str, Any] = {"rows": table.count()}
    columns = list(dict.fromkeys(name for name, _ in tried))
    for at, name in enumerate(columns):
        blank = table[name].strip().lower().isin(places.BLANK_TEXTS)
        sums[f"entries{at}"] = (table[name].notnull() & ~blank).sum()
    for at, (name, kind) in enumerate(tried):
        sums[f"fits{at}"] = places.surely(table[name], kind).sum()
    (row,) = places.run(table.agg(**sums))
    entries = {name: int(row[f"entries{at}"] or 0) for at, name in enumerate(columns)}
    fitting = {
        pair: entries[pair[0]]
        for at, pair in enumerate(tried)
        if entries[pair[0]] == int(row[f"fits{at}"] or 0)
    }
    return fitting, row["rows"]


def in_utf8(name: str, folder: Path, encoding: str | None) -> str:
    """Return the file itself, or if needed a copy in UTF-8 with uniform line endings.

    UTF-16 is recognised by its byte order mark; any other encoding has to be stated.
    """
    if encoding is None:
        with opened(name) as file:
            start = file.read(2)
        if start not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return name
        encoding = "utf-16"
    return plain_copy(name, folder, encoding)


def older_copies(names: Sequence[str], folder: Path) -> list[str] | None:
    """Return copies in UTF-8 of files in an older Western encoding; None if they are not in it.

    In the older encoding no line with other characters than ASCII is valid UTF-8, and there are
    several such lines. Otherwise a few lines of a file in UTF-8 are broken.
    """
    for name in names:
        with opened(name) as file:
            lines = [line for line in file if not line.isascii()]
        if any(_is_utf8(line) for line in lines) or 0 < len(lines) < FEWEST_OLDER:
            return None
    return [plain_copy(name, folder, OLDER) for name in names]


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def plain_copy(name: str, folder: Path, encoding: str = "utf-8-sig") -> str:
    """Return a copy of a text file in UTF-8 with uniform line endings."""
    target = folder / f"{len(list(folder.iterdir()))}.csv"
    try:
        codecs.lookup(encoding)
        with (
            io.TextIOWrapper(opened(name), encoding) as text,
            target.open("w", encoding="utf-8", newline="\n") as copy,
        ):
            shutil.copyfileobj(text, copy)
    except LookupError:
        raise invalid(
            f"encoding must be a name such as latin-1 or cp1252 (got {encoding!r})"
        ) from None
    except UnicodeError as problem:
        raise invalid(f"encoding: {name} is not {encoding}: {problem}") from None
    return str(target)


def opened(name: str) -> Any:
    """Open a file for reading bytes, decompressed."""
    return gzip.open(name) if name.endswith(".gz") else Path(name).open("rb")


def headed(connection: Any, name: str, form: Form) -> list[str]:
    """Return the names of the columns of a file; repeated names are numbered."""
    names = [column["name"] for column in form["Columns"]]
    if not form["HasHeader"]:
        return names
    text = dict.fromkeys(names, "VARCHAR")
    header = read_as(connection, name, form | {"HasHeader": False}, text, ignore_errors=True)
    # Parts of the path written as "key=value" are appended as columns.
    return _named(header.limit(1).fetchall()[0][: len(names)], names)


def form_of(connection: Any, name: str, *, headed: bool) -> Form:
    """Return the form of a file, detected from its first lines even if some of these are broken.

    `headed` says that the file begins with the names of its columns.
    """
    import duckdb

    options = ", header = true" * headed
    try:
        form = _sniffed(connection, name, options)
    except duckdb.Error:
        form = _sniffed(connection, name, f"{options}, ignore_errors = true")
    if len(form["Columns"]) == 1 and (start := _start_of_table(name)) is not None:
        # A file with broken lines, or lines around its table, may seem to have a single column.
        skip, sign = start
        options += f", ignore_errors = true, delim = '{sign}', skip = {skip}"
        form = _sniffed(connection, name, options)
    return form


def _start_of_table(name: str) -> tuple[int, str] | None:
    """Return the number of lines above the table of a file, and its column separator.

    The table begins with the first line that has the maximum number of separators.
    """
    with opened(name) as file:
        lines = file.read(1 << 16).decode("latin-1").splitlines()[:100]
    for sign in SEPARATORS:
        counts = [line.count(sign) for line in lines]
        widest = max(counts, default=0)
        if widest and sum(count == widest for count in counts) > 1:
            return counts.index(widest), sign
    return None


def _sniffed(connection: Any, name: str, options: str) -> Form:
    sniffed = connection.execute(
        f"FROM sniff_csv(?, sample_size = ?{options})",  # nosec B608 - options are fixed texts
        [glob.escape(name), SNIFFED],
    )
    columns = [column[0] for column in sniffed.description]
    (values,) = sniffed.fetchall()
    return {
        column: "" if value == EMPTY else value
        for column, value in zip(columns, values, strict=True)
    }


def read_as(connection: Any, name: str, form: Form, types: dict[str, str], **options: Any) -> Any:
    """Read a file with a known form and known types."""
    return connection.read_csv(
        # The reader treats names as patterns, so special characters are escaped.
        glob.escape(name),
        auto_detect=False,
        delimiter=form["Delimiter"],
        quotechar=form["Quote"],
        escapechar=form["Escape"],
        comment=form["Comment"],
        skiprows=form["SkipRows"],
        header=form["HasHeader"],
        columns=types,
        **options,
    )


def _named(header: Sequence[str | None], names: Sequence[str]) -> list[str]:
    """Return the names of columns; names that occur twice are both numbered.

    >>> _named(["user", "Sales", "sales"], ["user", "Sales", "sales_1"])
    ['user', 'Sales (1)', 'sales (2)']
    """
    plain = [(name or "").strip().casefold() for name in header]
    often, so_far = Counter(plain), Counter[str]()
    titles = []
    for title, key, name in zip(header, plain, names, strict=True):
        so_far[key] += 1
        twice = key and often[key] > 1
        titles.append(f"{(title or '').strip()} ({so_far[key]})" if twice else name)
    return titles
