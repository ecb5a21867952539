"""Standings may hold crowds, where outcomes keep coming: an older bascule cannot read them.

Nothing has to be changed in what is there already.
"""

from __future__ import annotations

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Only the number of the tables changes."""
