"""Outcomes that were set aside are found by their id, however many there are."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the index, which serves for the experiment alone as well."""
    op.create_index("set_aside_events", "set_aside", ["experiment", "event"])
    op.drop_index("ix_set_aside_experiment", "set_aside")
