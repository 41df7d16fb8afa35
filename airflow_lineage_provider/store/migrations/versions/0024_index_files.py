"""Captured lineage may stand in a file: what the catalog has of a part then is its place in it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_S = "lineage"


def upgrade() -> None:
    """Make room for it; what is captured stays where it is."""
    op.alter_column("captured_parts", "content", nullable=True, schema=_S)
    op.add_column("captured_parts", sa.Column("at", sa.BigInteger), schema=_S)
    op.add_column("captured_parts", sa.Column("length", sa.BigInteger), schema=_S)
    is_placed = "(content IS NULL) = (at IS NOT NULL AND length IS NOT NULL AND crc IS NOT NULL)"
    op.create_check_constraint("captured_parts_place", "captured_parts", is_placed, schema=_S)
    op.create_table(
        "captured_folders",
        sa.Column("run_id", sa.Text, sa.ForeignKey(f"{_S}.runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        schema=_S,
    )


def downgrade() -> None:
    """Runs whose captured lineage stands in a file have none any more, and the file is to be removed: their lineage is traced again."""
    op.execute(
        f"INSERT INTO {_S}.discarded_folders (folder, run_id, discarded) SELECT folder, run_id, now() FROM {_S}.captured_folders"
        " ON CONFLICT DO NOTHING"
    )
    op.execute(f"UPDATE {_S}.runs SET captured = NULL WHERE id IN (SELECT run_id FROM {_S}.captured_folders)")
    op.execute(f"DELETE FROM {_S}.captured_parts WHERE content IS NULL")
    op.drop_table("captured_folders", schema=_S)
    op.drop_constraint("captured_parts_place", "captured_parts", schema=_S)
    op.drop_column("captured_parts", "length", schema=_S)
    op.drop_column("captured_parts", "at", schema=_S)
    op.alter_column("captured_parts", "content", nullable=False, schema=_S)
