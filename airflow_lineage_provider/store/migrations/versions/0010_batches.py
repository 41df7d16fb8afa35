"""Batches of streams, and the plan that their runs share."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_S = "lineage"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "plans",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("plan", sa.Text, nullable=False),
        schema=_S,
    )
    op.add_column("runs", sa.Column("shared_plan", sa.Text, sa.ForeignKey(f"{_S}.plans.digest")), schema=_S)
    shared = sa.text("shared_plan IS NOT NULL")
    op.create_index("runs_shared_plan", "runs", ["shared_plan"], schema=_S, postgresql_where=shared)
    op.create_table(
        "batches",
        sa.Column("pipeline", sa.Text, primary_key=True),
        sa.Column("query", sa.Text, primary_key=True),
        sa.Column("batch", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("run_id", sa.Text, sa.ForeignKey(f"{_S}.runs.id", ondelete="CASCADE"), nullable=False, unique=True),
        schema=_S,
    )


def downgrade() -> None:
    """As they were."""
    op.drop_table("batches", schema=_S)
    op.execute(f"UPDATE {_S}.runs SET plan = shared.plan FROM {_S}.plans shared WHERE shared.digest = runs.shared_plan")
    op.drop_index("runs_shared_plan", "runs", schema=_S)
    op.drop_column("runs", "shared_plan", schema=_S)
    op.drop_table("plans", schema=_S)
