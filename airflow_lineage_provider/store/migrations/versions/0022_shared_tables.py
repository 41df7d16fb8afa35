"""Small batches of a stream have their rows in tables that they share, and a run's record says what its result is indexed by.

Rows of a shared table are those of the materialization that a column names. Nobody reads them without asking whether it is still there
(`still_stored`): where a table that is gone is an error, rows that are gone would be none.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_S = "lineage"
_SAFE_PATH = "SET search_path = pg_catalog, pg_temp"

# No column is in it, so that a query asks it once, before it looks for any row, and even where there is none.
_STILL_STORED = f"""
CREATE FUNCTION {_S}.still_stored(materialization bigint) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE {_SAFE_PATH}
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM {_S}.materializations m WHERE m.id = materialization) THEN
        RAISE EXCEPTION 'the run of these rows was dropped' USING ERRCODE = 'undefined_table';
    END IF;
    RETURN true;
END
$$
"""

# Where rows of a batch go: the newest table of batches of its stream, for this name and these columns, that has room left. It is held until
# the load ends: nobody drops it meanwhile. None is found for a run that is no batch's.
_SHARED_TABLE = f"""
CREATE FUNCTION {_S}.shared_table(run text, name text, definition text, INOUT target text, OUT place bigint, OUT is_new boolean)
LANGUAGE plpgsql {_SAFE_PATH}
AS $$
DECLARE
    of_stream text := (
        SELECT encode(sha256(convert_to(json_build_array(b.pipeline, b.query, name, definition)::text, 'UTF8')), 'hex')
        FROM {_S}.batches b WHERE b.run_id = run);
    known record;
BEGIN
    IF of_stream IS NULL THEN
        target := NULL;
        RETURN;
    END IF;
    SELECT t.id, t.table_name INTO known FROM {_S}.shared_tables t
    WHERE t.stream = of_stream AND t.batches < 10000
    AND pg_relation_size(to_regclass('lineage_data.' || quote_ident(t.table_name))) < 1073741824
    ORDER BY t.id DESC LIMIT 1 FOR UPDATE;
    is_new := known.id IS NULL;
    IF is_new THEN
        INSERT INTO {_S}.shared_tables (stream, table_name, batches) VALUES (of_stream, target, 1) RETURNING id INTO place;
    ELSE
        UPDATE {_S}.shared_tables t SET batches = t.batches + 1 WHERE t.id = known.id;
        place := known.id;
        target := known.table_name;
    END IF;
END
$$
"""

# Rows say whose they are by themselves: the transaction of their load does. Executors load tables that are a run's own.
_MAKE_SHARED = f"""
CREATE FUNCTION {_S}.make_shared(target text, definition text, layout text) RETURNS void LANGUAGE plpgsql {_SAFE_PATH}
AS $$
DECLARE
    number text := (SELECT format(', %I', one ->> 'physical') FROM json_array_elements(layout::json) AS one WHERE one ->> 'role' = 'row');
    other record;
BEGIN
    EXECUTE format('CREATE TABLE lineage_data.%I (%s, "_materialization" int8 NOT NULL DEFAULT current_setting(%L)::int8)', target,
        definition, 'lineage.materialization');
    EXECUTE format('CREATE INDEX ON lineage_data.%I USING btree ("_materialization"%s)', target, number);
    FOR other IN SELECT g.rolname FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a JOIN pg_roles g ON g.oid = a.grantee
        WHERE c.relname = target AND c.relnamespace = 'lineage_data'::regnamespace
        AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('REVOKE INSERT ON lineage_data.%I FROM %I', target, other.rolname);
    END LOOP;
END
$$
"""

# In the transaction of its one load. Asked for again it takes out the rows that the first time has loaded: all of them come now. It says
# the materialization's id, and of a shared table its name.
_MAKE_TABLE = f"""
CREATE FUNCTION {_S}.make_table(run text, entry text, definition text, again boolean) RETURNS text LANGUAGE plpgsql {_SAFE_PATH}
AS $$
DECLARE
    status text := {_S}.hold_run(run);
    given {_S}.materializations := json_populate_record(NULL::{_S}.materializations, entry::json);
    owner name := (SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace n WHERE n.nspname = 'lineage_data');
    before text := current_setting('role');
    known {_S}.materializations;
    shared record;
    made bigint;
