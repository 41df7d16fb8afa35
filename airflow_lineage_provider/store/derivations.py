"""Stored answers: derivations with their tables as Arrow, and the reasons that were computed for them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from airflow_lineage_provider.errors import DerivationNotFound, RecordDamaged, RunNotComplete, RunNotFound, StoreError
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.reasons.apart import NOTHING_APART, Relations, names_in
from airflow_lineage_provider.records.derivation_sets import ChunkPlace
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import kept_at_once, kept_relations, schema
from airflow_lineage_provider.store.given_tables import array_text
from airflow_lineage_provider.store.ids import is_possible, new_id
from airflow_lineage_provider.store.portions import in_portions
from airflow_lineage_provider.store.reading import Reading
from airflow_lineage_provider.store.records import DerivationRecord, DerivationTable
from airflow_lineage_provider.store.session import Session
from airflow_lineage_provider.store.sqltext import literal
from airflow_lineage_provider.store.textescape import unescape_array
from airflow_lineage_provider.typed_json import read_one_of, written

if TYPE_CHECKING:
    import pyarrow as pa

_FIELDS = ("id", "run_id", "question", "target", "created", "status", "seconds", "counts", "guarantees", "details", "airflow")
_DOCUMENTS = {"counts": Mapping[str, int], "guarantees": Mapping[str, Guarantee], "details": Mapping[str, object]}
# PostgreSQL holds values of up to 1 GB, and psycopg2 writes two characters for a byte.
_MOST_BYTES = 500_000_000
_PLAIN_BYTES = 4_096
_BYTES_TOGETHER = 4_000_000
_CHUNK: dict[str, Any] = {"index_elements": ["set_id", "chunk"], "index_where": sa.text("set_id IS NOT NULL")}
_CALLS_AT_ONCE = 10_000
_LENGTH_AT_ONCE = 8_000_000
_KEEP = sa.text(f"""
    INSERT INTO {schema.reasons.fullname} (run_id, function, digest, value, reason)
    SELECT :run, :function, * FROM unnest(CAST(:digests AS text[]), CAST(:values AS text[]), CAST(:reasons AS text[]))
    ON CONFLICT DO NOTHING""")


def save(connection: sa.Connection, record: DerivationRecord) -> str:
    """Enter a derivation; its id. Of a chunk that is stored already it is the id of that one.

    :raises RunNotFound: there is no such run.
    :raises RunNotComplete: the run was dropped or is not complete.
    :raises StoreError: a table is larger than PostgreSQL can hold.
    """
    check_complete(connection, record.run_id)
    made, values = _made(record)
    entered = insert(schema.derivations).values(values).on_conflict_do_nothing(**_CHUNK).returning(schema.derivations.c.id)
    if connection.execute(entered).first() is None and made.place is not None:
        return _of_chunk(connection, made.place)  # another try was there first
    kept_relations.enter(connection, made.run_id, made.relations)
    # Small tables at once: many round trips cost more than their rows, and a large one is in memory alone.
    for some in in_portions(_table_rows(made), lambda row: len(row["arrow"]), _BYTES_TOGETHER):
        connection.execute(schema.derivation_tables.insert(), some)
    return made.id


def is_small(record: DerivationRecord) -> bool:
    """Whether all of a derivation goes to the store at once (`save_at_once`)."""
    tables: int = sum(one.table.nbytes for one in record.tables.values())
    return tables + sum(map(len, record.relations.values())) <= _BYTES_TOGETHER


def save_at_once(session: Session, record: DerivationRecord) -> str:
    """`save` by one statement, after which the session's transaction has ended."""
    made, values = _made(record)
    status, kept = kept_at_once.keep(session, values, _table_rows(made), made.relations)
    _check_status(record.run_id, status)
    return kept


def _made(record: DerivationRecord) -> tuple[DerivationRecord, dict[str, Any]]:
    """A derivation with its id and time, and the columns that the catalog has of it."""
    made = replace(record, id=record.id or new_id(), created=record.created or datetime.now(UTC))
    place = {} if made.place is None else asdict(made.place)
    return made, {name: _stored(made, name) for name in _FIELDS} | place


def _table_rows(made: DerivationRecord) -> Iterator[dict[str, Any]]:
    return (_table_row(made.id, position, *named) for position, named in enumerate(made.tables.items()))


