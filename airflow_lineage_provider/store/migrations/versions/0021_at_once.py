"""What takes a run or a question many statements is a function: an answer is kept by one."""

from __future__ import annotations

from alembic import op

revision = "0021"
down_revision = "0018"
branch_labels = None
depends_on = None

_S = "lineage"
_SAFE_PATH = "SET search_path = pg_catalog, pg_temp"

# It has the rights of whoever calls it, and so may anybody: who may not keep answers is refused by the tables.
_KEEP_ANSWER = f"""
CREATE FUNCTION {_S}.keep_answer(run text, answer text, parts text, contents bytea, OUT held text, OUT kept text)
LANGUAGE plpgsql {_SAFE_PATH}
AS $$
DECLARE
    given {_S}.derivations := json_populate_record(NULL::{_S}.derivations, answer::json);
BEGIN
    held := {_S}.hold_run(run);
    IF held IS DISTINCT FROM 'complete' THEN
        RETURN;
    END IF;
    INSERT INTO {_S}.derivations AS made (id, run_id, question, target, created, status, seconds, counts, guarantees, details, airflow,
        set_id, chunk, chunks)
    VALUES (given.id, run, given.question, given.target, given.created, given.status, given.seconds, given.counts, given.guarantees,
        given.details, given.airflow, given.set_id, given.chunk, given.chunks)
    ON CONFLICT (set_id, chunk) WHERE set_id IS NOT NULL DO NOTHING RETURNING made.id INTO kept;
    IF kept IS NULL THEN
        SELECT one.id INTO kept FROM {_S}.derivations one WHERE one.set_id = given.set_id AND one.chunk = given.chunk;
        RETURN;
    END IF;
    INSERT INTO {_S}.reason_relations (run_id, name, content)
    SELECT run, part.name, substring(contents FROM part.begins + 1 FOR part.size)
    FROM json_to_recordset(parts::json) AS part (name text, "position" int, begins int, size int)
    WHERE part."position" IS NULL ORDER BY part.name ON CONFLICT DO NOTHING;
    INSERT INTO {_S}.derivation_tables (derivation_id, position, name, kind, guarantee, cause, rows, arrow)
    SELECT kept, part."position", part.name, part.kind, part.guarantee, part.cause, part.rows,
        substring(contents FROM part.begins + 1 FOR part.size)
    FROM json_to_recordset(parts::json)
        AS part (name text, "position" int, kind text, guarantee text, cause text, rows bigint, begins int, size int)
    WHERE part."position" IS NOT NULL;
END
$$
"""

# The owner's rights: an index is made by who owns the table. Of the columns that rows are named by it is the one with the most different
# values, unless one value stands for a great many rows, or there is such an index, or there are enough.
_INDEX_COLUMN = f"""
CREATE FUNCTION {_S}.index_column(run text, materialization bigint, columns text[]) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER {_SAFE_PATH} SET lock_timeout = '50ms'
AS $$
DECLARE
    target text;
    many bigint;
    place regclass;
    chosen record;
BEGIN
    IF {_S}.hold_run(run) IS DISTINCT FROM 'complete' THEN
        RETURN 'the run is gone';
    END IF;
    SELECT m.table_name, m.rows INTO target, many FROM {_S}.materializations m
    WHERE m.id = materialization AND m.run_id = run AND m.kind = 'result' AND m.folder IS NULL;
    place := to_regclass('lineage_data.' || quote_ident(target));
    IF place IS NULL OR many < 20000 THEN
        RETURN 'no large table';
    END IF;
    SELECT a.attnum, a.attname INTO chosen FROM pg_attribute a
    JOIN pg_stats s ON s.schemaname = 'lineage_data' AND s.tablename = target AND s.attname = a.attname
    WHERE a.attrelid = place AND a.attname = ANY (columns) AND a.attnum > 0 AND NOT a.attisdropped
    AND CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * many ELSE s.n_distinct END >= greatest(20, many / 10000)
    ORDER BY CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * many ELSE s.n_distinct END DESC, a.attnum LIMIT 1;
    IF chosen.attnum IS NULL THEN
        RETURN 'a value stands for too many rows';
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('airflow-lineage index of ' || materialization, 0)) THEN
        RETURN 'it is being indexed';
    END IF;
    IF EXISTS (SELECT FROM pg_index i WHERE i.indrelid = place AND i.indkey[0] = chosen.attnum) THEN
        RETURN 'it is indexed';
    END IF;
    IF (SELECT count(*) FROM pg_index i WHERE i.indrelid = place) >= 8 THEN
        RETURN 'there are enough indexes';
    END IF;
    BEGIN
        EXECUTE format('CREATE INDEX ON %s USING btree (%I)', place, chosen.attname);
    EXCEPTION WHEN program_limit_exceeded THEN
        EXECUTE format('CREATE INDEX ON %s USING hash (%I)', place, chosen.attname);
    END;
    RETURN format('indexed %s', chosen.attname);
EXCEPTION WHEN lock_not_available THEN
    RETURN 'it is in use';
END
$$
"""


def upgrade() -> None:
    """Make them; who may index is granted it with the roles."""
    op.execute(_KEEP_ANSWER)
    op.execute(_INDEX_COLUMN)
    op.execute(f"REVOKE ALL ON FUNCTION {_S}.index_column(text, bigint, text[]) FROM PUBLIC")


def downgrade() -> None:
    """Drop them."""
    op.execute(f"DROP FUNCTION {_S}.index_column(text, bigint, text[])")
    op.execute(f"DROP FUNCTION {_S}.keep_answer(text, text, text, bytea)")
