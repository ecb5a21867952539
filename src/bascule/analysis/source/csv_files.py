"""CSV files as people export them: the form of a file is detected once, and said where in doubt."""

from __future__ import annotations

import codecs
import glob
import gzip
import io
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bascule.core.errors import InputError

SNIFFED = 200_000
"""Lines of a CSV file from which its form is detected."""

SEPARATORS = ",;\t|"

OLDER, FEWEST_OLDER = "cp1252", 3
"""The encoding of files that are not in UTF-8, and the fewest lines that show it."""

EMPTY = "(empty)"
"""What DuckDB's CSV sniffer writes for a character that a file does not use."""

Form = dict[str, Any]
"""What DuckDB's sniffer found: the separator, the quotes, the columns."""


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
        most = max(counts, default=0)
        if most and sum(count == most for count in counts) > 1:
            return counts.index(most), sign
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
    plain = [(one or "").strip().casefold() for one in header]
    often, so_far = Counter(plain), Counter[str]()
    titles = []
    for title, key, name in zip(header, plain, names, strict=True):
        so_far[key] += 1
        twice = key and often[key] > 1
        titles.append(f"{(title or '').strip()} ({so_far[key]})" if twice else name)
    return titles
