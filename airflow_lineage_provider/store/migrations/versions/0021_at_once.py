"""What takes a run or a question many statements is a function: an answer is kept by one."""

from __future__ import annotations

from alembic import op

revision = "0021"
down_revision = "0020"
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

# A batch of a stream is that of the run that enters it, unless it is another's that has not failed.
_BEGIN_RUN = f"""
CREATE FUNCTION {_S}.begin_run(record text, shared text, of_batch text, again boolean) RETURNS void LANGUAGE plpgsql {_SAFE_PATH}
AS $$
DECLARE
    given {_S}.runs := json_populate_record(NULL::{_S}.runs, record::json);
    its {_S}.batches := json_populate_record(NULL::{_S}.batches, of_batch::json);
BEGIN
    IF again AND EXISTS (SELECT FROM {_S}.runs one WHERE one.id = given.id) THEN
        RETURN;
    END IF;
    IF shared IS NOT NULL THEN
        -- An update of nothing holds the row, which DO NOTHING would not.
        INSERT INTO {_S}.plans (digest, plan) VALUES (given.shared_plan, shared)
        ON CONFLICT (digest) DO UPDATE SET digest = EXCLUDED.digest;
    END IF;
    INSERT INTO {_S}.runs SELECT given.*;
    IF of_batch IS NOT NULL THEN
        INSERT INTO {_S}.batches AS known (pipeline, query, batch, run_id) VALUES (its.pipeline, its.query, its.batch, given.id)
        ON CONFLICT (pipeline, query, batch) DO UPDATE SET run_id = EXCLUDED.run_id
        WHERE EXISTS (SELECT FROM {_S}.runs one WHERE one.id = known.run_id AND one.status = 'failed');
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the batch is that of another run' USING ERRCODE = 'LB001';
        END IF;
    END IF;
END
$$
"""

# Loads that are going on are waited for by the lock on the run's row; later ones find it complete. A value that is too long for a B-tree
# has a hash index over each column in its place, which serves equality all the same. Notes of appends that have a key are the caller's:
# with any nothing is done, unless it ``settles`` them in the same transaction.
_PUBLISH_RUN = f"""
CREATE FUNCTION {_S}.publish_run(run text, changes text, tables text, places text, settles boolean,
    OUT held text, OUT problem text, OUT keyed boolean)
LANGUAGE plpgsql {_SAFE_PATH}
AS $$
DECLARE
    given {_S}.runs := json_populate_record(NULL::{_S}.runs, changes::json);
    stored record;
    wanted record;
BEGIN
    SELECT one.status, one.error INTO held, problem FROM {_S}.runs one WHERE one.id = run FOR UPDATE;
    IF held IS DISTINCT FROM 'running' THEN
        RETURN;
    END IF;
    keyed := EXISTS (
        SELECT FROM {_S}.outputs o
        WHERE o.run_id = run AND starts_with(o.place, 'appending to ') AND o.version NOT LIKE '%"key": ""%');
    IF keyed AND NOT settles THEN
        RETURN;
    END IF;
    FOR stored IN
        UPDATE {_S}.materializations m SET rows = loaded.rows, escaped = loaded.escaped
        FROM (
            SELECT one.id, coalesce((SELECT sum(l.rows) FROM {_S}.loads l WHERE l.materialization_id = one.id), 0) AS rows,
                '[' || coalesce((
                    SELECT string_agg(DISTINCT part.name::text, ', ' ORDER BY part.name::text)
                    FROM {_S}.loads l, json_array_elements(l.escaped::json) AS part (name) WHERE l.materialization_id = one.id
                ), '') || ']' AS escaped
            FROM {_S}.materializations one WHERE one.run_id = run
        ) loaded
        WHERE m.id = loaded.id RETURNING m.id, m.kind, m.table_name, m.folder, m.rows
    LOOP
        CONTINUE WHEN stored.folder IS NOT NULL;
        FOR wanted IN SELECT one.keys FROM json_to_recordset(tables::json) AS one ("table" text, keys text[], own text)
            WHERE one."table" = stored.table_name AND one.own IS NULL
        LOOP
            PERFORM {_S}.make_index(stored.table_name, wanted.keys);
        END LOOP;
        EXECUTE format('ANALYZE lineage_data.%I', stored.table_name);
        CONTINUE WHEN stored.kind <> 'result' OR stored.rows < 20000;
        -- What people will name rows of a large result by: columns whose values are all different, as far as ANALYZE has seen.
        FOR wanted IN SELECT one.keys FROM ROWS FROM (json_to_recordset(tables::json) AS ("table" text, keys text[], own text))
                WITH ORDINALITY AS one ("table", keys, own, at)
            JOIN pg_stats s ON s.schemaname = 'lineage_data' AND s.tablename = stored.table_name AND s.attname = one.own
            WHERE one."table" = stored.table_name AND s.n_distinct = -1 AND s.null_frac = 0 ORDER BY one.at LIMIT 2
        LOOP
            PERFORM {_S}.make_index(stored.table_name, wanted.keys);
        END LOOP;
    END LOOP;
    -- Nobody but the owner writes into the tables any more.
    FOR wanted IN SELECT DISTINCT m.table_name, g.rolname FROM {_S}.materializations m
        JOIN pg_class c ON c.relname = m.table_name AND c.relnamespace = 'lineage_data'::regnamespace
        CROSS JOIN LATERAL aclexplode(c.relacl) a JOIN pg_roles g ON g.oid = a.grantee
        WHERE m.run_id = run AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('REVOKE INSERT ON lineage_data.%I FROM %I', wanted.table_name, wanted.rolname);
    END LOOP;
    IF NOT keyed THEN
        DELETE FROM {_S}.outputs o WHERE o.run_id = run AND starts_with(o.place, 'appending to ');
    END IF;
    INSERT INTO {_S}.outputs (run_id, place, version)
    SELECT run, one.place, one.version FROM json_to_recordset(places::json) AS one (place text, version text);
    UPDATE {_S}.runs one SET status = 'complete', finished = given.finished, output = given.output, timings = given.timings,
        row_counts = given.row_counts, captured = coalesce(given.captured, one.captured) WHERE one.id = run;
END
$$
"""

