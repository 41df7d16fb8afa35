"""Rows may stand in files at a URI; folders of runs that are gone are known until somebody who reaches them has removed them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_S = "lineage"


def upgrade() -> None:
    """Columns for the files of a materialization, and the list of what is to be removed."""
    op.add_column("materializations", sa.Column("folder", sa.Text), schema=_S)
    op.add_column("materializations", sa.Column("files", sa.Text), schema=_S)
    op.create_table(
        "discarded_folders",
        sa.Column("folder", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("discarded", sa.DateTime(timezone=True), nullable=False),
        schema=_S,
    )


def downgrade() -> None:
    """Tables alone: a run whose rows stand in files cannot be asked any more."""
    op.drop_table("discarded_folders", schema=_S)
    op.drop_column("materializations", "files", schema=_S)
    op.drop_column("materializations", "folder", schema=_S)
