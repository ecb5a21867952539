"""The metric that an outcome belongs to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; outcomes without a metric belong to the primary one."""
    op.add_column("outcomes", sa.Column("metric", sa.Text))
    op.add_column("set_aside", sa.Column("metric", sa.Text))
