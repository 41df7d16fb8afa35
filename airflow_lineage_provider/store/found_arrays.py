"""Arrays in the store, read: what a log asks, and what a person is shown."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from airflow_lineage_provider.arrays.labels import Labels
from airflow_lineage_provider.arrays.link import unsigned
from airflow_lineage_provider.arrays.operation_codec import decode_operation
from airflow_lineage_provider.arrays.reuse import Operation
from airflow_lineage_provider.errors import RecordDamaged, RelationDamaged, RelationTooNew
from airflow_lineage_provider.records.arrays import StoredArray, StoredRelation
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import schema

log = logging.getLogger(__name__)

_arrays = schema.arrays
_relations = schema.array_relations
_operations = schema.array_operations
_source, _output = _arrays.alias("source_array"), _arrays.alias("output_array")


@lru_cache(4096)
def digest(name: str) -> str:
    """By what an array, or an operation, is found."""
    return hashlib.sha256(name.encode()).hexdigest()


def described(connection: sa.Connection, names: Iterable[str]) -> dict[str, tuple[tuple[int, ...], Labels]]:
    """The shapes and the labels of arrays, by name; of those that there are."""
    query = sa.select(_arrays.c.name, _arrays.c.shape, _arrays.c.labels).where(_arrays.c.digest.in_([digest(one) for one in names]))
    return {name: (tuple(shape), labels_of(name, labels)) for name, shape, labels in connection.execute(query)}


def labels_of(name: str, kept: Any) -> Labels:
    """The labels of an array, as the catalog has them: JSON's keys are texts.

    :raises RecordDamaged: they are no labels.
    """
    try:
        return {int(axis): tuple(of) for axis, of in (kept or {}).items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise RecordDamaged(f"the labels of array {shown(name)} are damaged: {error}") from error


def names(connection: sa.Connection, most: int) -> list[str]:
    """Names of the newest arrays, so many at most."""
    return list(connection.execute(sa.select(_arrays.c.name).order_by(_arrays.c.created.desc()).limit(most)).scalars())


def linked(connection: sa.Connection, name: str) -> list[str]:
    """The arrays that a relation links directly with this one, either way."""
    own = digest(name)
    query = _named(_source.c.name, _output.c.name).where(sa.or_(_relations.c.source == own, _relations.c.output == own))
    return [one for pair in connection.execute(query.order_by(_relations.c.id)) for one in pair if one != name]


def _named(*columns: Any) -> sa.Select[Any]:
    """A query of relations with the names of both arrays."""
    joined = _relations.join(_source, _source.c.digest == _relations.c.source).join(_output, _output.c.digest == _relations.c.output)
    return sa.select(*columns).select_from(joined)


def edges(connection: sa.Connection, starts: Iterable[str]) -> list[tuple[str, str]]:
    """The links by which something is made from these arrays, in however many steps, source and output; the relations are not read."""
    met = sa.select(_arrays.c.digest).where(_arrays.c.digest.in_([digest(one) for one in starts])).cte("met", recursive=True)
    onward = sa.select(_relations.c.output).join(met, _relations.c.source == met.c.digest)
    met = met.union(onward)
    query = _named(_source.c.name, _output.c.name).where(_relations.c.source.in_(sa.select(met.c.digest))).order_by(_relations.c.id)
    return [(source, output) for source, output in connection.execute(query)]


def has(connection: sa.Connection, pair: tuple[str, str]) -> bool:
    """Whether there is a relation between two arrays."""
    source, output = map(digest, pair)
    query = sa.select(_relations.c.id).where(_relations.c.source == source, _relations.c.output == output)
    return connection.execute(query).first() is not None


def operation(connection: sa.Connection, name: str, confirmations: int, *, lock: bool = False) -> Operation:
    """What is known of an operation. Where that is damaged nothing is, with a warning.

    :raises RelationTooNew: a newer release wrote it.
    """
    query = sa.select(_operations.c.content).where(_operations.c.digest == digest(name))
    found = connection.execute(query.with_for_update() if lock else query).scalar()
    return _decoded(name, found, confirmations)


def operations(connection: sa.Connection, confirmations: int) -> list[Operation]:
    """All operations of which something is known."""
    query = sa.select(_operations.c.name, _operations.c.content).order_by(_operations.c.name)
    return [_decoded(name, found, confirmations) for name, found in connection.execute(query)]


def _decoded(name: str, found: Any, confirmations: int) -> Operation:
    try:
        return Operation(name, confirmations) if found is None else decode_operation(bytes(found), confirmations)
    except RelationTooNew:
        raise
    except RelationDamaged as problem:
        log.warning("what is known of operation %s is damaged, and is not used: %s", name, problem)
        return Operation(name, confirmations)


# For a person


def listed(connection: sa.Connection, prefix: str, limit: int) -> list[StoredArray]:
    """The newest arrays whose names begin so, each with its relations."""
    order = _arrays.c.created.desc(), _arrays.c.name
    return _with_relations(connection, sa.select(_arrays).where(begins(prefix)).order_by(*order).limit(limit))


def begins(prefix: str) -> sa.ColumnElement[bool]:
    """That an array's name begins so."""
    return sa.func.starts_with(_arrays.c.name, schema.safe_text(prefix), type_=sa.Boolean)


def named(connection: sa.Connection, name: str) -> StoredArray | None:
    """An array with its relations; None where there is none of this name."""
    found = _with_relations(connection, sa.select(_arrays).where(_arrays.c.digest == digest(name)))
    return found[0] if found else None


def _with_relations(connection: sa.Connection, query: sa.Select[Any]) -> list[StoredArray]:
    rows = connection.execute(query).mappings().all()
    own = [row["digest"] for row in rows]
    ends = {"source": _source.c.name.label("source"), "output": _output.c.name.label("output")}
    told = [_relations.c[name] for name in ("guarantee", "operation", "rows")]
    size = sa.func.octet_length(_relations.c.content).label("bytes")
    asked = _named(*ends.values(), *told, size).where(sa.or_(_relations.c.source.in_(own), _relations.c.output.in_(own)))
    relations = [_stored(dict(one)) for one in connection.execute(asked.order_by(_relations.c.id)).mappings()]
    return [_array(row, relations) for row in rows]


def _stored(row: dict[str, Any]) -> StoredRelation:
    row["operation"], row["guarantee"], _ = unsigned(row["operation"], row["guarantee"])
    return StoredRelation(**row)


def _array(row: Mapping[Any, Any], relations: list[StoredRelation]) -> StoredArray:
    name = row["name"]
    own = tuple(one for one in relations if name in (one.source, one.output))
    told = {"owner": row["owner"] or "", "created": row["created"], "relations": own}
    return StoredArray(name=name, shape=tuple(row["shape"]), labels=labels_of(name, row["labels"]), **told)
