"""Stored answers say which question they answer: besides explanations, why rows are not in a result, and what descends from rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_S = "lineage"
_CHECK = "derivation_tables_kind_check"


def upgrade() -> None:
    """Add the column; the answers that there are explain rows."""
    op.add_column("derivations", sa.Column("question", sa.Text, nullable=False, server_default="explain"), schema=_S)
    _kinds("source", "intermediate", "reasons", "target", "links", "asked", "result", "evidence")


def downgrade() -> None:
    """Forget the answers to the other questions."""
    op.execute(f"DELETE FROM {_S}.derivations WHERE question <> 'explain'")
    _kinds("source", "intermediate", "reasons", "target", "links")
    op.drop_column("derivations", "question", schema=_S)


def _kinds(*kinds: str) -> None:
    op.drop_constraint(_CHECK, "derivation_tables", schema=_S, type_="check")
    op.create_check_constraint(_CHECK, "derivation_tables", f"kind IN ({', '.join(map(repr, kinds))})", schema=_S)
