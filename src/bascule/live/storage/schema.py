"""The tables of a store, the same on SQLite and PostgreSQL; the service's tables come last.

A database of another version or program is never changed. Tables are created only in an empty
database; on PostgreSQL it may have tables with other names.

Times are seconds since 1970-01-01 in UTC. Arms are counted from 0, and so are the units of a test.
"""

from __future__ import annotations

import re

from sqlalchemy import Connection, inspect, text

from bascule.core.errors import InputError

SCHEMA = """
CREATE TABLE experiments (
    id NUMBERED, name TEXT NOT NULL UNIQUE, created DOUBLE PRECISION NOT NULL,
    design TEXT NOT NULL, phase TEXT NOT NULL, state TEXT NOT NULL, statistics TEXT NOT NULL,
    version BIGINT NOT NULL, delivery TEXT);
CREATE TABLE assignments (
    experiment INTEGER NOT NULL, number BIGINT NOT NULL, unit TEXT NOT NULL, arm INTEGER NOT NULL,
    deal BIGINT, probability DOUBLE PRECISION NOT NULL, time DOUBLE PRECISION NOT NULL,
    covariates TEXT, PRIMARY KEY (experiment, number), UNIQUE (experiment, unit)) BY_KEY;
CREATE TABLE blocks (
    experiment INTEGER NOT NULL, number BIGINT NOT NULL, slots TEXT NOT NULL,
    PRIMARY KEY (experiment, number)) BY_KEY;
CREATE TABLE outcomes (
    id ROW_NUMBER, experiment INTEGER NOT NULL, number BIGINT NOT NULL,
    value DOUBLE PRECISION NOT NULL, at DOUBLE PRECISION NOT NULL,
    received DOUBLE PRECISION NOT NULL, event TEXT, metric TEXT, stage BIGINT,
    per DOUBLE PRECISION);
CREATE INDEX outcomes_of_unit ON outcomes (experiment, number);
CREATE INDEX outcomes_of_stage ON outcomes (experiment, stage, number) WHERE stage IS NOT NULL;
CREATE UNIQUE INDEX one_outcome_an_event ON outcomes (experiment, event, coalesce(metric, ''))
    WHERE event IS NOT NULL;
CREATE TABLE set_aside (
    id ROW_NUMBER, experiment INTEGER NOT NULL, unit TEXT NOT NULL, value TEXT NOT NULL,
    at DOUBLE PRECISION, received DOUBLE PRECISION NOT NULL, event TEXT, reason TEXT NOT NULL,
    detail TEXT NOT NULL, metric TEXT);
CREATE INDEX set_aside_events ON set_aside (experiment, event);
CREATE INDEX set_aside_units ON set_aside (experiment, unit);
CREATE INDEX set_aside_pages ON set_aside (experiment, id);
CREATE TABLE audit (
    id ROW_NUMBER, experiment INTEGER NOT NULL, name TEXT NOT NULL, time DOUBLE PRECISION NOT NULL,
    actor TEXT NOT NULL, action TEXT NOT NULL, detail TEXT NOT NULL);
CREATE INDEX ix_audit_experiment ON audit (experiment);
CREATE TABLE history (
    experiment INTEGER NOT NULL, folded BIGINT NOT NULL, time DOUBLE PRECISION NOT NULL,
    statistics TEXT NOT NULL, PRIMARY KEY (experiment, folded));
CREATE TABLE erased (
    experiment INTEGER NOT NULL, number BIGINT NOT NULL, time DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (experiment, number)) BY_KEY;
CREATE TABLE descriptions (
    experiment INTEGER NOT NULL PRIMARY KEY, description TEXT NOT NULL);
CREATE TABLE links (
    experiment INTEGER NOT NULL, unit TEXT NOT NULL, identity TEXT NOT NULL,
    PRIMARY KEY (experiment, unit)) BY_KEY;
CREATE INDEX links_of_identity ON links (experiment, identity);
CREATE TABLE service_keys (
    id TEXT NOT NULL PRIMARY KEY, hash TEXT NOT NULL, role TEXT NOT NULL, label TEXT NOT NULL,
    experiments TEXT, created DOUBLE PRECISION NOT NULL, creator TEXT NOT NULL,
    revoked DOUBLE PRECISION, unit_names INTEGER);
CREATE TABLE service_sessions (
    hash TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, "key" TEXT,
    expires DOUBLE PRECISION NOT NULL, caller TEXT);
CREATE TABLE service_webhooks (
    url TEXT NOT NULL PRIMARY KEY, since BIGINT NOT NULL);
CREATE TABLE service_deliveries (
    url TEXT NOT NULL, audit BIGINT NOT NULL, attempts INTEGER NOT NULL,
    due DOUBLE PRECISION NOT NULL, state TEXT NOT NULL, detail TEXT NOT NULL,
    PRIMARY KEY (url, audit));
"""
"""SQL statements that create the tables.

- `experiments.delivery` is JSON: who gets in, and the values of the arms.
- `outcomes.metric` is the name of the metric, NULL for the primary one. Outcomes of several metrics
  may have the same event, such as a request.
- `outcomes.stage` is the stage at whose end a recurring outcome counts, and `outcomes.per` is the
  denominator of a ratio, whose numerator is the value.
"""

