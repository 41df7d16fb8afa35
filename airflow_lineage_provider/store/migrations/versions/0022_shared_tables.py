"""What a run's result is indexed by is part of its record."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_S = "lineage"


def upgrade() -> None:
    """Add the column."""
    op.add_column("runs", sa.Column("indexes", sa.Text), schema=_S)


def downgrade() -> None:
    """Drop it."""
    op.drop_column("runs", "indexes", schema=_S)
