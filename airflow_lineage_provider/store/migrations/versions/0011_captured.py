"""Lineage that was captured: what there is, in the run's record, and its indexes in parts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_S = "lineage"


def upgrade() -> None:
    """Make the table, and add the column; runs of earlier releases have nothing in it."""
    op.add_column("runs", sa.Column("captured", sa.Text), schema=_S)
    op.create_table(
        "captured_parts",
        sa.Column("run_id", sa.Text, sa.ForeignKey(f"{_S}.runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("map", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        schema=_S,
    )


def downgrade() -> None:
    """Forget them: lineage is traced when it is asked for."""
    op.drop_table("captured_parts", schema=_S)
    op.drop_column("runs", "captured", schema=_S)
