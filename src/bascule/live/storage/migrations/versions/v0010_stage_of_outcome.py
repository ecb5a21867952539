"""The stage at whose end an outcome counts, so that closing it reads no other outcomes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and its index; tests without recurring outcomes leave it empty."""
    op.add_column("outcomes", sa.Column("stage", sa.BigInteger))
    where = sa.text("stage IS NOT NULL")
    op.create_index(
        "outcomes_of_stage",
        "outcomes",
        ["experiment", "stage", "number"],
        sqlite_where=where,
        postgresql_where=where,
    )
