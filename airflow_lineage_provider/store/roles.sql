-- Roles of a results store: what each may do, and nothing else. Run it in the store's database, as a superuser or as the role that owns the
-- store and may create roles, when the store has been opened once; running it again does no harm.
--
--   lineage_owner    runs pipelines, upgrades, drops: owns the catalog and the stored tables
--   lineage_loader   Spark's executors during a run: put rows into the tables of running runs, and read none
--   lineage_reader   looks at runs, explains without keeping the answer; Spark's executors during a derivation
--   lineage_deriver  a reader who also keeps derivations and reasons, and has large results indexed by what is looked for in them
--
-- They do not log in themselves. Give your own roles what they need:
--
--   GRANT lineage_owner TO airflow;              -- the drivers: AIRFLOW_LINEAGE_STORE
--   GRANT lineage_loader TO spark_executors;     -- AIRFLOW_LINEAGE_LOADER_STORE
--   GRANT lineage_reader TO analyst;             -- AIRFLOW_LINEAGE_READER_STORE, or AIRFLOW_LINEAGE_STORE of who only asks
--   ALTER ROLE analyst SET temp_file_limit = '10GB';  -- a superuser's to set; other limits are settings of the clients

DO $$
DECLARE
    name text;
    thing record;
BEGIN
    IF to_regclass('lineage.runs') IS NULL OR to_regprocedure('lineage.keep_answer(text, text, text, bytea)') IS NULL THEN
        RAISE EXCEPTION 'there is no results store of this release in database %: open it once, or run airflow-lineage store upgrade',
            current_database();
    END IF;
    FOREACH name IN ARRAY ARRAY['lineage_owner', 'lineage_loader', 'lineage_reader', 'lineage_deriver'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
    END LOOP;
    -- Whoever owned the store until now stays able to use it.
    FOR thing IN SELECT DISTINCT o.rolname AS owner FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner
        WHERE n.nspname IN ('lineage', 'lineage_data') AND NOT o.rolsuper AND o.rolname <> 'lineage_owner' LOOP
        EXECUTE format('GRANT lineage_owner TO %I', thing.owner);
    END LOOP;
    IF NOT pg_has_role('lineage_owner', 'MEMBER') THEN
        EXECUTE format('GRANT lineage_owner TO %I', current_user);
    END IF;
    EXECUTE format('GRANT CREATE, CONNECT, TEMPORARY ON DATABASE %I TO lineage_owner', current_database());
    EXECUTE format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO lineage_loader, lineage_reader', current_database());
    BEGIN
        -- To see and to end the loads of tasks that outlived their driver.
        GRANT pg_read_all_stats, pg_signal_backend TO lineage_owner;
    EXCEPTION WHEN insufficient_privilege THEN
        RAISE NOTICE 'a superuser should GRANT pg_read_all_stats, pg_signal_backend TO lineage_owner';
    END;

    EXECUTE 'ALTER SCHEMA lineage OWNER TO lineage_owner';
    EXECUTE 'ALTER SCHEMA lineage_data OWNER TO lineage_owner';
    FOR thing IN SELECT n.nspname AS schema, c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('lineage', 'lineage_data') AND c.relkind = 'r' AND pg_get_userbyid(c.relowner) <> 'lineage_owner' LOOP
        EXECUTE format('ALTER TABLE %I.%I OWNER TO lineage_owner', thing.schema, thing.name);
    END LOOP;
    FOR thing IN SELECT p.oid::regprocedure::text AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = 'lineage' LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO lineage_owner', thing.name);
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA lineage, lineage_data TO lineage_loader, lineage_reader;

GRANT EXECUTE ON FUNCTION lineage.begin_load(text, bigint, int, bigint) TO lineage_loader;
GRANT EXECUTE ON FUNCTION lineage.end_load(text, bigint, int, bigint, bigint, text) TO lineage_loader;
GRANT EXECUTE ON FUNCTION lineage.keep_relation(text, text, bytea) TO lineage_loader;
-- On tables that runs make from now on; publishing a run takes it away again.
ALTER DEFAULT PRIVILEGES FOR ROLE lineage_owner IN SCHEMA lineage_data GRANT INSERT ON TABLES TO lineage_loader;

GRANT SELECT ON ALL TABLES IN SCHEMA lineage, lineage_data TO lineage_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE lineage_owner IN SCHEMA lineage GRANT SELECT ON TABLES TO lineage_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE lineage_owner IN SCHEMA lineage_data GRANT SELECT ON TABLES TO lineage_reader;

GRANT lineage_reader TO lineage_deriver;
GRANT INSERT ON lineage.derivations, lineage.derivation_sets, lineage.derivation_tables, lineage.reasons, lineage.reason_relations, lineage.arrays,
    lineage.array_relations TO lineage_deriver;
GRANT EXECUTE ON FUNCTION lineage.hold_run(text), lineage.index_column(text, bigint, text[]) TO lineage_deriver;
