"""The first tables, and an audit log that can only grow."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
GIVEN = sa.text("event IS NOT NULL")


def _of_experiment() -> sa.Column[int]:
    return sa.Column("experiment", sa.Integer, primary_key=True, autoincrement=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, primary_key=True, autoincrement=False)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "experiments",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("design", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("standing", sa.Text, nullable=False),
        sa.Column("statistics", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "assignments",
        _of_experiment(),
        _number("number"),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("deal", sa.BigInteger),
        sa.Column("probability", sa.Double, nullable=False),
        sa.Column("time", sa.Double, nullable=False),
        sa.UniqueConstraint("experiment", "unit", name="one_arm_a_unit"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "blocks",
        _of_experiment(),
        _number("number"),
        sa.Column("slots", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "outcomes",
        sa.Column("id", ROW_NUMBER, primary_key=True),
        sa.Column("experiment", sa.Integer, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("received", sa.Double, nullable=False),
        sa.Column("event", sa.Text),
    )
    op.create_index("outcomes_of_unit", "outcomes", ["experiment", "number"])
    op.create_index(
        "one_outcome_an_event",
        "outcomes",
        ["experiment", "event"],
        unique=True,
        sqlite_where=GIVEN,
        postgresql_where=GIVEN,
    )
    op.create_table(
        "set_aside",
        sa.Column("id", ROW_NUMBER, primary_key=True),
        sa.Column("experiment", sa.Integer, nullable=False, index=True),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("at", sa.Double),
        sa.Column("received", sa.Double, nullable=False),
        sa.Column("event", sa.Text),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
    op.create_table(
        "audit",
        sa.Column("id", ROW_NUMBER, primary_key=True),
        sa.Column("experiment", sa.Integer, nullable=False, index=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
    op.create_table(
        "history",
        _of_experiment(),
        _number("folded"),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("statistics", sa.Text, nullable=False),
    )
    for statement in _append_only(op.get_bind().dialect.name):
        op.execute(statement)


def _append_only(dialect: str) -> list[str]:
    if dialect == "sqlite":
        return [
            f"CREATE TRIGGER audit_keeps_{verb.lower()} BEFORE {verb} ON audit "
            "BEGIN SELECT RAISE(ABORT, 'the audit log can only grow'); END"
            for verb in ("UPDATE", "DELETE")
        ]
    return [
        "CREATE FUNCTION audit_keeps() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit log can only grow'; END $$",
        "CREATE TRIGGER audit_keeps BEFORE UPDATE OR DELETE ON audit "
        "FOR EACH ROW EXECUTE FUNCTION audit_keeps()",
    ]
