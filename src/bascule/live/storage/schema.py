"""The tables of a store, the same on SQLite and on PostgreSQL; those of the service are the last.

They are made in an empty database; a newer or foreign one is never touched.

Times are seconds since 1970-01-01 in UTC. Arms are counted from 0, and so are the units of a test.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    text,
)

from bascule.core.errors import InputError

metadata = MetaData()

# On SQLite only a column of this very type counts up by itself.
RowNumber = BigInteger().with_variant(Integer, "sqlite")


def _of_experiment() -> Column[int]:
    return Column("experiment", Integer, primary_key=True, autoincrement=False)


experiments = Table(
    "experiments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created", Double, nullable=False),
    Column("design", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("statistics", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    # JSON: who gets in, and the values of the arms.
    Column("delivery", Text),
    # Numbers are not used again: a handle on a deleted experiment must not find another one.
    sqlite_autoincrement=True,
)

assignments = Table(
    "assignments",
    metadata,
    _of_experiment(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("unit", Text, nullable=False),
    Column("arm", Integer, nullable=False),
    Column("deal", BigInteger),
    Column("probability", Double, nullable=False),
    Column("time", Double, nullable=False),
    Column("covariates", Text),
    UniqueConstraint("experiment", "unit", name="one_arm_a_unit"),
    # Rows in the order of their key alone: a third less to write.
    sqlite_with_rowid=False,
)

blocks = Table(
    "blocks",
    metadata,
    _of_experiment(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("slots", Text, nullable=False),
    sqlite_with_rowid=False,
)

outcomes = Table(
    "outcomes",
    metadata,
    Column("id", RowNumber, primary_key=True),
    Column("experiment", Integer, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("value", Double, nullable=False),
    Column("at", Double, nullable=False),
    Column("received", Double, nullable=False),
    Column("event", Text),
    # The name of the metric; none for the primary one.
    Column("metric", Text),
    # Where outcomes recur, the stage at whose end it counts.
    Column("stage", BigInteger),
    # Of a ratio, whose numerator the value is.
    Column("per", Double),
    Index("outcomes_of_unit", "experiment", "number"),
    Index(
        "outcomes_of_stage",
        "experiment",
        "stage",
        "number",
        sqlite_where=text("stage IS NOT NULL"),
        postgresql_where=text("stage IS NOT NULL"),
    ),
    Index(
        "one_outcome_an_event",
        "experiment",
        "event",
        # Of a request, say, each metric has one outcome; the primary one has no name.
        text("coalesce(metric, '')"),
        unique=True,
        sqlite_where=text("event IS NOT NULL"),
        postgresql_where=text("event IS NOT NULL"),
    ),
)

set_aside = Table(
    "set_aside",
    metadata,
    Column("id", RowNumber, primary_key=True),
    Column("experiment", Integer, nullable=False),
    Column("unit", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("at", Double),
    Column("received", Double, nullable=False),
    Column("event", Text),
    Column("reason", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("metric", Text),
    Index("set_aside_events", "experiment", "event"),
)

audit = Table(
    "audit",
    metadata,
    Column("id", RowNumber, primary_key=True),
    Column("experiment", Integer, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("time", Double, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("detail", Text, nullable=False),
)

history = Table(
    "history",
    metadata,
    _of_experiment(),
    Column("folded", BigInteger, primary_key=True, autoincrement=False),
    Column("time", Double, nullable=False),
    Column("statistics", Text, nullable=False),
)

erased = Table(
    "erased",
    metadata,
    _of_experiment(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("time", Double, nullable=False),
    sqlite_with_rowid=False,
)

descriptions = Table(
    "descriptions",
    metadata,
    _of_experiment(),
    # JSON: owner, hypothesis, description, links and tags.
    Column("description", Text, nullable=False),
)

links = Table(
    "links",
    metadata,
    _of_experiment(),
    Column("unit", Text, primary_key=True),
    Column("identity", Text, nullable=False),
    Index("links_of_identity", "experiment", "identity"),
    sqlite_with_rowid=False,
)

OF_EXPERIMENT = (
    assignments,
    blocks,
    outcomes,
    set_aside,
    history,
    erased,
    descriptions,
    links,
)
"""What is deleted with an experiment; the audit log stays."""

service_keys = Table(
    "service_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("hash", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("experiments", Text),
    Column("created", Double, nullable=False),
    Column("creator", Text, nullable=False),
    Column("revoked", Double),
    Column("unit_names", Integer),
)

service_sessions = Table(
    "service_sessions",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("key", Text),
    Column("expires", Double, nullable=False),
    Column("caller", Text),
)

service_webhooks = Table(
    "service_webhooks",
    metadata,
    Column("url", Text, primary_key=True),
    Column("since", BigInteger, nullable=False),
)

service_deliveries = Table(
    "service_deliveries",
    metadata,
    Column("url", Text, primary_key=True),
    Column("audit", BigInteger, primary_key=True, autoincrement=False),
    Column("attempts", Integer, nullable=False),
    Column("due", Double, nullable=False),
    Column("state", Text, nullable=False),
    Column("detail", Text, nullable=False),
)

APPEND_ONLY = {
    "sqlite": tuple(
        f"CREATE TRIGGER audit_keeps_{verb.lower()} BEFORE {verb} ON audit "
        "BEGIN SELECT RAISE(ABORT, 'the audit log can only grow'); END"
        for verb in ("UPDATE", "DELETE")
    ),
    "postgresql": (
        "CREATE FUNCTION audit_keeps() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit log can only grow'; END $$",
        "CREATE TRIGGER audit_keeps BEFORE UPDATE OR DELETE ON audit "
        "FOR EACH ROW EXECUTE FUNCTION audit_keeps()",
    ),
}
"""Statements that let the audit log grow and never change."""

VERSION_TABLE = "bascule_version"

VERSION = "1"
"""The version of the tables that this program makes and uses."""

MARK = 0x62617363
"""What SQLite files of ours carry as their application_id: "basc"."""


def make_tables(connection: Connection, name: str) -> None:
    """Make the tables of an empty database, inside the caller's transaction."""
    if check_version(connection, name):
        return
    if connection.dialect.name == "postgresql":
        # Two programs that open a new store at once: the second one waits, and finds it made.
        connection.execute(text(f"SELECT pg_advisory_xact_lock({MARK})"))
        if check_version(connection, name):
            return
    metadata.create_all(connection)
    for statement in APPEND_ONLY[connection.dialect.name]:
        connection.execute(text(statement))
    connection.execute(text(f"CREATE TABLE {VERSION_TABLE} (version TEXT NOT NULL)"))
    added = f"INSERT INTO {VERSION_TABLE} VALUES ('{VERSION}')"  # nosec B608: constants
    connection.execute(text(added))
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"PRAGMA application_id = {MARK}"))


def check_version(connection: Connection, name: str) -> bool:
    """Return whether a database has the tables; raise where they are those of another version."""
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
