"""What the service keeps beside the tests: keys, sign-ins, and webhooks with their deliveries."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "service_keys",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("experiments", sa.Text),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("creator", sa.Text, nullable=False),
        sa.Column("revoked", sa.Double),
    )
    op.create_table(
        "service_sessions",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("key", sa.Text),
        sa.Column("expires", sa.Double, nullable=False),
    )
    op.create_table(
        "service_webhooks",
        sa.Column("url", sa.Text, primary_key=True),
        sa.Column("since", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "service_deliveries",
        sa.Column("url", sa.Text, primary_key=True),
        sa.Column("audit", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("due", sa.Double, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
