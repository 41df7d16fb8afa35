"""What a materialization is, the code says that writes it (`store.kinds`): indexes and sketches are tables of the store, too."""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_CHECK = "materializations_kind_check"


def upgrade() -> None:
    """Any kind."""
    op.drop_constraint(_CHECK, "materializations", schema="lineage", type_="check")


def downgrade() -> None:
    """The three that there were; a store that has others cannot go back."""
    op.create_check_constraint(_CHECK, "materializations", "kind IN ('result', 'segment', 'source')", schema="lineage")
