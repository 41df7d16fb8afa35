"""Provenance sketches: which fragments of a source's rows stand behind a run's result, and which runs have used that."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_S = "lineage"


def upgrade() -> None:
    """Make the tables, and add the column; runs of earlier releases have nothing in it."""
    op.add_column("runs", sa.Column("sketches", sa.Text), schema=_S)
    op.create_table(
        "sketch_cuts",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
        schema=_S,
    )
    op.create_table(
        "sketches",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text, sa.ForeignKey(f"{_S}.runs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("pipeline", sa.Text, nullable=False),
        sa.Column("template", sa.Text, nullable=False),
        sa.Column("binding", sa.Text, nullable=False),
        sa.Column("leaf", sa.Integer, nullable=False),
        sa.Column("table", sa.Text, nullable=False),
        sa.Column("column", sa.Text, nullable=False),
        sa.Column("versions", sa.Text, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("cuts", sa.Text, sa.ForeignKey(f"{_S}.sketch_cuts.digest"), nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("total", sa.BigInteger, nullable=False),
        sa.Column("proof", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        schema=_S,
    )
    for name in ("template", "run_id", "cuts"):
        op.create_index(f"sketches_{name.removesuffix('_id')}", "sketches", [name], schema=_S)
    op.create_table(
        "sketch_uses",
        sa.Column("sketch_id", sa.Text, sa.ForeignKey(f"{_S}.sketches.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("run_id", sa.Text, sa.ForeignKey(f"{_S}.runs.id", ondelete="CASCADE"), primary_key=True),
        schema=_S,
    )
    op.create_index("sketch_uses_run", "sketch_uses", ["run_id"], schema=_S)


def downgrade() -> None:
    """Forget them: runs read everything."""
    for name in ("sketch_uses", "sketches", "sketch_cuts"):
        op.drop_table(name, schema=_S)
    op.drop_column("runs", "sketches", schema=_S)
