"""Lineage between the cells of arrays: the arrays, the relations between them, and what is known of the operations that made them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_S = "lineage"


def upgrade() -> None:
    """Make the tables. PostgreSQL does not try to compress relations, which are compressed."""
    op.create_table(
        "arrays",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("shape", sa.Text, nullable=False),
        sa.Column("owner", sa.Text),
        sa.Column("run_id", sa.Text, sa.ForeignKey(f"{_S}.runs.id", ondelete="CASCADE")),
        sa.Column("derivation_id", sa.Text, sa.ForeignKey(f"{_S}.derivations.id", ondelete="CASCADE")),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        schema=_S,
    )
    op.create_index("arrays_owner", "arrays", ["owner"], schema=_S, postgresql_using="hash")
    for name in ("run", "derivation"):
        there = sa.text(f"{name}_id IS NOT NULL")
        op.create_index(f"arrays_{name}", "arrays", [f"{name}_id"], schema=_S, postgresql_where=there)
    op.create_index("arrays_created", "arrays", ["created"], schema=_S)
    _make_relations()
    op.create_table(
        "array_operations",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        schema=_S,
    )
    for table in ("array_relations", "array_operations"):
        op.execute(f"ALTER TABLE {_S}.{table} ALTER COLUMN content SET STORAGE EXTERNAL")


def _make_relations() -> None:
    op.create_table(
        "array_relations",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
        sa.Column("source", sa.Text, sa.ForeignKey(f"{_S}.arrays.digest", ondelete="CASCADE"), nullable=False),
        sa.Column("output", sa.Text, sa.ForeignKey(f"{_S}.arrays.digest", ondelete="CASCADE"), nullable=False),
        sa.Column("turned", sa.Boolean, nullable=False),
        sa.Column("guarantee", sa.Text, nullable=False),
        sa.Column("operation", sa.Text, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("source", "output"),
        schema=_S,
    )
    op.create_index("array_relations_output", "array_relations", ["output"], schema=_S)


def downgrade() -> None:
    """Forget them."""
    for name in ("array_operations", "array_relations", "arrays"):
        op.drop_table(name, schema=_S)
