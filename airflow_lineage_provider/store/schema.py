"""The catalog's tables, as SQLAlchemy Core sees them. The migrations make them; a test compares the two."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from airflow_lineage_provider.errors import RecordDamaged, StoreError
from airflow_lineage_provider.store.sqltext import CATALOG_SCHEMA
from airflow_lineage_provider.store.textescape import escape, unescape

HEAD = "0026"
VERSION_TABLE = "schema_version"
STATUSES = ("running", "complete", "incomplete", "failed", "dropped")

metadata = sa.MetaData(schema=CATALOG_SCHEMA)


def safe_text(value: str) -> str:
    """The form in which PostgreSQL can hold any Python text."""
    return escape(value.encode("utf-8", "backslashreplace").decode())


class SafeText(sa.types.TypeDecorator[str]):
    """Any Python text, NUL characters and lone surrogates included."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """To the stored form."""
        return None if value is None else safe_text(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """From the stored form."""
        return None if value is None else unescape(value)


class JsonText(sa.types.TypeDecorator[Any]):
    """JSON as Python writes it, in a text: PostgreSQL's own type refuses NaN, and NUL characters in strings."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str:
        """To the stored form."""
        try:
            return json.dumps(value)
        except (TypeError, ValueError) as error:
            raise StoreError(f"cannot be kept in the catalog as JSON: {error}, in {value!r:.500}") from error

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        """From the stored form."""
        try:
            return None if value is None else json.loads(value)
        except ValueError as error:
            raise RecordDamaged(f"a text of the catalog is not JSON, which it should be: {error}, in {value!r:.100}") from error


_time = sa.DateTime(timezone=True)

plans = sa.Table(
    "plans",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("plan", SafeText, nullable=False),
)
"""Plans that several runs share (those of a stream's batches), by their texts' SHA-256."""

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("pipeline", SafeText, nullable=False),
    sa.Column("status", sa.Text, sa.CheckConstraint(f"status IN ({', '.join(map(repr, STATUSES))})"), nullable=False),
    sa.Column("started", _time, nullable=False),
    sa.Column("finished", _time),
    sa.Column("strategy", SafeText, nullable=False),
    sa.Column("reasons", SafeText, nullable=False),
    sa.Column("params", JsonText),
    sa.Column("plan", SafeText),
    sa.Column("segments", JsonText),
    sa.Column("inputs", JsonText),
    sa.Column("udfs", JsonText),
    sa.Column("conf", JsonText),
    sa.Column("timings", JsonText),
    sa.Column("row_counts", JsonText),
    sa.Column("output", JsonText),
    sa.Column("error", SafeText),
    sa.Column("airflow", JsonText),
    sa.Column("versions", JsonText),
    sa.Column("choices", JsonText),
    sa.Column("plan_digest", sa.Text),
    sa.Column("captured", JsonText),
    sa.Column("sketches", JsonText),
    sa.Column("indexes", JsonText),
    sa.Column("shared_plan", sa.Text, sa.ForeignKey("lineage.plans.digest")),
    sa.Index("runs_shared_plan", "shared_plan", postgresql_where=sa.text("shared_plan IS NOT NULL")),
    sa.Index("runs_running", "id", postgresql_where=sa.text("status = 'running'")),
    sa.Index("runs_finished", "finished", postgresql_where=sa.text("status IN ('complete', 'incomplete', 'failed')")),
)

RUN_IDS = runs.c.id.collate("C")
"""The ids of runs byte by byte, as the indexes have them: the last is the newest, and how an id begins is found."""

sa.Index("runs_ids", RUN_IDS)
sa.Index("runs_pipeline", runs.c.pipeline, RUN_IDS)
sa.Index("runs_complete", RUN_IDS, postgresql_where=sa.text("status = 'complete'"))
sa.Index("runs_complete_of_pipeline", runs.c.pipeline, RUN_IDS, postgresql_where=sa.text("status = 'complete'"))

JSON_OF_RUNS = frozenset(one.name for one in runs.columns if isinstance(one.type, JsonText))

