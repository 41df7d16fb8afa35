"""The catalog's sets of derivations: which are begun, which are complete, and what is stored of each."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from airflow_lineage_provider.errors import DerivationNotFound
from airflow_lineage_provider.records.derivation_sets import DerivationSetRecord
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import derivations, schema
from airflow_lineage_provider.store.ids import is_possible, new_id
from airflow_lineage_provider.store.records import DerivationRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

_SETS, _MADE = schema.derivation_sets, schema.derivations


def begin(connection: sa.Connection, record: DerivationSetRecord) -> DerivationSetRecord:
    """Enter a set; the same one with its id.

    :raises RunNotFound, RunNotComplete: there is no such run, or nothing to keep an answer about.
    """
    derivations.check_complete(connection, record.run_id)
    made = replace(record, id=new_id(), created=datetime.now(UTC))
    connection.execute(_SETS.insert().values({one.name: getattr(made, one.name) for one in fields(made)}))
    return made


def begun(connection: sa.Connection, asked: DerivationSetRecord) -> DerivationSetRecord | None:
    """The newest set that asks just this, on the same occasion, and is not complete; None where there is none."""
    sets = _SETS.c
    same = [sets[name] == getattr(asked, name) for name in ("run_id", "question", "occasion", "target", "rows", "chunk_rows")]
    query = sa.select(_SETS).where(*same, sets.since.is_not_distinct_from(asked.since), sa.not_(_is_complete()))
    return _first(connection, query.order_by(sets.id.collate("C").desc()))


def last(connection: sa.Connection, question: str, run_id: str, occasion: str) -> DerivationSetRecord | None:
    """The set by which a question was last answered wholly: about this run, or the newest before it; None where there is none.

    Where an ``occasion`` is given, it was on another.
    """
    sets = _SETS.c
    known = [sets.question == question, sets.run_id.collate("C") <= run_id, _is_complete()]
    query = sa.select(_SETS).where(*known, *([sets.occasion != occasion] if occasion else []))
    return _first(connection, query.order_by(sets.run_id.collate("C").desc(), sets.id.collate("C").desc()))


def _is_complete() -> sa.ColumnElement[bool]:
    stored = sa.select(sa.func.count()).where(_MADE.c.set_id == _SETS.c.id).correlate(_SETS).scalar_subquery()
    return stored * _SETS.c.chunk_rows >= _SETS.c.rows


def find(connection: sa.Connection, set_id: str) -> DerivationSetRecord:
    """One set.

    :raises DerivationNotFound: there is none with this id.
    """
    found = _first(connection, sa.select(_SETS).where(_SETS.c.id == set_id)) if is_possible(set_id) else None
    if found is None:
        raise DerivationNotFound(f"there is no set of derivations {shown(set_id)} in the results store (its run may have been dropped)")
    return found


def stored(connection: sa.Connection, set_id: str) -> list[DerivationRecord]:
    """The derivations of a set that are stored, in the order of the chunks, without their tables."""
    rows = connection.execute(sa.select(_MADE).where(_MADE.c.set_id == set_id).order_by(_MADE.c.chunk)).mappings()
    return [derivations.record_of(row) for row in rows]


def _first(connection: sa.Connection, query: sa.Select[Any]) -> DerivationSetRecord | None:
    row: Mapping[Any, Any] | None = connection.execute(query.limit(1)).mappings().first()
    return None if row is None else DerivationSetRecord(**{one.name: row[one.name] for one in fields(DerivationSetRecord)})
