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


def upgrade() -> None:
    """Make them."""
    op.execute(_KEEP_ANSWER)


def downgrade() -> None:
    """Drop them."""
    op.execute(f"DROP FUNCTION {_S}.keep_answer(text, text, text, bytea)")
