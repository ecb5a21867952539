"""Write files completely or not at all, and check in advance that they can be written."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from bascule.core.errors import InputError, invalid

CsvRow = Mapping[str, str | int | float]
"""Row of a table: values by the names of the columns."""


def prepare_folder(folder: Path) -> None:
    """Create a folder and its parents; raise `InputError` if no files can be written to it."""
    if not str(folder).strip() or str(folder) == ".":
        raise invalid("out must name a folder: give one that has no other use")
    if folder.exists() and not folder.is_dir():
        raise invalid(f"out must be a folder ({folder} is a file): give another name")
    with writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / ".bascule", b"").unlink()


def prepare_file(field: str, path: Path) -> None:
    """Raise `InputError` if a file cannot be written; nothing is written."""
    if path.is_dir():
        raise InputError(field, f"{field} must name a file ({path} is a folder)")
    if not path.parent.is_dir():
        raise InputError(field, f"{field} cannot be {path}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(field, f"{field} cannot be {path}: you have no permission to write it")


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Turn operating system errors about a folder into an `InputError`."""
    try:
        yield
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise InputError(
            "out", f"cannot write to {folder} ({reason}): give another folder"
        ) from None


@contextmanager
def replacing(path: Path, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path that is renamed to `path` on success, and removed otherwise.

    A `private` file can be read by its owner only. A database may have further files beside the
    temporary path, which are removed too.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    made = Path(name)
    try:
        yield made
        if not private:
            made.chmod(0o666 & ~_umask())
        made.replace(path)
    finally:
        for part in ("", "-wal", "-shm", "-journal"):
            Path(f"{made}{part}").unlink(missing_ok=True)


def write_whole(path: Path, data: bytes) -> Path:
    """Write a file completely or not at all."""
    if path.exists() and not path.is_file():
        # A pipe or a device, such as /dev/stdout, cannot be replaced.
        path.write_bytes(data)
        return path
    with replacing(path) as made:
        made.write_bytes(data)
    return path


def csv_text(rows: Sequence[CsvRow]) -> str:
    """Return rows with the same columns as CSV text.

    >>> print(csv_text([{"rule": "ETC", "regret": 15.0}]), end="")
    rule,regret
    ETC,15
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([_written(value) for value in row.values()] for row in rows)
    return text.getvalue()


def _written(value: str | int | float) -> str:
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _umask() -> int:
    # The umask can be read only by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