BEGIN
    IF status IS DISTINCT FROM 'running' THEN
        RETURN coalesce(status, 'not in the store');
    END IF;
    SELECT one.* INTO known FROM {_S}.materializations one WHERE one.run_id = run AND one.name = given.name;
    IF known.id IS NOT NULL AND NOT again THEN
        RETURN 'with a materialization of this name';
    ELSIF known.id IS NOT NULL THEN
        DELETE FROM {_S}.loads l WHERE l.materialization_id = known.id;
        PERFORM {_S}.take_out_rows(known);
        PERFORM set_config('lineage.materialization', known.id::text, true);
        RETURN concat_ws(' ', known.id, CASE WHEN known.shared IS NOT NULL THEN known.table_name END);
    END IF;
    SELECT * INTO shared FROM {_S}.shared_table(run, given.name, definition, given.table_name);
    INSERT INTO {_S}.materializations AS one (run_id, name, kind, table_name, layout, row_count_hint, shared)
    VALUES (run, given.name, given.kind, coalesce(shared.target, given.table_name), given.layout, given.row_count_hint, shared.place)
    RETURNING one.id INTO made;
    PERFORM set_config('lineage.materialization', made::text, true);
    IF NOT shared.is_new THEN
        RETURN concat_ws(' ', made, shared.target);
    END IF;
    -- What the owner makes has the rights that roles were granted to such tables.
    IF owner <> current_user THEN
        PERFORM set_config('role', owner, true);
    END IF;
    IF shared.place IS NULL THEN
        EXECUTE format('CREATE TABLE lineage_data.%I (%s)', given.table_name, definition);
    ELSE
        PERFORM {_S}.make_shared(given.table_name, definition, given.layout);
    END IF;
    EXECUTE format('COMMENT ON TABLE lineage_data.%I IS %L', given.table_name,
        (SELECT format('%s %L of %s %s of pipeline %L', given.kind, given.name,
            CASE WHEN shared.place IS NULL THEN 'run' ELSE 'batches of a stream, the first that of run' END, run, one.pipeline)
        FROM {_S}.runs one WHERE one.id = run));
    PERFORM set_config('role', before, true);
    RETURN concat_ws(' ', made, shared.target);
END
$$
"""

_TAKE_OUT_ROWS = f"""
CREATE FUNCTION {_S}.take_out_rows(stored {_S}.materializations) RETURNS void LANGUAGE plpgsql {_SAFE_PATH}
AS $$
BEGIN
    IF stored.shared IS NULL THEN
        EXECUTE format('DELETE FROM lineage_data.%I', stored.table_name);
    ELSE
        EXECUTE format('DELETE FROM lineage_data.%I WHERE "_materialization" = $1', stored.table_name) USING stored.id;
    END IF;
END
$$
"""

# A value that is too long for a B-tree would be refused when it comes, in a later batch: what may be long has a hash index.
_INDEX_SHARED = f"""
CREATE FUNCTION {_S}.index_shared(place bigint, target text, keys text[], short boolean) RETURNS void LANGUAGE plpgsql {_SAFE_PATH}
AS $$
DECLARE
    wanted text[] := CASE WHEN short THEN ARRAY['btree (' || array_to_string(keys, ', ') || ', "_materialization")']
        ELSE (SELECT array_agg('hash (' || key || ')') FROM unnest(keys) AS key) END;
    one text;
    named text;
BEGIN
    FOREACH one IN ARRAY wanted LOOP
        named := format('shared_%s_%s', place, left(md5(one), 16));
        IF to_regclass('lineage_data.' || quote_ident(named)) IS NULL THEN
            EXECUTE format('CREATE INDEX %I ON lineage_data.%I USING %s', named, target, one);
        END IF;
    END LOOP;
END
$$
"""

# As before, but that shared tables are indexed once, and need no statistics after each batch.
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
        WHERE m.id = loaded.id RETURNING m.id, m.name, m.kind, m.table_name, m.folder, m.rows, m.shared
    LOOP
        CONTINUE WHEN stored.folder IS NOT NULL;
        IF stored.shared IS NOT NULL THEN
            PERFORM {_S}.index_shared(stored.shared, stored.table_name, one.keys, one.short)
            FROM json_to_recordset(tables::json) AS one (name text, keys text[], own text, short boolean, number boolean)
            WHERE one.name = stored.name AND one.own IS NULL AND NOT one.number;
            -- Later on what keeps PostgreSQL's statistics does it by itself.
            IF EXISTS (SELECT FROM {_S}.shared_tables t WHERE t.id = stored.shared AND t.batches & (t.batches - 1) = 0) THEN
                EXECUTE format('ANALYZE lineage_data.%I', stored.table_name);
            END IF;
            CONTINUE;
        END IF;
        PERFORM {_S}.make_index(stored.table_name, one.keys)
        FROM json_to_recordset(tables::json) AS one (name text, keys text[], own text) WHERE one.name = stored.name AND one.own IS NULL;
        EXECUTE format('ANALYZE lineage_data.%I', stored.table_name);
        CONTINUE WHEN stored.kind <> 'result' OR stored.rows < 20000;
        -- What people will name rows of a large result by: columns whose values are all different, as far as ANALYZE has seen.
        FOR wanted IN SELECT one.keys FROM ROWS FROM (json_to_recordset(tables::json) AS (name text, keys text[], own text))
                WITH ORDINALITY AS one (name, keys, own, at)
            JOIN pg_stats s ON s.schemaname = 'lineage_data' AND s.tablename = stored.table_name AND s.attname = one.own
            WHERE one.name = stored.name AND s.n_distinct = -1 AND s.null_frac = 0 ORDER BY one.at LIMIT 2
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

# As before, but for shared tables.
_INDEX_COLUMN = f"""
CREATE FUNCTION {_S}.index_column(run text, materialization bigint, columns text[]) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER {_SAFE_PATH} SET lock_timeout = '50ms'
AS $$
DECLARE
    target text;
    many bigint;
    shared_place bigint;
    place regclass;
    chosen record;
