"""Derivations that belong together: the chunks of one question about many rows, and what was asked before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_S = "lineage"


def upgrade() -> None:
    """Make the table, and add the columns; derivations of earlier releases belong to no set."""
    op.create_table(
        "derivation_sets",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text, sa.ForeignKey(f"{_S}.runs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("occasion", sa.Text, nullable=False),
        sa.Column("since", sa.Text),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("chunk_rows", sa.BigInteger, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        schema=_S,
    )
    op.create_index("derivation_sets_question", "derivation_sets", ["question"], schema=_S)
    op.create_index("derivation_sets_run", "derivation_sets", ["run_id"], schema=_S)
    place = sa.ForeignKey(f"{_S}.derivation_sets.id", ondelete="CASCADE")
    op.add_column("derivations", sa.Column("set_id", sa.Text, place), schema=_S)
    op.add_column("derivations", sa.Column("chunk", sa.BigInteger), schema=_S)
    op.add_column("derivations", sa.Column("chunks", sa.BigInteger), schema=_S)
    op.create_index(
        "derivations_chunk", "derivations", ["set_id", "chunk"], unique=True, schema=_S, postgresql_where=sa.text("set_id IS NOT NULL")
    )


def downgrade() -> None:
    """The chunks are derivations as others."""
    op.drop_index("derivations_chunk", "derivations", schema=_S)
    for name in ("chunks", "chunk", "set_id"):
        op.drop_column("derivations", name, schema=_S)
    op.drop_table("derivation_sets", schema=_S)