def _of_chunk(connection: sa.Connection, place: ChunkPlace) -> str:
    made = schema.derivations.c
    return str(connection.execute(sa.select(made.id).where(made.set_id == place.set_id, made.chunk == place.chunk)).scalar_one())


def check_complete(connection: sa.Connection, run_id: str) -> None:
    """See that there is something to keep an answer about, and that it stays until the transaction ends.

    :raises RunNotFound, RunNotComplete: there is not.
    """
    _check_status(run_id, connection.execute(sa.text("SELECT lineage.hold_run(:run)"), {"run": run_id}).scalar())


def _check_status(run_id: str, status: str | None) -> None:
    if status is None:
        raise RunNotFound(f"there is no run {run_id!r} in the results store")
    if status != "complete":
        raise RunNotComplete(f"run {run_id} is {status}: there is nothing to keep an answer about")


def _table_row(derivation_id: str, position: int, name: str, table: DerivationTable) -> dict[str, Any]:
    return {
        "derivation_id": derivation_id,
        "position": position,
        "name": name,
        "kind": table.kind,
        "guarantee": table.guarantee,
        "cause": table.cause,
        "rows": table.table.num_rows,
        "arrow": _to_bytes(name, table.table),
    }


def _to_bytes(name: str, table: pa.Table) -> bytes:
    import pyarrow as pa

    out = pa.BufferOutputStream()
    # The least that is compressed takes ten times as long as writing a few rows, and is larger.
    compression = "zstd" if table.nbytes > _PLAIN_BYTES else None
    with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    found = out.getvalue().to_pybytes()
    if len(found) > _MOST_BYTES:
        raise StoreError(f"table {name!r} of a derivation takes {len(found):,} bytes, more than {_MOST_BYTES:,}: choose a smaller target")
    return bytes(found)


def load(connection: sa.Connection, derivation_id: str) -> DerivationRecord:
    """One derivation with its tables.

    :raises DerivationNotFound: there is no such derivation.
    """
    _check_possible(derivation_id)
    row = connection.execute(sa.select(schema.derivations).where(schema.derivations.c.id == derivation_id)).mappings().first()
    if row is None:
        raise _not_there(derivation_id)
    tables = schema.derivation_tables
    found = connection.execute(sa.select(tables).where(tables.c.derivation_id == derivation_id).order_by(tables.c.position)).mappings()
    made = {entry["name"]: _table(entry) for entry in found}
    texts = (text for one in made.values() if one.kind == "reasons" for text in one.table.column(-1).to_pylist())
    return replace(record_of(row), tables=made, relations=kept_relations.found(connection, row["run_id"], names_in(texts)))


@dataclass(frozen=True, kw_only=True)
class DerivationSize:
    """What loading a derivation takes: the rows of its longest table, and the bytes of all as they are stored, compressed."""

    run_id: str
    rows: int
    bytes: int


def size(connection: sa.Connection, derivation_id: str) -> DerivationSize:
    """A derivation's run, and how large it is, of which nothing is loaded.

    :raises DerivationNotFound: there is no such derivation.
    """
    _check_possible(derivation_id)
    made, tables = schema.derivations.c, schema.derivation_tables.c
    most, stored = sa.func.coalesce(sa.func.max(tables.rows), 0), sa.func.coalesce(sa.func.sum(sa.func.octet_length(tables.arrow)), 0)
    joined = schema.derivations.outerjoin(schema.derivation_tables, tables.derivation_id == made.id)
    query = sa.select(made.run_id, most, stored).select_from(joined).where(made.id == derivation_id).group_by(made.id)
    found = connection.execute(query).first()
    if found is None:
        raise _not_there(derivation_id)
    return DerivationSize(run_id=str(found[0]), rows=int(found[1]), bytes=int(found[2]))


def _check_possible(derivation_id: str) -> None:
    if not is_possible(derivation_id):
        raise DerivationNotFound(f"{shown(derivation_id)} is no derivation's id: it is missing, or not text that the store can hold")


def _not_there(derivation_id: str) -> DerivationNotFound:
    return DerivationNotFound(f"there is no derivation {shown(derivation_id)} in the results store (its run may have been dropped)")


def _table(row: Mapping[Any, Any]) -> DerivationTable:
    import pyarrow as pa

    return DerivationTable(row["kind"], pa.ipc.open_stream(bytes(row["arrow"])).read_all(), row["guarantee"], row["cause"])


def _stored(record: DerivationRecord, name: str) -> Any:
    value = getattr(record, name)
    return value if name == "created" else written(value)


