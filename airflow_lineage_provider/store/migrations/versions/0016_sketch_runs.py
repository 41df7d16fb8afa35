"""What runs with sketches took, by the template that they are instances of: whether the next sketch pays is decided on it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_S = "lineage"


def upgrade() -> None:
    """Make the table; of runs of earlier releases it has nothing."""
    op.create_table(
        "sketch_runs",
        sa.Column("run_id", sa.Text, sa.ForeignKey(f"{_S}.runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("template", sa.Text, nullable=False),
        sa.Column("binding", sa.Text, nullable=False),
        sa.Column("versions", sa.Text, nullable=False),
        sa.Column("seconds", sa.Double),
        sa.Column("through", sa.Boolean, nullable=False),
        sa.Column("capture", sa.Double),
        sa.Column("share", sa.Double),
        schema=_S,
    )
    op.create_index("sketch_runs_template", "sketch_runs", ["template"], schema=_S)


def downgrade() -> None:
    """Forget it: every template is a new one."""
    op.drop_table("sketch_runs", schema=_S)
