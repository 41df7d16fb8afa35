"""The labels of arrays' axes: a table is an array whose columns have names."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_S = "lineage"


def upgrade() -> None:
    """Add the column; arrays of earlier releases have no labels."""
    op.add_column("arrays", sa.Column("labels", sa.Text), schema=_S)


def downgrade() -> None:
    """Forget the labels."""
    op.drop_column("arrays", "labels", schema=_S)
