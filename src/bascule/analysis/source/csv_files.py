"""CSV files as people export them: the form of a file is detected once, and said where in doubt."""

from __future__ import annotations

import codecs
import gzip
import io
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bascule.core.errors import InputError

SNIFFED = 200_000
"""Lines of a CSV file from which its types are detected."""

DATE_TYPES = ("DATE", "TIMESTAMP")

EMPTY = "(empty)"
"""What DuckDB's CSV sniffer writes for a character that a file does not use."""

Form = dict[str, Any]
"""What DuckDB's sniffer found: the separator, the columns, the forms of dates."""


def in_utf8(name: str, folder: Path, encoding: str | None) -> str:
    """The file itself, or a copy in UTF-8 with plain ends of lines where that is needed.

    UTF-16 is recognised by its first two bytes; any other encoding has to be stated.
    """
    if encoding is None:
        with _opened(name) as file:
            start = file.read(2)
        if start not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return name
        encoding = "utf-16"
    return plain_copy(name, folder, encoding)


def plain_copy(name: str, folder: Path, encoding: str = "utf-8-sig") -> str:
    """A copy of a text file in UTF-8 whose lines all end alike."""
    target = folder / f"{len(list(folder.iterdir()))}.csv"
    try:
        codecs.lookup(encoding)
        with (
            io.TextIOWrapper(_opened(name), encoding) as text,
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


def _opened(name: str) -> Any:
    return gzip.open(name) if name.endswith(".gz") else Path(name).open("rb")


def read_many_csv(connection: Any, names: Sequence[str]) -> Any:
    """Several CSV files; dates that do not begin with the year stay text."""
    relation = connection.read_csv(names, header=True, sample_size=SNIFFED)
    dates = [c for c, t in zip(relation.columns, relation.types, strict=True) if t in DATE_TYPES]
    if not dates:
        return relation
    form = _form_of(connection, names[0])
    if not _is_doubtful({name: form[name] for name in ("DateFormat", "TimestampFormat")}):
        return relation
    texts = dict.fromkeys(dates, "VARCHAR")
    return connection.read_csv(names, header=True, sample_size=SNIFFED, dtype=texts)


def read_csv(connection: Any, name: str) -> Any:
    """One CSV file, whose form is detected once; DuckDB would detect it anew for every query."""
    import duckdb

    try:
        form = _form_of(connection, name)
    except (duckdb.Error, ValueError, TypeError):
        # Where the form cannot be detected, DuckDB reads it its own way or says what is wrong.
        return connection.read_csv(name, header=True, sample_size=SNIFFED)
    formats = {"date_format": form["DateFormat"], "timestamp_format": form["TimestampFormat"]}
    types = {column["name"]: column["type"] for column in form["Columns"]}
    if _is_doubtful(formats):
        # Whether a day or a month comes first is not DuckDB's to guess.
        types = {c: "VARCHAR" if t in DATE_TYPES else t for c, t in types.items()}
        formats = {}
    formats = {name: value for name, value in formats.items() if value}
    if form["HasHeader"]:
        header = _read_as(connection, name, form, dict.fromkeys(types, "VARCHAR"), header=False)
        # A part of the path that is written as "key=value" is a column behind those of the file.
        titles = header.limit(1).fetchall()[0][: len(types)]
        types = dict(zip(_named(titles, types), types.values(), strict=True))
    return _read_as(connection, name, form, types, header=form["HasHeader"], **formats)


def _form_of(connection: Any, name: str) -> Form:
    sniffed = connection.execute("FROM sniff_csv(?, sample_size = ?)", [name, SNIFFED])
    columns = [column[0] for column in sniffed.description]
    (values,) = sniffed.fetchall()
    return {
        column: "" if value == EMPTY else value
        for column, value in zip(columns, values, strict=True)
    }


def _read_as(connection: Any, name: str, form: Form, types: dict[str, str], **options: Any) -> Any:
    return connection.read_csv(
        name,
        auto_detect=False,
        delimiter=form["Delimiter"],
        quotechar=form["Quote"],
        escapechar=form["Escape"],
        comment=form["Comment"],
        skiprows=form["SkipRows"],
        columns=types,
        **options,
    )


def _named(header: Sequence[str | None], names: Sequence[str] | dict[str, str]) -> list[str]:
    """Names of columns; those that a header has twice are numbered, and neither has the bare name.

    >>> _named(["user", "Sales", "sales"], ["user", "Sales", "sales_1"])
    ['user', 'Sales (1)', 'sales (2)']
    """
    plain = [(one or "").strip().casefold() for one in header]
    often, so_far = Counter(plain), Counter[str]()
    found = []
    for title, key, name in zip(header, plain, names, strict=True):
        so_far[key] += 1
        twice = key and often[key] > 1
        found.append(f"{(title or '').strip()} ({so_far[key]})" if twice else name)
    return found


def _is_doubtful(formats: dict[str, str]) -> bool:
    """Whether dates in a CSV file do not begin with the year."""
    return any(form and not form.startswith("%Y") for form in formats.values())
