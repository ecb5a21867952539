"""Bring the tables up to date when a store is opened; never touch a newer or foreign database."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from bascule.core.errors import InputError
from bascule.live.storage.schema import metadata

VERSION_TABLE = "bascule_version"
NEWEST = "0011"
"""The last of the migrations; a store that has it is opened without Alembic."""

MARK = 0x62617363
"""What SQLite files of ours carry as their application_id: "basc"."""


def bring_up_to_date(connection: Connection, name: str) -> None:
    """Apply the migrations that a store lacks, inside the caller's transaction."""
    version = stored_version(connection, name)
    if version == NEWEST:
        return
    if connection.dialect.name == "postgresql":
        # Two programs that open a new store at once: the second one waits, and finds it made.
        connection.execute(text(f"SELECT pg_advisory_xact_lock({MARK})"))
        if stored_version(connection, name) == NEWEST:
            return
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    known = {script.revision for script in scripts.walk_revisions()}
    if version is not None and version not in known:
        raise InputError(
            "store",
            f"{name} was made by a newer bascule (tables {version}, this one knows {NEWEST}): "
            "upgrade bascule to open it; nothing was changed",
        )
    config.attributes.update(connection=connection, version_table=VERSION_TABLE)
    command.upgrade(config, "head")
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"PRAGMA application_id = {MARK}"))


def stored_version(connection: Connection, name: str) -> str | None:
    """Return which migration a store has; None for an empty database; raise for someone else's."""
    there = set(inspect(connection).get_table_names())
    if VERSION_TABLE in there:
        asked = f"SELECT version_num FROM {VERSION_TABLE}"  # nosec B608: the name is a constant
        found = connection.execute(text(asked)).scalar()
        return None if found is None else str(found)
    taken = sorted(there) if connection.dialect.name == "sqlite" else there & set(metadata.tables)
    if taken:
        raise InputError(
            "store",
            f"{name} has tables that are not bascule's ({', '.join(sorted(taken)[:3])}): give a "
            "database of its own; nothing was changed",
        )
    return None