BEGIN
    IF {_S}.hold_run(run) IS DISTINCT FROM 'complete' THEN
        RETURN 'the run is gone';
    END IF;
    SELECT m.table_name, m.rows, m.shared INTO target, many, shared_place FROM {_S}.materializations m
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
        IF shared_place IS NULL THEN
            EXECUTE format('CREATE INDEX ON %s USING btree (%I)', place, chosen.attname);
        ELSE  -- into which longer values may come
            EXECUTE format('CREATE INDEX ON %s USING hash (%I)', place, chosen.attname);
        END IF;
    EXCEPTION WHEN program_limit_exceeded THEN
        EXECUTE format('CREATE INDEX ON %s USING hash (%I)', place, chosen.attname);
    END;
    RETURN format('indexed %s', chosen.attname);
EXCEPTION WHEN lock_not_available THEN
    RETURN 'it is in use';
END
$$
"""

# Each of them in a table of its own, as it would be without shared ones.
_APART = f"""
DO $$
DECLARE
    stored {_S}.materializations;
    target text;
BEGIN
    FOR stored IN SELECT m.* FROM {_S}.materializations m WHERE m.shared IS NOT NULL LOOP
        target := stored.run_id || '~' || stored.id;
        EXECUTE format('CREATE TABLE lineage_data.%I (LIKE lineage_data.%I)', target, stored.table_name);
        EXECUTE format('INSERT INTO lineage_data.%I SELECT * FROM lineage_data.%I WHERE "_materialization" = $1', target, stored.table_name)
            USING stored.id;
        EXECUTE format('ALTER TABLE lineage_data.%I DROP COLUMN "_materialization"', target);
        UPDATE {_S}.materializations m SET table_name = target, shared = NULL WHERE m.id = stored.id;
    END LOOP;
    FOR target IN SELECT t.table_name FROM {_S}.shared_tables t LOOP
        EXECUTE format('DROP TABLE lineage_data.%I', target);
    END LOOP;
END
$$
"""
_NEW = (
    "still_stored(bigint)", "shared_table(text, text, text, text)", "make_shared(text, text, text)",
    f"take_out_rows({_S}.materializations)", "index_shared(bigint, text, text[], boolean)",
)  # fmt: skip
_CHANGED = ("_MAKE_TABLE", "_PUBLISH_RUN", "_INDEX_COLUMN")


def upgrade() -> None:
    """Make them; what is stored stays where it is."""
    op.add_column("runs", sa.Column("indexes", sa.Text), schema=_S)
    op.create_table(
        "shared_tables",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
        sa.Column("stream", sa.Text, nullable=False),
        sa.Column("table_name", sa.Text, nullable=False, unique=True),
        sa.Column("batches", sa.BigInteger, nullable=False),
        schema=_S,
    )
    op.create_index("shared_tables_stream", "shared_tables", ["stream", "id"], schema=_S)
    shared = sa.Column("shared", sa.BigInteger, sa.ForeignKey(f"{_S}.shared_tables.id"))
    op.add_column("materializations", shared, schema=_S)
    op.drop_constraint("materializations_table_name_key", "materializations", schema=_S)
    own, others = sa.text("shared IS NULL"), sa.text("shared IS NOT NULL")
    op.create_index("materializations_table", "materializations", ["table_name"], unique=True, schema=_S, postgresql_where=own)
    op.create_index("materializations_shared", "materializations", ["shared"], schema=_S, postgresql_where=others)
    for text in (_STILL_STORED, _SHARED_TABLE, _MAKE_SHARED, _TAKE_OUT_ROWS, _INDEX_SHARED):
        op.execute(text)
    _replace(_MAKE_TABLE, _PUBLISH_RUN, _INDEX_COLUMN)


def downgrade() -> None:
    """As it was."""
    op.execute(_APART)
    scripts = op.get_context().script
    assert scripts is not None
    before = scripts.get_revision(down_revision).module
    _replace(*(getattr(before, name) for name in _CHANGED))
    for one in _NEW:
        op.execute(f"DROP FUNCTION {_S}.{one}")
    for name in ("materializations_shared", "materializations_table"):
        op.drop_index(name, "materializations", schema=_S)
    op.create_unique_constraint("materializations_table_name_key", "materializations", ["table_name"], schema=_S)
    op.drop_column("materializations", "shared", schema=_S)
    op.drop_table("shared_tables", schema=_S)
    op.drop_column("runs", "indexes", schema=_S)


def _replace(*texts: str) -> None:
    """Who may call them stays as it is."""
    for text in texts:
        op.execute(text.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1))
