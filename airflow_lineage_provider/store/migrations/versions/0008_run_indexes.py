"""Runs are found without reading other runs, however many there are: by how their ids begin, the newest, what runs, what is old."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_S = "lineage"
# Byte by byte: then an index knows how an id begins, and the last id is the newest.
_IDS = sa.text('id COLLATE "C"')


def upgrade() -> None:
    """Make the indexes."""
    op.drop_index("runs_pipeline", "runs", schema=_S)
    op.create_index("runs_pipeline", "runs", ["pipeline", _IDS], schema=_S)
    op.create_index("runs_ids", "runs", [_IDS], schema=_S)
    complete = sa.text("status = 'complete'")
    op.create_index("runs_complete_of_pipeline", "runs", ["pipeline", _IDS], schema=_S, postgresql_where=complete)
    op.create_index("runs_complete", "runs", [_IDS], schema=_S, postgresql_where=complete)
    op.create_index("runs_running", "runs", ["id"], schema=_S, postgresql_where=sa.text("status = 'running'"))
    ended = sa.text("status IN ('complete', 'incomplete', 'failed')")
    op.create_index("runs_finished", "runs", ["finished"], schema=_S, postgresql_where=ended)
    op.create_index("outputs_run", "outputs", ["run_id"], schema=_S)


def downgrade() -> None:
    """As they were."""
    op.drop_index("outputs_run", "outputs", schema=_S)
    for name in ("runs_finished", "runs_running", "runs_complete", "runs_complete_of_pipeline", "runs_ids", "runs_pipeline"):
        op.drop_index(name, "runs", schema=_S)
    op.create_index("runs_pipeline", "runs", ["pipeline", "id"], schema=_S)
