"""What a run has read through a sketch, and the whole source, in bytes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_S = "lineage"
_COLUMNS = ("bytes", "total_bytes")


def upgrade() -> None:
    """Add the columns; of uses of earlier releases they say nothing."""
    for name in _COLUMNS:
        op.add_column("sketch_uses", sa.Column(name, sa.BigInteger), schema=_S)


def downgrade() -> None:
    """Forget them."""
    for name in _COLUMNS:
        op.drop_column("sketch_uses", name, schema=_S)
