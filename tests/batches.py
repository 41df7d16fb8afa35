"""Batches of a stream like one that was recorded: by the store alone, in a thousandth of the time that Spark takes for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from airflow_lineage_provider import recording
from airflow_lineage_provider.records.batches import BatchKey
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.store import Materialization, Store
from airflow_lineage_provider.store.materialized import new_table

Indexes = Mapping[str, Sequence[Sequence[str]]]


def come_again(
    store: Store, run_id: str, query: str, batch: int, values: Mapping[str, Sequence[Any]], *, own: bool = False, index: Sequence[str] = ()
) -> str:
    """A complete batch whose result has other ``values`` in its columns, by their names, and which is else like one that was recorded.

    :param own: whether it has tables of its own, as large batches have.
    :param index: the columns that its result is indexed by, together.
    :returns: its run.
    """
    record = store.run(run_id)
    named = _stored_columns(record)
    made = store.begin_run(replace(record, id=""), batch=BatchKey(pipeline=record.pipeline, query=query, batch=batch))
    for like in store.materializations(run_id).values():
        rows = store.read(like)
        if like.kind == "result":
            rows = _with({named[column]: some for column, some in values.items()}, rows)
        _load(store, made, like, rows, own=own)
    store.publish_run(made, row_counts=record.row_counts, indexes={"result": [[named[one] for one in index]]} if index else None)
    return made


def _stored_columns(record: RunRecord) -> dict[str, str]:
    """What the columns of a run's result are called where they are stored."""
    recorded = recording.read(record)
    names = dict(recorded.materialized[0].columns)
    return {name: names[one.id] for name, one in zip(recorded.plan.names, recorded.plan.output, strict=True)}


def _with(values: Mapping[str, Sequence[Any]], rows: pa.Table) -> pa.Table:
    for column, some in values.items():
        at = rows.column_names.index(column)
        rows = rows.set_column(at, rows.schema.field(at), pa.array(some, rows.schema.field(at).type))
    return rows


def _load(store: Store, run_id: str, like: Materialization, rows: pa.Table, *, own: bool) -> None:
    if own:
        loader = store.create_materialization(run_id, like.name, like.kind, like.columns).loader()
        loader.load(0, 0, iter(rows.to_batches()))
    else:
        planned = store.planned_materialization(run_id, like.name, like.kind, like.columns)
        planned.loader(url=store.url).load_new(new_table(planned, again=False), {0: rows})
