"""Stored answers: derivations with their tables as Arrow, and the reasons that were computed for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from airflow_lineage_provider.errors import DerivationNotFound, RecordDamaged, RunNotComplete, RunNotFound, StoreError
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import schema
from airflow_lineage_provider.store.ids import is_possible, new_id
from airflow_lineage_provider.store.records import DerivationRecord, DerivationTable
from airflow_lineage_provider.store.selecting import Select
from airflow_lineage_provider.typed_json import read_one_of, written

if TYPE_CHECKING:
    import pyarrow as pa

_FIELDS = ("id", "run_id", "target", "created", "status", "seconds", "counts", "guarantees", "details", "airflow")
_DOCUMENTS = {"counts": Mapping[str, int], "guarantees": Mapping[str, Guarantee], "details": Mapping[str, object]}
# PostgreSQL holds values of up to 1 GB, and psycopg2 writes two characters for a byte.
_MOST_BYTES = 500_000_000
_DIGESTS_AT_ONCE = 10_000


_DIGESTS = sa.func.string_to_array(sa.bindparam("digests", type_=sa.Text), sa.literal_column("' '"), type_=sa.ARRAY(sa.Text))
_KNOWN_REASONS = sa.select(schema.reasons.c.digest, schema.reasons.c.value, schema.reasons.c.reason).where(
    schema.reasons.c.run_id == sa.bindparam("run"),
    schema.reasons.c.function == sa.bindparam("called"),
    schema.reasons.c.digest == sa.any_(_DIGESTS),
)


def save(connection: sa.Connection, record: DerivationRecord) -> str:
    """Enter a derivation; its id.

    :raises RunNotFound: there is no such run.
    :raises RunNotComplete: the run was dropped or is not complete.
    :raises StoreError: a table is larger than PostgreSQL can hold.
    """
    _check_complete(connection, record.run_id)
    made = replace(record, id=record.id or new_id(), created=record.created or datetime.now(UTC))
    connection.execute(schema.derivations.insert().values({name: _stored(made, name) for name in _FIELDS}))
    for position, (name, table) in enumerate(made.tables.items()):
        connection.execute(schema.derivation_tables.insert().values(_table_row(made.id, position, name, table)))
    return made.id


def _check_complete(connection: sa.Connection, run_id: str) -> None:
    status = connection.execute(sa.text("SELECT lineage.hold_run(:run)"), {"run": run_id}).scalar()
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
    with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    found = out.getvalue().to_pybytes()
    if len(found) > _MOST_BYTES:
        raise StoreError(f"table {name!r} of a derivation takes {len(found):,} bytes, more than {_MOST_BYTES:,}: choose a smaller target")
    return bytes(found)


def load(connection: sa.Connection, derivation_id: str) -> DerivationRecord:
    """One derivation with its tables.

    :raises DerivationNotFound: there is no such derivation.
    """
    if not is_possible(derivation_id):
        raise DerivationNotFound(f"{shown(derivation_id)} is no derivation's id: it is missing, or not text that the store can hold")
    row = connection.execute(sa.select(schema.derivations).where(schema.derivations.c.id == derivation_id)).mappings().first()
    if row is None:
        raise DerivationNotFound(f"there is no derivation {shown(derivation_id)} in the results store (its run may have been dropped)")
    tables = schema.derivation_tables
    found = connection.execute(sa.select(tables).where(tables.c.derivation_id == derivation_id).order_by(tables.c.position)).mappings()
    return replace(_record(row), tables={entry["name"]: _table(entry) for entry in found})


def _table(row: Mapping[Any, Any]) -> DerivationTable:
    import pyarrow as pa

    return DerivationTable(row["kind"], pa.ipc.open_stream(bytes(row["arrow"])).read_all(), row["guarantee"], row["cause"])


def _stored(record: DerivationRecord, name: str) -> Any:
    value = getattr(record, name)
    return value if name == "created" else written(value)


def _record(row: Mapping[Any, Any]) -> DerivationRecord:
    """:raises RecordDamaged: it cannot be read."""
    given = {name: row[name] for name in _FIELDS}
    try:
        documents = {name: read_one_of(kind, given[name] or {}, name) for name, kind in _DOCUMENTS.items()}
    except RecordDamaged as problem:
        raise RecordDamaged(f"derivation {row['id']} cannot be read: {problem}") from problem
    return DerivationRecord(**{**given, **documents})


def of_run(connection: sa.Connection, run_id: str) -> list[DerivationRecord]:
    """A run's derivations, newest first, without their tables."""
    table = schema.derivations
    rows = connection.execute(sa.select(table).where(table.c.run_id == run_id).order_by(table.c.id.desc())).mappings()
    return [_record(row) for row in rows]


def cached_reasons(select: Select, run_id: str, function: str, digests: Sequence[str]) -> dict[str, tuple[str, str]]:
    """What is known of a function's calls, by digest of their arguments: the value's and the reason's JSON."""
    found: dict[str, tuple[str, str]] = {}
    for start in range(0, len(digests), _DIGESTS_AT_ONCE):
        some = " ".join(digests[start : start + _DIGESTS_AT_ONCE])
        rows = select(_KNOWN_REASONS, {"run": run_id, "called": function, "digests": some})
        found.update({row["digest"]: (row["value"], row["reason"]) for row in rows})
    return found


def save_reasons(connection: sa.Connection, run_id: str, function: str, rows: Mapping[str, tuple[str, str]]) -> None:
    """Keep reasons; what is known already stays as it is, since an explanation must not change."""
    _check_complete(connection, run_id)
    values = [
        {"run_id": run_id, "function": function, "digest": digest, "value": value, "reason": reason}
        for digest, (value, reason) in sorted(rows.items())
    ]
    if values:
        connection.execute(insert(schema.reasons).on_conflict_do_nothing(), values)