def record_of(row: Mapping[Any, Any]) -> DerivationRecord:
    """A derivation without its tables.

    :raises RecordDamaged: it cannot be read.
    """
    given = {name: row[name] for name in _FIELDS}
    try:
        documents = {name: read_one_of(kind, given[name] or {}, name) for name, kind in _DOCUMENTS.items()}
    except RecordDamaged as problem:
        raise RecordDamaged(f"derivation {row['id']} cannot be read: {problem}") from problem
    place = None if row["set_id"] is None else ChunkPlace(row["set_id"], row["chunk"], row["chunks"])
    return DerivationRecord(**{**given, **documents}, place=place)


def of_run(connection: sa.Connection, run_id: str, limit: int | None = None) -> list[DerivationRecord]:
    """A run's derivations, newest first, without their tables; no more than ``limit`` where one is given."""
    table = schema.derivations
    rows = connection.execute(sa.select(table).where(table.c.run_id == run_id).order_by(table.c.id.desc()).limit(limit)).mappings()
    return [record_of(row) for row in rows]


def last_chunks(connection: sa.Connection, asked: Collection[tuple[str, str]]) -> dict[tuple[str, str], ChunkPlace]:
    """Of runs and the DAG runs that ask about them, which chunk was stored last, where a question is answered in chunks."""
    pairs = [pair for pair in asked if all(map(is_possible, pair))]
    if not pairs:
        return {}
    made = schema.derivations.c
    context = sa.type_coerce(made.airflow, sa.Text)
    of_these = sa.or_(*(context.contains(f'"run_id": {json.dumps(dag_run)}', autoescape=True) for dag_run in {one for _, one in pairs}))
    newest = sa.select(sa.func.max(made.id)).where(made.set_id.is_not(None), made.run_id.in_({one for one, _ in pairs}), of_these)
    ids = newest.group_by(made.run_id, context).scalar_subquery()  # (each task, and each try, has a context of its own)
    query = sa.select(made.run_id, made.airflow, made.set_id, made.chunk, made.chunks).where(made.id.in_(ids)).order_by(made.id)
    found: dict[tuple[str, Any], ChunkPlace] = {}
    for run_id, of, *place in connection.execute(query):
        found[run_id, (of or {}).get("run_id")] = ChunkPlace(*place)
    return {pair: found[pair] for pair in pairs if pair in found}


def cached_reasons(reading: Reading, run_id: str, function: str, digests: Sequence[str]) -> pa.Table:
    """What is known of a function's calls: the digest of their arguments, and the value's and the reason's JSON."""
    import pyarrow as pa

    calls = pa.schema([(name, pa.string()) for name in ("digest", "value", "reason")])
    parts = [calls.empty_table()]
    for start in range(0, len(digests), _CALLS_AT_ONCE):
        asked = literal(array_text(digests[start : start + _CALLS_AT_ONCE]))
        found = reading.fetch(
            f"SELECT digest, value, reason FROM {schema.reasons.fullname} WHERE run_id = {literal(run_id)}"
            f" AND function = {literal(schema.safe_text(function))} AND digest = ANY ({asked}::text[])"
        )
        parts.append(pa.table([unescape_array(column.combine_chunks()) for column in found.columns], schema=calls))
    return pa.concat_tables(parts)


def save_reasons(
    connection: sa.Connection,
    run_id: str,
    function: str,
    rows: Mapping[str, tuple[str, str | None]],
    relations: Relations = NOTHING_APART,
) -> None:
    """Keep reasons; what is known already stays as it is, since an explanation must not change.

    :param relations: those that they have apart.
    """
    check_complete(connection, run_id)
    kept_relations.enter(connection, run_id, relations)
    # In one order, so that two who keep the same do not wait for each other.
    calls = sorted((digest, *decided) for digest, decided in rows.items())
    for some in in_portions(calls, lambda call: len(call[1]) + len(call[2] or ""), _LENGTH_AT_ONCE, _CALLS_AT_ONCE):
        columns = zip(*((digest, _safe(value), _safe(reason)) for digest, value, reason in some), strict=True)
        given = {name: array_text(column) for name, column in zip(("digests", "values", "reasons"), columns, strict=True)}
        connection.execute(_KEEP, {"run": run_id, "function": schema.safe_text(function)} | given)


def _safe(text: str | None) -> str | None:
    return None if text is None else schema.safe_text(text)
