"""Runs say which plan they are of by its digest (`plan.digest`)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; runs of earlier releases have nothing in it."""
    op.add_column("runs", sa.Column("plan_digest", sa.Text), schema="lineage")


def downgrade() -> None:
    """Forget it."""
    op.drop_column("runs", "plan_digest", schema="lineage")
