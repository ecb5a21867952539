"""Erased units, words about an experiment, and what keys and sessions may do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables and add the columns."""
    op.create_table(
        "erased",
        sa.Column("experiment", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("time", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "descriptions",
        sa.Column("experiment", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("description", sa.Text, nullable=False),
    )
    op.add_column("service_keys", sa.Column("unit_names", sa.Integer))
    op.add_column("service_sessions", sa.Column("caller", sa.Text))
