"""Check a store without changing it: integrity, version, clock, disk, experiments, orphan rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import time

from sqlalchemy import Connection

from bascule.core.errors import InputError, StoreError
from bascule.live.clock import TOLERANCE, moment
from bascule.live.reports.verification.row_checks import (
    Findings,
    check_orphans,
    check_state,
    reason,
)
from bascule.live.reports.verification.verify import verify
from bascule.live.storage import queries, statements
from bascule.live.storage.databases.database import Database
from bascule.live.storage.databases.sqlite import LOST_LOG, has_lost_log
from bascule.live.storage.schema import VERSION, schema_problems
from bascule.live.storage.state_json import DAMAGE

LEAST_FREE = 200 * 2**20
"""Minimum free space on the disk of a SQLite file, in bytes."""

LARGEST_LOG = 256 * 2**20
"""Size of a SQLite file's log, in bytes, above which a reader is assumed to keep it large."""


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """Result of one check of a store: whether all is well, and what was found or what to do."""

    name: str
    ok: bool
    detail: str

    def __str__(self) -> str:
        return f"{'ok' if self.ok else 'PROBLEM':<9}{self.name:<13}{self.detail}"


def doctor(location: str | Path, *, full: bool = False) -> tuple[StoreCheck, ...]:
    """Check a store; with `full`, also recompute every experiment from its log.

    It never changes a store.
    """
    location = str(location)
    if "://" not in location and not Path(location).is_file():
        raise InputError("store", f"there is no store {location}: check the path (--store)")
    try:
        database = Database(location, make=False)
    except (StoreError, InputError) as problem:
        return (StoreCheck("open", False, str(problem)),)
    with closing(database):
        return tuple(_checks(database, location, full))


def _checks(database: Database, location: str, full: bool) -> Iterator[StoreCheck]:
    try:
        version = database.version()
    except (StoreError, InputError) as problem:
        yield StoreCheck("open", False, str(problem))
        return
    if version is None and database.is_sqlite and has_lost_log(Path(location)):
        yield StoreCheck("version", False, LOST_LOG.format(location))
        return
    yield _version(version)
    if database.is_sqlite:
        yield _tried("integrity", lambda: _integrity(database))
        yield _disk(Path(location))
    yield _tried("writing", lambda: _writable(database))
    if version != VERSION:
        # The other checks need the tables of this version.
        return
    try:
        with database.reporting() as connection:
            problems = schema_problems(connection)
            detail = "; ".join(problems)[:300] or "all tables, columns and triggers are there"
            yield StoreCheck("tables", not problems, detail)
            if problems:
                return
            yield _clock(connection)
            yield _orphans(connection)
            yield from _experiments(connection, full)
    except StoreError as problem:
        yield StoreCheck("reading", False, str(problem))


def _tried(name: str, check: Callable[[], StoreCheck]) -> StoreCheck:
    try:
        return check()
    except StoreError as problem:
        return StoreCheck(name, False, str(problem))


def _version(version: str | None) -> StoreCheck:
    if version == VERSION:
        return StoreCheck("version", True, f"the tables have version {version}, as expected")
    if version is None:
        return StoreCheck("version", False, "there are no tables: it is empty")
    return StoreCheck(
        "version", False, f"the tables have {version}, but this bascule has {VERSION}"
    )


def _integrity(database: Database) -> StoreCheck:
    with database.reporting() as connection:
        said = [str(row[0]) for row in statements.fetch(connection, "PRAGMA integrity_check(5)")]
    if said == ["ok"]:
        return StoreCheck("integrity", True, "every page of the file can be read")
    return StoreCheck("integrity", False, f"{'; '.join(said)[:300]}: restore a backup")


def _disk(path: Path) -> StoreCheck:
    free = shutil.disk_usage(path.absolute().parent).free
    log = Path(f"{path}-wal")
    log_size = log.stat().st_size if log.is_file() else 0
    size = path.stat().st_size
    shown = f"{_bytes(size)} in the file, {_bytes(log_size)} in its log, {_bytes(free)} free"
    if free < LEAST_FREE or free < size:
        return StoreCheck("disk", False, f"{shown}: make room, a copy needs as much as the file")
    if log_size > LARGEST_LOG:
        return StoreCheck("disk", False, f"{shown}: a program that reads keeps the log large")
    return StoreCheck("disk", True, shown)


def _writable(database: Database) -> StoreCheck:
    database.check_writable()
    return StoreCheck("writing", True, "it can be written")


def _clock(connection: Connection) -> StoreCheck:
    now, database_time = time(), statements.database_time(connection)
    if database_time is not None and abs(now - database_time) > TOLERANCE:
        apart = f"{abs(now - database_time):,.0f} s"
        return StoreCheck("clock", False, f"this machine and the database differ by {apart}")
    ahead = [
        f"{loaded.name} ({moment(loaded.state.enrolment.latest):%Y-%m-%d %H:%M} UTC)"
        for loaded in _readable(connection)
        if loaded.state.clock != "given" and loaded.state.enrolment.latest > now + TOLERANCE
    ]
    if ahead:
        return StoreCheck(
            "clock", False, f"it is behind the last units of {', '.join(ahead)}: set it right"
        )
    return StoreCheck("clock", True, f"{moment(now):%Y-%m-%d %H:%M:%S} UTC, after all times in it")


def _orphans(connection: Connection) -> StoreCheck:
    findings = Findings()
    check_orphans(connection, findings)
    if rows := findings.all():
        return StoreCheck("orphan rows", False, "; ".join(rows)[:300])
    return StoreCheck("orphan rows", True, "every row belongs to an experiment")


def _experiments(connection: Connection, full: bool) -> Iterator[StoreCheck]:
    """Check that each experiment can be read, and if `full` recompute it."""
    count, sound = 0, True
    for number, name, *_ in queries.all_experiments(connection):
        count += 1
        findings = Findings()
        try:
            check_state(queries.stored_row(connection, number, name), findings)
            if full:
                verification = verify(connection, number, name)
                if verification.agrees:
                    yield StoreCheck("experiment", True, str(verification))
                findings = Findings()
                for difference in verification.differences:
                    findings.add(difference)
        except DAMAGE as error:
            findings.add(f"it cannot be read: {reason(error)}")
        if listed := findings.all():
            sound = False
            yield StoreCheck("experiment", False, f"{name}: {'; '.join(listed)[:300]}")
    if sound:
        result = "verified" if full else "can be read; --full computes them again from their logs"
        yield StoreCheck("experiments", True, f"{count:,} {result}")


def _readable(connection: Connection) -> Iterator[queries.Loaded]:
    for experiment in queries.all_experiments(connection):
        try:
            yield queries.stored_row(connection, experiment.id, experiment.name)
        except DAMAGE:
            # `_experiments` reports the damage.
            continue


def _bytes(count: int) -> str:
    """Return a size in a readable unit.

    >>> _bytes(5_300_000)
    '5.1 MiB'
    """
    size, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:.1f} {units[0]}" if units[0] != "B" else f"{count} B"