batches = sa.Table(
    "batches",
    metadata,
    sa.Column("pipeline", SafeText, primary_key=True),
    sa.Column("query", sa.Text, primary_key=True),
    sa.Column("batch", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE"), nullable=False, unique=True),
    sa.Column("form", sa.Text, nullable=False, server_default="running"),
    sa.Column("gap", sa.BigInteger, nullable=False, server_default="0"),
    sa.Index("batches_form", "pipeline", "form", "query", "batch"),
    sa.Index("batches_gap", "pipeline", "query", "batch", postgresql_where=sa.text("gap > 0")),
)
"""Batches of streams, and the last run of each. The database keeps ``form``, of a complete one a digest of what its result is asked by
(`lineage.batch_form`), else its run's status; and ``gap``: of how many numbers directly below nothing is recorded."""

shared_tables = sa.Table(
    "shared_tables",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("stream", sa.Text, nullable=False),
    sa.Column("table_name", sa.Text, nullable=False, unique=True),
    sa.Column("batches", sa.BigInteger, nullable=False),
    sa.Index("shared_tables_stream", "stream", "id"),
)
"""Tables that batches of one stream have their rows in: ``stream`` is a digest of pipeline, query, the materialization's name and columns,
``batches`` is how many ever had."""

materializations = sa.Table(
    "materializations",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE"), nullable=False),
    sa.Column("name", SafeText, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("table_name", sa.Text, nullable=False),
    sa.Column("layout", sa.Text, nullable=False),
    sa.Column("row_count_hint", sa.BigInteger),
    sa.Column("rows", sa.BigInteger),
    sa.Column("escaped", JsonText),
    sa.Column("folder", SafeText),
    sa.Column("files", JsonText),
    sa.Column("checksums", JsonText),
    sa.Column("shared", sa.BigInteger, sa.ForeignKey("lineage.shared_tables.id")),
    sa.UniqueConstraint("run_id", "name"),
    sa.Index("materializations_table", "table_name", unique=True, postgresql_where=sa.text("shared IS NULL")),
    sa.Index("materializations_shared", "shared", postgresql_where=sa.text("shared IS NOT NULL")),
)

discarded_folders = sa.Table(
    "discarded_folders",
    metadata,
    sa.Column("folder", SafeText, primary_key=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("discarded", _time, nullable=False),
)

loads = sa.Table(
    "loads",
    metadata,
    sa.Column("materialization_id", sa.BigInteger, sa.ForeignKey("lineage.materializations.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True),
    sa.Column("attempt", sa.BigInteger, nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("escaped", JsonText),
    sa.Column("loaded", _time),
)

outputs = sa.Table(
    "outputs",
    metadata,
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE"), nullable=False),
    sa.Column("place", SafeText, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Index("outputs_place", "place", postgresql_using="hash"),
    sa.Index("outputs_run", "run_id"),
)

derivation_sets = sa.Table(
    "derivation_sets",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE"), nullable=False),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("occasion", SafeText, nullable=False),
    sa.Column("since", sa.Text),
    sa.Column("target", SafeText, nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("chunk_rows", sa.BigInteger, nullable=False),
    sa.Column("created", _time, nullable=False),
    sa.Index("derivation_sets_question", "question"),
    sa.Index("derivation_sets_run", "run_id"),
)
"""Questions whose answers are several derivations; complete are those that have all their chunks."""

derivations = sa.Table(
    "derivations",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("target", SafeText, nullable=False),
    sa.Column("created", _time, nullable=False),
    sa.Column("status", SafeText, nullable=False),
    sa.Column("seconds", sa.Double),
    sa.Column("counts", JsonText),
    sa.Column("guarantees", JsonText),
    sa.Column("details", JsonText),
    sa.Column("airflow", JsonText),
    sa.Column("set_id", sa.Text, sa.ForeignKey("lineage.derivation_sets.id", ondelete="CASCADE")),
    sa.Column("chunk", sa.BigInteger),
    sa.Column("chunks", sa.BigInteger),
    sa.Column("question", sa.Text, nullable=False, server_default="explain"),
    sa.Index("derivations_chunk", "set_id", "chunk", unique=True, postgresql_where=sa.text("set_id IS NOT NULL")),
)

DERIVATION_TABLES = ("source", "intermediate", "reasons", "target", "links", "asked", "result", "evidence")

derivation_tables = sa.Table(
    "derivation_tables",
    metadata,
    sa.Column("derivation_id", sa.Text, sa.ForeignKey("lineage.derivations.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("name", SafeText, nullable=False),
    sa.Column("kind", sa.Text, sa.CheckConstraint(f"kind IN ({', '.join(map(repr, DERIVATION_TABLES))})"), nullable=False),
    sa.Column("guarantee", SafeText, nullable=False),
    sa.Column("cause", SafeText),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("arrow", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("derivation_id", "name"),
)

reasons = sa.Table(
    "reasons",
    metadata,
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("function", SafeText, primary_key=True),
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("value", SafeText),
    sa.Column("reason", SafeText),
)

reason_relations = sa.Table(
    "reason_relations",
    metadata,
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
"""Relations that long reasons of a run, and of answers about it, have apart (`reasons.apart`), by the SHA-256 of their bytes."""

captured_parts = sa.Table(
    "captured_parts",
    metadata,
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("map", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("content", sa.LargeBinary),
    sa.Column("crc", sa.BigInteger),
    sa.Column("at", sa.BigInteger),
    sa.Column("length", sa.BigInteger),
    sa.CheckConstraint("(content IS NULL) = (at IS NOT NULL AND length IS NOT NULL AND crc IS NOT NULL)", name="captured_parts_place"),
)
"""The indexes of captured lineage, in parts (`capture`), each with its checksum (`capture.encodings.written.checksum`; NULL of earlier
releases); what they are stands in the run's record. Of a part without ``content`` it is told ``at`` which byte of the file of the run's
index it begins (`captured_folders`), and how long it is."""

captured_folders = sa.Table(
    "captured_folders",
    metadata,
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("folder", SafeText, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
)
"""Where captured lineage stands that is no small one: a folder, as a URI, with one file of so many bytes."""

kept_udfs = sa.Table(
    "kept_udfs",
    metadata,
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("version", sa.Text, primary_key=True),
    sa.Column("name", SafeText, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("python", sa.Text, nullable=False),
    sa.Column("libraries", JsonText, nullable=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),
)

sketch_cuts = sa.Table(
    "sketch_cuts",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
"""Partitions of columns into fragments, which several sketches share, by the SHA-256 of their bytes."""

sketches = sa.Table(
    "sketches",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE"), nullable=False),
    sa.Column("pipeline", SafeText, nullable=False),
    sa.Column("template", sa.Text, nullable=False),
    sa.Column("binding", JsonText, nullable=False),
    sa.Column("leaf", sa.Integer, nullable=False),
    sa.Column("table", SafeText, nullable=False),
    sa.Column("column", SafeText, nullable=False),
    sa.Column("versions", JsonText, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("cuts", sa.Text, sa.ForeignKey("lineage.sketch_cuts.digest"), nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("total", sa.BigInteger, nullable=False),
    sa.Column("proof", SafeText, nullable=False),
    sa.Column("created", _time, nullable=False),
    sa.Column("kind", sa.Text),
    sa.Column("proof_ms", sa.Double),
    sa.Column("bytes", sa.BigInteger),
    sa.Column("quarantined", SafeText),
    sa.Index("sketches_template", "template"),
    sa.Index("sketches_run", "run_id"),
    sa.Index("sketches_cuts", "cuts"),
)
"""Provenance sketches of runs' results (`sketches`); dropped with the runs that they are of. ``bytes`` are those of the source's version;
one that is ``quarantined``, which says why, is not used."""

sketch_uses = sa.Table(
    "sketch_uses",
    metadata,
    sa.Column("sketch_id", sa.Text, sa.ForeignKey("lineage.sketches.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("rows", sa.BigInteger),
    sa.Column("total", sa.BigInteger),
    sa.Column("seconds", sa.Double),
    sa.Column("bytes", sa.BigInteger),
    sa.Column("total_bytes", sa.BigInteger),
    sa.Index("sketch_uses_run", "run_id"),
)
"""Which runs read a source through which sketch: so many rows, and bytes, of so many, in a run that took so many seconds."""

sketch_runs = sa.Table(
    "sketch_runs",
    metadata,
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("template", sa.Text, nullable=False),
    sa.Column("binding", JsonText, nullable=False),
    sa.Column("versions", JsonText, nullable=False),
    sa.Column("seconds", sa.Double),
    sa.Column("through", sa.Boolean, nullable=False),
    sa.Column("capture", sa.Double),
    sa.Column("share", sa.Double),
    sa.Index("sketch_runs_template", "template"),
)
"""What runs with sketches took (`sketches.policy`), by their templates; dropped with the runs."""

arrays = sa.Table(
    "arrays",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("name", SafeText, nullable=False),
    sa.Column("shape", JsonText, nullable=False),
    sa.Column("labels", JsonText),
    sa.Column("owner", SafeText),
    sa.Column("run_id", sa.Text, sa.ForeignKey("lineage.runs.id", ondelete="CASCADE")),
    sa.Column("derivation_id", sa.Text, sa.ForeignKey("lineage.derivations.id", ondelete="CASCADE")),
    sa.Column("created", _time, nullable=False),
    sa.Index("arrays_owner", "owner", postgresql_using="hash"),
    sa.Index("arrays_run", "run_id", postgresql_where=sa.text("run_id IS NOT NULL")),
    sa.Index("arrays_derivation", "derivation_id", postgresql_where=sa.text("derivation_id IS NOT NULL")),
    sa.Index("arrays_created", "created"),
)
"""Named arrays, by the SHA-256 of their names; dropped with their owner: a task of Airflow's, a run or a derivation."""

array_relations = sa.Table(
    "array_relations",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("source", sa.Text, sa.ForeignKey("lineage.arrays.digest", ondelete="CASCADE"), nullable=False),
    sa.Column("output", sa.Text, sa.ForeignKey("lineage.arrays.digest", ondelete="CASCADE"), nullable=False),
    sa.Column("turned", sa.Boolean, nullable=False),
    sa.Column("guarantee", sa.Text, nullable=False),
    sa.Column("operation", SafeText, nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("source", "output"),
    sa.Index("array_relations_output", "output"),
)
"""Compressed relations between arrays (`arrays.codec`), and the operations that made the outputs."""

array_operations = sa.Table(
    "array_operations",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("name", SafeText, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
"""What is known of operations between arrays (`arrays.operation_codec`), by the SHA-256 of their names."""
