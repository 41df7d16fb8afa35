"""Of files with stored rows the catalog has a checksum beside the bytes: a file of the same length may be damaged, or another one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_S = "lineage"


def upgrade() -> None:
    """Make room for it; of files that there are nobody knows what they were."""
    op.add_column("materializations", sa.Column("checksums", sa.Text), schema=_S)


def downgrade() -> None:
    """Files are told by their bytes alone again."""
    op.drop_column("materializations", "checksums", schema=_S)
