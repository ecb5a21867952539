"""CSV files, of which every line is checked before it is used.

DuckDB takes the types of columns from the first lines of a file. Beyond these it stops at a text
among numbers, rounds 0.5 to a whole number and drops the zeros of 007; a zone among times without
one it drops anywhere. So it reads all lines as text, and writes down those that it cannot read. A
column then gets a type if every entry surely has it. Otherwise it stays text, which is read with
more care later on.
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
from bascule.core.errors import InputError

SNIFFED = 200_000
"""Lines of a CSV file from which its form is detected."""

SAMPLE = 1000
"""Lines that show first which types a column may have."""

SEPARATORS = ",;\t|"

OLDER, FEWEST_OLDER = "cp1252", 3
"""The encoding of files that are not in UTF-8, and the fewest lines that show it."""

EMPTY = "(empty)"
"""What DuckDB's CSV sniffer writes for a character that a file does not use."""

RAGGED = ("MISSING COLUMNS", "TOO MANY COLUMNS")
"""Kinds of lines that are excluded and counted; a file with any other broken line is refused."""

QUOTES, ENCODING = "UNQUOTED VALUE", "INVALID ENCODING"
REJECTS, SCANS = "bascule_rejects", "bascule_scans"
MOST_REJECTS = 100_000
MOST_EXAMPLES = 3

Form = dict[str, Any]
"""What DuckDB's sniffer found: the separator, the quotes, the columns."""


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
    """Make a view of CSV files with types that fit every line; say which lines were left out.

    `shown` has the names of the files for messages. Empty files are passed over. With `file_column`
    a column of that name has the name of each row's file, without its ending, unless the files have
    one already. What is returned first are the copies of the files that the view reads.
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
    # Blank text among numbers and times is no value.
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
    """Refuse files of one log that do not have the same columns."""
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
    """Write the lines of a file as text, but for those that DuckDB rejects; say which these are.

    With `file_column` each has the name of the file, without its ending, in a column of that name.
    """
    import duckdb

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
        f"line {reject.line} of {Path(file.shown).name}: {reject.text}"
        for reject in rejects[:MOST_EXAMPLES]
    )
    return places.Unreadable(len(rejects), examples, above=file.form["SkipRows"])


def _reason(reject: _Reject) -> str:
    if reject.kind == QUOTES:
        return f"a quote is not closed, or something follows it ({reject.text!r})"
    return places.first_line(ValueError(reject.reason))


def _repeats(table: Any, names: Sequence[str]) -> Any:
    """Whether a line has the names of the columns again, as in files that were put together."""
    import ibis

    repeats = reduce(and_, (table[name].fill_null("").strip() == name.strip() for name in names))
    # Few lines have the first name at all, and only these are looked at further.
    return ibis.ifelse(table[names[0]].contains(names[0].strip()), repeats, False).fill_null(False)


def _types(table: Any, names: Sequence[str]) -> dict[str, str]:
    """The types that all entries of columns surely have; a column of text has none."""
    tried = [(name, kind) for name in names for kind in places.KINDS]
    # Few types fit the first lines, and only these are tried on all of them.
    fitting = _fitting(table, _fitting(table.limit(SAMPLE), tried), least=1)
    types = dict(reversed(fitting))
    for name in [name for name, kind in types.items() if kind == "float64"]:
        # Whether 1.234 is a thousand or a little more than one is not to be guessed here.
        if places.unclear_points(places.run(table.agg(**places.points(table[name])))[0]):
            del types[name]
    return types


def _fitting(table: Any, tried: Sequence[tuple[str, str]], least: int = 0) -> list[tuple[str, str]]:
    """The pairs of a column and a type that all of its entries have, of which there are `least`."""
    import ibis

    sums: dict[str, Any] = {}
    for at, (name, kind) in enumerate(tried):
        entry, fits = table[name], places.surely(table[name], kind)
        present = entry.notnull() & ~entry.strip().lower().isin(places.BLANK_TEXTS)
        sums |= {f"n{at}": fits.sum(), f"x{at}": ibis.ifelse(fits, False, present).sum()}
    (row,) = places.run(table.agg(**sums)) if sums else [{}]
    counts = [(int(row[f"n{at}"] or 0), row[f"x{at}"]) for at in range(len(tried))]
    return [pair for pair, (n, odd) in zip(tried, counts, strict=True) if not odd and n >= least]


def in_utf8(name: str, folder: Path, encoding: str | None) -> str:
    """The file itself, or a copy in UTF-8 with plain ends of lines where that is needed.

    UTF-16 is recognised by its first two bytes; any other encoding has to be stated.
    """
    if encoding is None:
        with opened(name) as file:
            start = file.read(2)
        if start not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return name
        encoding = "utf-16"
    return plain_copy(name, folder, encoding)


def older_copies(names: Sequence[str], folder: Path) -> list[str] | None:
    """Copies of files that are in an older Western encoding; None if a few lines are broken.

    Such files have several lines that are not in UTF-8, and none beyond ASCII that is.
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
    """A copy of a text file in UTF-8 whose lines all end alike."""
    target = folder / f"{len(list(folder.iterdir()))}.csv"
    try:
        codecs.lookup(encoding)
        with (
            io.TextIOWrapper(opened(name), encoding) as text,
            target.open("w", encoding="utf-8", newline="\n") as copy,
        ):
            shutil.copyfileobj(text, copy)
    except LookupError:
        raise InputError(
            "encoding", f"encoding must be a name such as latin-1 or cp1252 (got {encoding!r})"
        ) from None
    except UnicodeError as problem:
        raise InputError("encoding", f"encoding: {name} is not {encoding}: {problem}") from None
    return str(target)


def opened(name: str) -> Any:
    """The bytes of a file, unpacked."""
    return gzip.open(name) if name.endswith(".gz") else Path(name).open("rb")


def headed(connection: Any, name: str, form: Form) -> list[str]:
    """The names of the columns of a file, as `_named` has them."""
    names = [column["name"] for column in form["Columns"]]
    if not form["HasHeader"]:
        return names
    text = dict.fromkeys(names, "VARCHAR")
    header = read_as(connection, name, form | {"HasHeader": False}, text, ignore_errors=True)
    # A part of the path that is written as "key=value" is a column behind those of the file.
    return _named(header.limit(1).fetchall()[0][: len(names)], names)


def form_of(connection: Any, name: str, *, headed: bool) -> Form:
    """The form of a file by its first lines, even where some of these are broken.

    `headed` says that the file begins with the names of its columns.
    """
    import duckdb

    options = ", header = true" * headed
    try:
        form = _sniffed(connection, name, options)
    except duckdb.Error:
        form = _sniffed(connection, name, f"{options}, ignore_errors = true")
    if len(form["Columns"]) == 1 and (start := _start_of_table(name)) is not None:
        # A file with broken lines, or lines around its table, passes for one with a single column.
        skip, sign = start
        options += f", ignore_errors = true, delim = '{sign}', skip = {skip}"
        form = _sniffed(connection, name, options)
    return form


def _start_of_table(name: str) -> tuple[int, str] | None:
    """How many lines stand above the table of a file, and what separates its columns.

    The table begins with the first line that has as many separators as any other of the first ones.
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
    """A file read with a form and with types that are known."""
    return connection.read_csv(
        # The reader takes names for patterns, so their special signs are escaped.
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
    """Names of columns; those that a header has twice are numbered, and neither has the bare name.

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
