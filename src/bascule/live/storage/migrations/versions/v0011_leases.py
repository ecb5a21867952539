"""Leases: slots that one program hands out without locking the experiment."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    numbers = ("size", "used", "reserved", "deal", "last", "handed")
    op.create_table(
        "leases",
        sa.Column("experiment", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("first", sa.BigInteger, primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in numbers),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("until", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
