"""Blocks that were dealt one after the other are one row: until now each was one of its own."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make of each block a run of one."""
    op.execute("UPDATE blocks SET slots = '[' || slots || ']'")
