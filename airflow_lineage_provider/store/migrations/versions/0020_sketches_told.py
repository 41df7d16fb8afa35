"""What a run has read through a sketch, of which kind a sketch is, how long its proof took, and why one is set aside."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_S = "lineage"
_OF_SKETCHES = (("kind", sa.Text), ("proof_ms", sa.Double), ("bytes", sa.BigInteger), ("quarantined", sa.Text))
_OF_USES = (("rows", sa.BigInteger), ("total", sa.BigInteger), ("seconds", sa.Double))


def upgrade() -> None:
    """Add the columns; of sketches and uses of earlier releases they say nothing."""
    for table, columns in (("sketches", _OF_SKETCHES), ("sketch_uses", _OF_USES)):
        for name, kind in columns:
            op.add_column(table, sa.Column(name, kind), schema=_S)


def downgrade() -> None:
    """Forget them, and the sketches that are set aside: an earlier release would use these."""
    op.execute(sa.text(f"DELETE FROM {_S}.sketches WHERE quarantined IS NOT NULL"))
    for table, columns in (("sketches", _OF_SKETCHES), ("sketch_uses", _OF_USES)):
        for name, _ in columns:
            op.drop_column(table, name, schema=_S)
