"""A batch has what its result is asked by, as a digest, and how many numbers below it nothing is recorded of.

Who asks about all batches of a stream then finds the few digests, and the batches of each, by an index. The database keeps both: whoever
changes a run's status, and be it a driver of an earlier release, need not know of them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

_S = "lineage"
_SAFE_PATH = "SET search_path = pg_catalog, pg_temp"

# Of a complete batch a digest of all that a condition over its result is written by, and where that stands; of any other its status.
_BATCH_FORM = f"""
CREATE FUNCTION {_S}.batch_form(run text, query text) RETURNS text LANGUAGE sql STABLE {_SAFE_PATH}
AS $$
    SELECT CASE WHEN r.status <> 'complete' THEN r.status ELSE left(encode(sha256(convert_to(json_build_array(
            query,
            coalesce(r.shared_plan, r.id), -- a run that keeps its plan's text by itself shares it with none
            coalesce(r.segments, ''),
            coalesce(m.layout, ''),
            coalesce(m.escaped, ''),
            CASE WHEN m.shared IS NOT NULL THEN m.table_name ELSE '' END,
            CASE WHEN m.id IS NULL THEN 'nowhere' WHEN m.folder IS NOT NULL THEN 'files' ELSE 'table' END
        )::text, 'UTF8')), 'hex'), 32) END
    FROM {_S}.runs r LEFT JOIN {_S}.materializations m ON m.run_id = r.id AND m.name = 'result' WHERE r.id = run
$$
"""

# Batches come in order, one after the other; one that comes later all the same fills a gap.
_ENTER_BATCH = f"""
CREATE FUNCTION {_S}.enter_batch() RETURNS trigger LANGUAGE plpgsql {_SAFE_PATH}
AS $$
BEGIN
    NEW.form := {_S}.batch_form(NEW.run_id, NEW.query);
    IF TG_OP = 'INSERT' THEN
        NEW.gap := NEW.batch - 1 - coalesce((
            SELECT max(b.batch) FROM {_S}.batches b WHERE b.pipeline = NEW.pipeline AND b.query = NEW.query AND b.batch < NEW.batch), -1);
        UPDATE {_S}.batches b SET gap = b.batch - 1 - NEW.batch
        WHERE b.pipeline = NEW.pipeline AND b.query = NEW.query AND b.gap > b.batch - 1 - NEW.batch AND b.batch = (
            SELECT min(later.batch) FROM {_S}.batches later
            WHERE later.pipeline = NEW.pipeline AND later.query = NEW.query AND later.batch > NEW.batch);
    END IF;
    RETURN NEW;
END
$$
"""

_END_BATCH = f"""
CREATE FUNCTION {_S}.end_batch() RETURNS trigger LANGUAGE plpgsql {_SAFE_PATH}
AS $$
BEGIN
    UPDATE {_S}.batches b SET form = {_S}.batch_form(NEW.id, b.query) WHERE b.run_id = NEW.id;
    RETURN NULL;
END
$$
"""

_TRIGGERS = (
    f"CREATE TRIGGER enter_batch BEFORE INSERT OR UPDATE OF run_id ON {_S}.batches FOR EACH ROW EXECUTE FUNCTION {_S}.enter_batch()",
    f"""CREATE TRIGGER end_batch AFTER UPDATE OF status ON {_S}.runs FOR EACH ROW
        WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION {_S}.end_batch()""",
)

_FILL = f"""
UPDATE {_S}.batches b SET form = {_S}.batch_form(b.run_id, b.query), gap = known.gap
FROM (
    SELECT run_id, batch - 1 - lag(batch, 1, CAST(-1 AS bigint)) OVER (PARTITION BY pipeline, query ORDER BY batch) AS gap FROM {_S}.batches
) known
WHERE known.run_id = b.run_id
"""


def upgrade() -> None:
    """Make them, and work them out of the batches that there are. Nobody begins or ends a run meanwhile."""
    op.execute(f"LOCK TABLE {_S}.runs IN SHARE ROW EXCLUSIVE MODE")  # before the batches, as beginning a run does
    op.add_column("batches", sa.Column("form", sa.Text, nullable=False, server_default="running"), schema=_S)
    op.add_column("batches", sa.Column("gap", sa.BigInteger, nullable=False, server_default="0"), schema=_S)
    op.execute(_BATCH_FORM)
    op.execute(_FILL)
    op.create_index("batches_form", "batches", ["pipeline", "form", "query", "batch"], schema=_S)
    op.create_index("batches_gap", "batches", ["pipeline", "query", "batch"], schema=_S, postgresql_where=sa.text("gap > 0"))
    for text in (_ENTER_BATCH, _END_BATCH, *_TRIGGERS):
        op.execute(text)


def downgrade() -> None:
    """Forget them."""
    op.execute(f"DROP TRIGGER end_batch ON {_S}.runs")
    op.execute(f"DROP TRIGGER enter_batch ON {_S}.batches")
    for one in ("end_batch()", "enter_batch()", "batch_form(text, text)"):
        op.execute(f"DROP FUNCTION {_S}.{one}")
    for name in ("batches_gap", "batches_form"):
        op.drop_index(name, "batches", schema=_S)
    for name in ("gap", "form"):
        op.drop_column("batches", name, schema=_S)