_MAKE_INDEX = f"""
CREATE FUNCTION {_S}.make_index(target text, keys text[]) RETURNS void LANGUAGE plpgsql {_SAFE_PATH}
AS $$
DECLARE
    key text;
BEGIN
    EXECUTE format('CREATE INDEX ON lineage_data.%I USING btree (%s)', target, array_to_string(keys, ', '));
EXCEPTION WHEN program_limit_exceeded THEN
    FOREACH key IN ARRAY keys LOOP
        EXECUTE format('CREATE INDEX ON lineage_data.%I USING hash (%s)', target, key);
    END LOOP;
END
$$
"""

# In the transaction of its one load. Asked for again it empties the table that the first time has made: all of its rows come now.
_MAKE_TABLE = f"""
CREATE FUNCTION {_S}.make_table(run text, entry text, definition text, again boolean) RETURNS text LANGUAGE plpgsql {_SAFE_PATH}
AS $$
DECLARE
    status text := {_S}.hold_run(run);
    given {_S}.materializations := json_populate_record(NULL::{_S}.materializations, entry::json);
    owner name := (SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace n WHERE n.nspname = 'lineage_data');
    before text := current_setting('role');
    made bigint;
BEGIN
    IF status IS DISTINCT FROM 'running' THEN
        RETURN coalesce(status, 'not in the store');
    END IF;
    SELECT one.id INTO made FROM {_S}.materializations one WHERE one.run_id = run AND one.name = given.name;
    IF made IS NOT NULL AND NOT again THEN
        RETURN 'with a materialization of this name';
    ELSIF made IS NOT NULL THEN
        EXECUTE format('DELETE FROM lineage_data.%I', given.table_name);
        DELETE FROM {_S}.loads l WHERE l.materialization_id = made;
        RETURN made;
    END IF;
    INSERT INTO {_S}.materializations AS one (run_id, name, kind, table_name, layout, row_count_hint)
    VALUES (run, given.name, given.kind, given.table_name, given.layout, given.row_count_hint) RETURNING one.id INTO made;
    -- What the owner makes has the rights that roles were granted to such tables.
    IF owner <> current_user THEN
        PERFORM set_config('role', owner, true);
    END IF;
    EXECUTE format('CREATE TABLE lineage_data.%I (%s)', given.table_name, definition);
    EXECUTE format('COMMENT ON TABLE lineage_data.%I IS %L', given.table_name,
        (SELECT format('%s %L of run %s of pipeline %L', given.kind, given.name, run, one.pipeline) FROM {_S}.runs one WHERE one.id = run));
    PERFORM set_config('role', before, true);
    RETURN made;
END
$$
"""

_END_TABLE = f"""
CREATE FUNCTION {_S}.end_table(materialization bigint, loaded text) RETURNS void LANGUAGE sql {_SAFE_PATH}
AS $$
    INSERT INTO {_S}.loads (materialization_id, partition, attempt, rows, escaped, loaded)
    SELECT materialization, part.partition, 0, part.rows, part.escaped, now()
    FROM json_to_recordset(loaded::json) AS part (partition int, rows bigint, escaped text)
$$
"""


def upgrade() -> None:
    """Make them; who may index is granted it with the roles."""
    for text in (_KEEP_ANSWER, _INDEX_COLUMN, _MAKE_INDEX, _BEGIN_RUN, _PUBLISH_RUN, _MAKE_TABLE, _END_TABLE):
        op.execute(text)
    op.execute(f"REVOKE ALL ON FUNCTION {_S}.index_column(text, bigint, text[]) FROM PUBLIC")


def downgrade() -> None:
    """Drop them."""
    op.execute(f"DROP FUNCTION {_S}.end_table(bigint, text)")
    op.execute(f"DROP FUNCTION {_S}.make_table(text, text, text, boolean)")
    op.execute(f"DROP FUNCTION {_S}.publish_run(text, text, text, text, boolean)")
    op.execute(f"DROP FUNCTION {_S}.begin_run(text, text, text, boolean)")
    op.execute(f"DROP FUNCTION {_S}.make_index(text, text[])")
    op.execute(f"DROP FUNCTION {_S}.index_column(text, bigint, text[])")
    op.execute(f"DROP FUNCTION {_S}.keep_answer(text, text, text, bytea)")
