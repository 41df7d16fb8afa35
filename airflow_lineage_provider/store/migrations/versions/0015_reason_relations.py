"""Relations that long reasons have apart, which executors enter by a function of the catalog's owner."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_S = "lineage"

_KEEP_RELATION = f"""
CREATE FUNCTION {_S}.keep_relation(run text, relation text, bytes bytea) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF {_S}.hold_run(run) IS DISTINCT FROM 'running' OR relation <> 'sha256:' || encode(sha256(bytes), 'hex') THEN
        RETURN false;
    END IF;
    INSERT INTO {_S}.reason_relations (run_id, name, content) VALUES (run, relation, bytes) ON CONFLICT DO NOTHING;
    RETURN true;
END
$$
"""


def upgrade() -> None:
    """Make the table and the function. PostgreSQL does not try to compress relations, which are compressed."""
    op.create_table(
        "reason_relations",
        sa.Column("run_id", sa.Text, sa.ForeignKey(f"{_S}.runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
        schema=_S,
    )
    op.execute(f"ALTER TABLE {_S}.reason_relations ALTER COLUMN content SET STORAGE EXTERNAL")
    op.execute(_KEEP_RELATION)
    op.execute(f"REVOKE ALL ON FUNCTION {_S}.keep_relation(text, text, bytea) FROM PUBLIC")


def downgrade() -> None:
    """Forget them."""
    op.execute(f"DROP FUNCTION {_S}.keep_relation(text, text, bytea)")
    op.drop_table("reason_relations", schema=_S)
