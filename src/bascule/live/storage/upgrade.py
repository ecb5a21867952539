"""Make the tables of a new store; never touch a newer or foreign database."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

from bascule.core.errors import InputError
from bascule.live.storage.schema import APPEND_ONLY, metadata

VERSION_TABLE = "bascule_version"

VERSION = "1"
"""The version of the tables that this program makes and uses."""

MARK = 0x62617363
"""What SQLite files of ours carry as their application_id: "basc"."""


def make_tables(connection: Connection, name: str) -> None:
    """Make the tables of an empty database, inside the caller's transaction."""
    if _is_made(connection, name):
        return
    if connection.dialect.name == "postgresql":
        # Two programs that open a new store at once: the second one waits, and finds it made.
        connection.execute(text(f"SELECT pg_advisory_xact_lock({MARK})"))
        if _is_made(connection, name):
            return
    metadata.create_all(connection)
    for statement in APPEND_ONLY[connection.dialect.name]:
        connection.execute(text(statement))
    connection.execute(text(f"CREATE TABLE {VERSION_TABLE} (version TEXT NOT NULL)"))
    added = f"INSERT INTO {VERSION_TABLE} VALUES ('{VERSION}')"  # nosec B608: constants
    connection.execute(text(added))
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"PRAGMA application_id = {MARK}"))


def _is_made(connection: Connection, name: str) -> bool:
    version = stored_version(connection, name)
    if version not in (None, VERSION):
        raise InputError(
            "store",
            f"{name} was made by another bascule (tables {version}, this one has {VERSION}): open "
            "it with the version that made it; nothing was changed",
        )
    return version is not None


def schema_problems(connection: Connection) -> list[str]:
    """Return what a store of this version lacks of its tables, columns and triggers."""
    there, problems = inspect(connection), []
    names = set(there.get_table_names())
    for table in metadata.sorted_tables:
        if table.name not in names:
            problems.append(f"table {table.name} is missing")
            continue
        columns = {column["name"] for column in there.get_columns(table.name)}
        lacking = [column.name for column in table.columns if column.name not in columns]
        problems += [f"column {name} of {table.name} is missing" for name in lacking]
    wanted = {one.split()[2] for one in APPEND_ONLY[connection.dialect.name] if "TRIGGER" in one}
    kept = connection.execute(text(_TRIGGERS[connection.dialect.name])).scalars()
    problems += [f"trigger {name} is missing" for name in sorted(wanted - {*kept})]
    return problems


_TRIGGERS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
}


def stored_version(connection: Connection, name: str) -> str | None:
    """Return the version of a store's tables; None for an empty database; raise for others'."""
    there = set(inspect(connection).get_table_names())
    if VERSION_TABLE in there:
        asked = f"SELECT * FROM {VERSION_TABLE}"  # nosec B608: the name is a constant
        version = connection.execute(text(asked)).scalar()
        return "none" if version is None else str(version)
    taken = sorted(there) if connection.dialect.name == "sqlite" else there & set(metadata.tables)
    if taken:
        raise InputError(
            "store",
            f"{name} has tables that are not bascule's ({', '.join(sorted(taken)[:3])}): give a "
            "database of its own; nothing was changed",
        )
    return None
