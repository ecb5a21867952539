"""The tables of a store, the same on SQLite and on PostgreSQL; those of the service are the last.

Times are seconds since 1970-01-01 in UTC. Arms are counted from 0, and so are the units of a test.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

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