DIALECTS = {
    "sqlite": {
        "NUMBERED": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
        "ROW_NUMBER": "INTEGER NOT NULL PRIMARY KEY",
        "BY_KEY": "WITHOUT ROWID",
    },
    "postgresql": {
        "NUMBERED": "SERIAL PRIMARY KEY",
        "ROW_NUMBER": "BIGSERIAL PRIMARY KEY",
        "BY_KEY": "",
    },
}
"""The SQL that replaces each placeholder of the schema, by database.

`NUMBERED` rows never reuse the number of a deleted row: a handle on a deleted experiment must not
find another one. `BY_KEY` rows are stored in the order of their keys without a row id, so that a
third less is written.
"""

COLUMNS = {
    table: tuple(re.findall(r'([a-z_]+)"? [A-Z]', columns))
    for table, columns in re.findall(r"CREATE TABLE (\w+) \((.*?)\)(?: BY_KEY)?;", SCHEMA, re.S)
}
"""Columns of each table, in order."""

OF_EXPERIMENT = (
    *("assignments", "blocks", "outcomes", "set_aside", "history", "erased", "descriptions"),
    "links",
)
"""Tables whose rows are deleted with an experiment; the audit log stays."""


def statements_of(dialect: str) -> list[str]:
    """Return the statements that create the tables in a dialect of SQL."""
    schema = SCHEMA
    for word, meaning in DIALECTS[dialect].items():
        schema = re.sub(rf"\b{word}\b", meaning, schema)
    return [statement.strip() for statement in schema.split(";") if statement.strip()]


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
"""Statements that make the audit log append-only."""

VERSION_TABLE = "bascule_version"

VERSION = "1"
"""Version of the tables that this program creates and uses."""

MARK = 0x62617363
"""The `application_id` in the header of a store's SQLite file: "basc"."""


def make_tables(connection: Connection, name: str) -> None:
    """Create the tables unless they exist, inside the caller's transaction."""
    if check_version(connection, name):
        return
    if connection.dialect.name == "postgresql":
        # If two programs open a new store at once, the second one waits and finds the tables.
        connection.execute(text(f"SELECT pg_advisory_xact_lock({MARK})"))
        if check_version(connection, name):
            return
    dialect = connection.dialect.name
    for statement in (*statements_of(dialect), *APPEND_ONLY[dialect]):
        connection.execute(text(statement))
    connection.execute(text(f"CREATE TABLE {VERSION_TABLE} (version TEXT NOT NULL)"))
    added = f"INSERT INTO {VERSION_TABLE} VALUES ('{VERSION}')"  # nosec B608: constants
    connection.execute(text(added))
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"PRAGMA application_id = {MARK}"))


def check_version(connection: Connection, name: str) -> bool:
    """Return whether a database has the tables; raise if they are of another version."""
    version = stored_version(connection, name)
    if version not in (None, VERSION):
        raise InputError(
            "store",
            f"{name} was made by another bascule (tables {version}, this one has {VERSION}): open "
            "it with the version that made it; nothing was changed",
        )
    return version is not None


def schema_problems(connection: Connection) -> list[str]:
    """Return messages about the tables, columns and triggers that a store lacks."""
    inspector, problems = inspect(connection), []
    names = set(inspector.get_table_names())
    for table, columns in COLUMNS.items():
        if table not in names:
            problems.append(f"table {table} is missing")
            continue
        existing = {column["name"] for column in inspector.get_columns(table)}
        problems += [
            f"column {column} of {table} is missing" for column in columns if column not in existing
        ]
    wanted = {
        statement.split()[2]
        for statement in APPEND_ONLY[connection.dialect.name]
        if "TRIGGER" in statement
    }
    kept = connection.execute(text(_TRIGGERS[connection.dialect.name])).scalars()
    problems += [f"trigger {name} is missing" for name in sorted(wanted - {*kept})]
    return problems


_TRIGGERS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
}


def stored_version(connection: Connection, name: str) -> str | None:
    """Return the version of a store's tables, None if it has none.

    Raise `InputError` if the database has tables of another program instead.
    """
    tables = set(inspect(connection).get_table_names())
    if VERSION_TABLE in tables:
        asked = f"SELECT * FROM {VERSION_TABLE}"  # nosec B608: the name is a constant
        version = connection.execute(text(asked)).scalar()
        return "none" if version is None else str(version)
    taken = sorted(tables) if connection.dialect.name == "sqlite" else tables & COLUMNS.keys()
    if taken:
        raise InputError(
            "store",
            f"{name} has tables that are not bascule's ({', '.join(sorted(taken)[:3])}): give a "
            "database of its own; nothing was changed",
        )
    return None
