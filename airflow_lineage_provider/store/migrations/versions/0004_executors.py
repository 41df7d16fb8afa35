"""What executors and derivers may do of the catalog are functions of its owner: they need no right to its tables."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_S = "lineage"
_AS_OWNER = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp"

_HOLD_RUN = f"""
CREATE FUNCTION {_S}.hold_run(run text) RETURNS text LANGUAGE sql {_AS_OWNER}
AS $$ SELECT status FROM {_S}.runs WHERE id = run FOR SHARE $$
"""

_BEGIN_LOAD = f"""
CREATE FUNCTION {_S}.begin_load(run text, materialization bigint, part int, try bigint) RETURNS text LANGUAGE plpgsql {_AS_OWNER}
AS $$
DECLARE
    status text := {_S}.hold_run(run);
    target text;
    earlier bigint;
BEGIN
    IF status IS DISTINCT FROM 'running' THEN
        RETURN coalesce(status, 'not in the store');
    END IF;
    SELECT m.table_name INTO target FROM {_S}.materializations m WHERE m.id = materialization AND m.run_id = run;
    IF target IS NULL THEN
        RETURN 'without this table';
    END IF;
    INSERT INTO {_S}.loads (materialization_id, partition, attempt, rows) VALUES (materialization, part, try, 0) ON CONFLICT DO NOTHING;
    SELECT l.rows INTO earlier FROM {_S}.loads l WHERE l.materialization_id = materialization AND l.partition = part FOR UPDATE;
    IF earlier > 0 THEN
        EXECUTE format('DELETE FROM lineage_data.%I WHERE "_partition" = $1', target) USING part;
    END IF;
    RETURN status;
END
$$
"""

_END_LOAD = f"""
CREATE FUNCTION {_S}.end_load(run text, materialization bigint, part int, try bigint, stored bigint, escapes text) RETURNS boolean
LANGUAGE plpgsql {_AS_OWNER}
AS $$
BEGIN
    UPDATE {_S}.loads l SET rows = stored, attempt = try, escaped = escapes, loaded = now()
    FROM {_S}.materializations m
    WHERE l.materialization_id = materialization AND l.partition = part AND m.id = materialization AND m.run_id = run
    AND {_S}.hold_run(run) = 'running';
    RETURN FOUND;
END
$$
"""

_SIGNATURES = ("hold_run(text)", "begin_load(text, bigint, int, bigint)", "end_load(text, bigint, int, bigint, bigint, text)")


def upgrade() -> None:
    """Make them, for nobody to call until the roles are granted it."""
    for text in (_HOLD_RUN, _BEGIN_LOAD, _END_LOAD):
        op.execute(text)
    for signature in _SIGNATURES:
        op.execute(f"REVOKE ALL ON FUNCTION {_S}.{signature} FROM PUBLIC")


def downgrade() -> None:
    """Drop them."""
    for signature in reversed(_SIGNATURES):
        op.execute(f"DROP FUNCTION {_S}.{signature}")
