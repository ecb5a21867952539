"""Who gets into an experiment and what its arms are worth, and names that belong to one unit."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and the table."""
    op.add_column("experiments", sa.Column("delivery", sa.Text))
    op.create_table(
        "links",
        sa.Column("experiment", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("unit", sa.Text, primary_key=True),
        sa.Column("identity", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("links_of_identity", "links", ["experiment", "identity"])
