"""Files of a log: which ones a path means, and how each form is read."""

from __future__ import annotations

import glob
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bascule.analysis.source.csv_files import (
    OLDER,
    EncodingError,
    in_utf8,
    older_copies,
    plain_copy,
    read_csv,
)
from bascule.analysis.source.places import Connections, Source, Unreadable, first_line
from bascule.core.errors import InputError

FORMS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
"""Endings of files that can be read, and how."""

SHEET = "save the sheet as CSV, or read it with pandas and give the data frame"
HINTS = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), SHEET),
    **dict.fromkeys((".txt", ".dat", ".log"), "if it has columns, rename it to end in .csv"),
    **dict.fromkeys((".zip", ".bz2", ".xz", ".tar"), "unpack it first"),
    **dict.fromkeys((".feather", ".arrow", ".orc"), "give it as a dataset of pyarrow"),
}
"""What to do with files of other endings."""


def files_of(path: Path, field: str) -> tuple[list[str], str]:
    """The files that a path or a pattern means, as absolute paths, and their form.

    A file of exactly that name is meant literally, whatever signs of a pattern its name has.
    """
    text = str(path)
    form = form_of(path)
    if path.is_dir():
        names, form = _files_in(path, field)
    elif path.exists():
        names = [text]
    elif any(sign in text for sign in "*?["):
        names = sorted(glob.glob(text, recursive=True, include_hidden=True))
        if not names:
            raise InputError(field, f"{field}: no file matches {path}")
    else:
        raise InputError(field, f"{field}: there is no file {path}")
    if form is None:
        known = ", ".join(sorted(FORMS))
        advice = HINTS.get(path.suffix.lower(), "rename it")
        raise InputError(
            field, f"{field}: {path} has no ending that says what it is ({known}): {advice}"
        )
    if len(names) == 1 and Path(names[0]).stat().st_size == 0:
        raise InputError(field, f"{field}: {path} is empty")
    return [str(Path(name).absolute()) for name in names], form


def _files_in(folder: Path, field: str) -> tuple[list[str], str]:
    """The files of a folder that can be read, which must all be of one form, and that form."""
    by_form: dict[str, list[str]] = {}
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        if (form := form_of(file)) is not None:
            by_form.setdefault(form, []).append(str(file))
    if len(by_form) != 1:
        counts = ", ".join(f"{len(names)} {form}" for form, names in by_form.items()) or "none"
        raise InputError(
            field,
            f"{field}: the folder {folder} must have files of one form, Parquet, CSV or JSON (it "
            f"has {counts}): name one",
        )
    ((form, names),) = by_form.items()
    return names, form


def form_of(path: Path) -> str | None:
    """Return how a file is read by its ending; None where that says nothing."""
    endings = [ending for ending in path.suffixes if ending != ".gz"]
    return FORMS.get(endings[-1].lower()) if endings else None


def read_files(
    opened: Connections, names: Sequence[str], form: str, source: Source
) -> tuple[Any, list[str]]:
    """Files as a table, and those that are really read: a copy where a text has to be converted.

    DuckDB's own readers do it: no statement is put together from what the files hold.
    """
    import duckdb

    if form == "csv":
        read = partial(_read_csv, opened, names, source)
    elif source.encoding is not None:
        raise InputError("encoding", f"encoding goes with CSV files: {source.shown} is none")
    else:
        read = partial(_read_typed, opened, names, form, source.field)
    try:
        return read()
    except (duckdb.Error, UnicodeError, OSError, EOFError, zlib.error) as problem:
        raise InputError(
            source.field, f"{source.field}: cannot read {source.place}: {first_line(problem)}"
        ) from None


def _read_csv(opened: Connections, names: Sequence[str], source: Source) -> tuple[Any, list[str]]:
    """CSV files, or rather a copy of them in which every line has been checked."""
    import duckdb

    local, folder = opened.local, opened.folder
    used, view = (
        [in_utf8(name, folder, source.encoding) for name in names],
        f"bascule_{source.field}",
    )
    note = Unreadable()
    try:
        copies, unreadable = read_csv(local, used, names, folder, view)
    except EncodingError:
        older = older_copies(used, folder)
        if older is None:
            raise
        note = Unreadable(encoding=OLDER)
        copies, unreadable = read_csv(local, older, names, folder, view)
    except duckdb.Error:
        # The usual reason is a mix of line endings.
        used = [plain_copy(name, folder) for name in used]
        copies, unreadable = read_csv(local, used, names, folder, view)
    opened.unreadable[source.field] = unreadable + note
    return local.table(view), copies


def _read_typed(
    opened: Connections, names: Sequence[str], form: str, field: str
) -> tuple[Any, list[str]]:
    # The reader takes names for patterns, so their special signs are escaped.
    connection, literal = opened.local.con, [glob.escape(name) for name in names]
    relation = (
        connection.read_parquet(literal, union_by_name=True)
        if form == "parquet"
        else connection.read_json(literal)
    )
    relation.create_view(f"bascule_{field}", replace=True)
    return opened.local.table(f"bascule_{field}"), list(names)
