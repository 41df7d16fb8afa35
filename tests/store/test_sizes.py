"""How large the tables of a run are."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from airflow_lineage_provider.store import Column, Store
from tests.store.conftest import sql

ROW = Column(name="row", type="bigint", role="row", nullable=False)


def test_the_sizes_are_those_on_disk_with_indexes(store: Store, begin: Callable[[], str]) -> None:
    run = begin()
    names = ("segment_1", 'odd "name" ' + "x" * 80)
    for name, rows in zip(names, (5_000, 1), strict=True):
        made = store.create_materialization(run, name, "segment", [ROW, Column(name="text", type="string")])
        batch = pa.record_batch({"row": pa.array(range(rows), pa.int64()), "text": ["x" * 100] * rows})
        made.loader().load(0, 0, iter([batch]))
    store.publish_run(run, indexes={"segment_1": [["row"]]})
    sizes = store.table_sizes(run)
    assert tuple(sizes) == names
    tables = store.materializations(run)
    for name, size in sizes.items():
        ((expected,),) = sql(store.url, f"SELECT pg_total_relation_size('{tables[name].table}'::regclass)")
        assert size == expected
    assert sizes["segment_1"] > 5_000 * 100 > sizes[names[1]] > 0
    store.drop_run(run)
    assert store.table_sizes(run) == {}


def test_of_an_unknown_run_there_is_none(store: Store) -> None:
    assert store.table_sizes("no such run") == {}
