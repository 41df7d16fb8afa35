"""What runs wrote, so that a run that reads it finds them; answers have tables between the target and the sources."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_S = "lineage"
_CHECK = "derivation_tables_kind_check"


def upgrade() -> None:
    """Make the table; what earlier releases wrote is not in it."""
    reference = sa.ForeignKey(f"{_S}.runs.id", ondelete="CASCADE")
    op.create_table(
        "outputs",
        sa.Column("run_id", sa.Text, reference, nullable=False),
        sa.Column("place", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        schema=_S,
    )
    # A hash: paths may be longer than a B-tree takes.
    op.create_index("outputs_place", "outputs", ["place"], schema=_S, postgresql_using="hash")
    _kinds("source", "intermediate", "reasons", "target", "links")


def downgrade() -> None:
    """Forget it, and the answers' tables of the new kind."""
    op.drop_table("outputs", schema=_S)
    op.execute(f"DELETE FROM {_S}.derivation_tables WHERE kind = 'intermediate'")
    _kinds("source", "reasons", "target", "links")


def _kinds(*kinds: str) -> None:
    op.drop_constraint(_CHECK, "derivation_tables", schema=_S, type_="check")
    op.create_check_constraint(_CHECK, "derivation_tables", f"kind IN ({', '.join(map(repr, kinds))})", schema=_S)
