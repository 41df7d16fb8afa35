"""What the rows of a large result are named by is indexed when the run is published; a measured number, and a small result, are not."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from airflow_lineage_provider.store import Column, Materialization, Store
from tests.store.conftest import sql

COLUMNS = [
    Column("measured", "double"),
    Column("code", "string"),
    Column("kind", "string"),
    Column("tags", "array<int>"),
    Column("id", "bigint", role="argument"),
    Column("third", "bigint"),
    Column("key", "bigint", role="lineage"),
    Column("n", "bigint", role="row"),
]


def published(store: Store, run: str, rows: int) -> Materialization:
    numbers = pa.array(range(rows), pa.int64())
    made = store.create_materialization(run, "result", "result", COLUMNS)
    table = {
        "measured": numbers.cast(pa.float64()),
        "code": [f"c{i}" for i in range(rows)],
        "kind": ["a" if i % 2 else "b" for i in range(rows)],
        "tags": pa.array([[i] for i in range(rows)], pa.list_(pa.int32())),
        "id": numbers, "third": numbers, "key": numbers, "n": numbers,
    }  # fmt: skip
    made.loader().load(0, 0, iter([pa.record_batch(table)]))
    store.publish_run(run, indexes={"result": [["n"]]})
    return store.materializations(run)["result"]


def indexed(store: Store, made: Materialization) -> list[object]:
    query = "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indexrelid WHERE i.indrelid = %s::regclass ORDER BY 1"
    return [name for (name,) in sql(store.url, query, [made.table])]


def test_a_large_result(store: Store, begin: Callable[[], str]) -> None:
    made = published(store, begin(), 20_000)
    assert indexed(store, made) == ["code", "id", "n"]
    for condition in ("id = 4711", "code = 'c4711'"):
        plan = "\n".join(
            str(line) for (line,) in sql(store.url, f"EXPLAIN SELECT n FROM {made.table} WHERE {condition} ORDER BY n LIMIT 10")
        )
        assert "Seq Scan" not in plan, plan
        assert store.read(made, ["n"], condition).to_pydict() == {"n": [4711]}


def test_a_small_one(store: Store, begin: Callable[[], str]) -> None:
    assert indexed(store, published(store, begin(), 1_000)) == ["n"]
