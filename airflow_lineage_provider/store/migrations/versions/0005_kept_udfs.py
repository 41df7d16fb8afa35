"""Runs keep UDFs that no other process could find; a run whose result stands without its lineage is incomplete."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_S = "lineage"
_CHECK = "runs_status_check"


def upgrade() -> None:
    """Make the table, and allow the status."""
    op.create_table(
        "kept_udfs",
        sa.Column("run_id", sa.Text, sa.ForeignKey(f"{_S}.runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("version", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("python", sa.Text, nullable=False),
        sa.Column("libraries", sa.Text, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        schema=_S,
    )
    _statuses("running", "complete", "incomplete", "failed", "dropped")


def downgrade() -> None:
    """Forget it; for earlier releases an incomplete run is a failed one."""
    op.drop_table("kept_udfs", schema=_S)
    op.execute(f"UPDATE {_S}.runs SET status = 'failed' WHERE status = 'incomplete'")
    _statuses("running", "complete", "failed", "dropped")


def _statuses(*statuses: str) -> None:
    op.drop_constraint(_CHECK, "runs", schema=_S, type_="check")
    op.create_check_constraint(_CHECK, "runs", f"status IN ({', '.join(map(repr, statuses))})", schema=_S)
