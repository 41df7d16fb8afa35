"""Runs say which segments they stored, and why."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; runs of earlier releases have nothing in it."""
    op.add_column("runs", sa.Column("choices", sa.Text), schema="lineage")


def downgrade() -> None:
    """Forget it."""
    op.drop_column("runs", "choices", schema="lineage")
