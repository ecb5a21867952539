"""What was known of a unit when it was assigned."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; tests without covariates leave it empty."""
    op.add_column("assignments", sa.Column("covariates", sa.Text))
