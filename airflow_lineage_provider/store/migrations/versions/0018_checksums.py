"""Each part of captured lineage has a checksum beside it: a damaged one is an error, never another answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_S = "lineage"


def upgrade() -> None:
    """Add the column; parts of earlier releases have none, and are read unchecked."""
    op.add_column("captured_parts", sa.Column("crc", sa.BigInteger), schema=_S)


def downgrade() -> None:
    """Forget the checksums: parts are read unchecked."""
    op.drop_column("captured_parts", "crc", schema=_S)
