"""The ledger of a steered test: the shares in force over time, and the units that were counted.

It is a file of JSON lines that only grows. A line that ends without a line break was being written
when the run was killed: it is removed before the next one is added.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from bascule.core.errors import InputError

Shares = Mapping[str, float]
"""The share of the traffic that each arm gets."""

Row = dict[str, Any]
"""A line of the ledger; `what` is its kind, and `at` the time at which it was written."""

HAND = "hand"
"""Author, in the ledger, of a change of the shares that somebody made by hand."""


def read_time(text: str) -> datetime:
    """Return a time of the ledger."""
    return datetime.fromisoformat(text).astimezone(UTC)


@dataclass(frozen=True, slots=True)
class Period:
    """A period of constant shares, which split all units with a first exposure in that period."""

    since: datetime
    until: datetime | None
    """End of the period; None while the shares are in force."""
    shares: Shares


@dataclass(frozen=True, slots=True)
class CountedPart:
    """A part of a period, with the sums of the units that were counted in it.

    `sums` has, for each arm, its units and the total of their outcomes for each metric.
    """

    since: datetime
    until: datetime
    shares: Shares
    sums: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def units_of(self, arm: str) -> int:
        """Return the number of units of an arm."""
        return int(self.sums[arm][0])

    @property
    def units(self) -> int:
        """Number of units of all arms."""
        return sum(map(self.units_of, self.sums))


@dataclass(slots=True)
class Ledger:
    """The lines of a ledger, and the open file if lines may be added."""

    path: Path
    rows: list[Row]
    file: IO[bytes] | None = None

    def add(self, kind: str, at: datetime, **parts: Any) -> None:
        """Add a line and wait until it is on disk; without an open file, keep it in memory only."""
        row = {"what": kind, "at": at.isoformat(), **parts}
        self.rows.append(row)
        if self.file is not None:
            self.file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            self.file.flush()
            os.fsync(self.file.fileno())

    def latest(self, *kinds: str) -> Row | None:
        """Return the last line that is of one of these kinds; None if there is none."""
        return next((row for row in reversed(self.rows) if row["what"] in kinds), None)

    @property
    def periods(self) -> list[Period]:
        """The periods of constant shares, in order; between two periods shares were changing."""
        rows = [row for row in self.rows if row["what"] == "in force"]
        ends = [*(read_time(row["until"]) for row in rows[1:]), None]
        return [
            Period(read_time(row["since"]), ends[place], row["shares"])
            for place, row in enumerate(rows)
        ]

    @property
    def pending(self) -> Row | None:
        """The last intent to write shares, if its outcome is not in the ledger; else None."""
        row = self.latest("intent", "in force", "void")
        return row if row is not None and row["what"] == "intent" else None

    @property
    def verified(self) -> datetime:
        """Time at which the flag tool was last seen to have the shares in force."""
        row = self.latest("in force", "checked")
        assert row is not None
        return read_time(row["at"])

    @property
    def is_by_hand(self) -> bool:
        """Whether somebody else has set the shares, and the test has not been resumed."""
        row = self.latest("in force", "resumed")
        return row is not None and row.get("by") == HAND

    @property
    def blocks(self) -> list[CountedPart]:
        """The parts of periods that were counted, in order, with the sums of the latest reading."""
        latest = {row["number"]: row for row in self.rows if row["what"] == "block"}
        return [
            CountedPart(
                read_time(row["since"]),
                read_time(row["until"]),
                row["shares"],
                {arm: tuple(sums) for arm, sums in row["sums"].items()},
            )
            for row in latest.values()
        ]


@contextmanager
def open_ledger(path: Path, *, dry_run: bool = False) -> Iterator[Ledger]:
    """Open the ledger of a test; only one run at a time may write to it.

    A dry run only reads it, even while another run is under way.
    """
    if dry_run:
        data = path.read_bytes() if path.exists() else b""
        yield Ledger(path, _rows(path, data[: data.rfind(b"\n") + 1]))
        return
    import fcntl

    with path.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                "test",
                f"another run of this test is under way (it holds {path}): nothing was done; "
                "leave more time between two runs",
                kind="conflict",
            ) from None
        file.seek(0)
        data = file.read()
        complete = data.rfind(b"\n") + 1
        file.truncate(complete)
        yield Ledger(path, _rows(path, data[:complete]), file)


def _rows(path: Path, data: bytes) -> list[Row]:
    """Return the lines of a ledger; raise `InputError` if the file is not a ledger."""
    rows = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            row = json.loads(line)
            read_time(row["at"])
            rows.append({**row, "what": str(row["what"])})
        except (ValueError, KeyError, TypeError):
            raise InputError(
                "ledger",
                f"{path} is not the ledger of a test (line {number}): restore it from a copy; "
                "without it nobody knows which shares were in force",
            ) from None
    return rows
