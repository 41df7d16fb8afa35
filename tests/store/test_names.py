"""Hostile names, and tables wider than PostgreSQL's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.store import Column, Store
from airflow_lineage_provider.store.layout import _TAKEN, PACKED, PARTITION, Layout, make_layout, physical_names
from airflow_lineage_provider.store.sqltext import identifier, literal
from tests.in_turn import in_turn
from tests.store.conftest import sql

NAMES = [
    '"; DROP SCHEMA lineage CASCADE; --',
    "'; DROP SCHEMA lineage CASCADE; --",
    "a b",
    "a.b",
    "select",
    "Mixed",
    "mixed",
    "MIXED",
    "日本語 ü",
    "%s %(x)s :name $1 ? {}",
    "\\",
    "",
    "nul\x00inside",
    "\ud800",
    "line\nbreak",
    "ctid",
    "xmin",
    PARTITION,
    PACKED,
    "x" * 63,
    "x" * 64,
    "x" * 64 + "y",
    "é" * 40,
    "é" * 40 + "2",
]


@pytest.mark.parametrize("transport", ["adbc", "psycopg2"])
def test_any_name_is_a_column(store: Store, begin: Callable[[], str], transport: Literal["adbc", "psycopg2"]) -> None:
    # Arrow's own names are UTF-8: a lone surrogate can stand in a catalog, not in a batch.
    names = [name for name in NAMES if name != "\ud800"]
    run = begin()
    made = store.create_materialization(run, NAMES[0], "segment", [Column(name, "int") for name in names])
    batch = pa.RecordBatch.from_arrays([pa.array([i, None], pa.int32()) for i in range(len(names))], names=names)
    made.loader(transport).load(0, 0, iter([batch]))
    store.publish_run(run, indexes={NAMES[0]: [names[:12], names[12:]]})
    found = store.materializations(run)[NAMES[0]]
    assert store.read(found).equals(pa.Table.from_batches([batch], store.read(found).schema))
    for i, name in enumerate(names):
        query = f"SELECT count(*) AS c FROM {found.table} t WHERE {found.sql_column(name, 't')} = {i}"
        assert store.query(query).to_pydict() == {"c": [1]}
    with store.session() as session:
        upload = session.upload(NAMES[0], pa.Table.from_batches([batch]))
        joined = " AND ".join(f"{found.sql_column(name, 'm')} = {upload.sql_column(name, 'u')}" for name in names)
        assert session.query(f"SELECT 1 FROM {found.table} m JOIN {upload.table} u ON {joined}").num_rows == 1


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_a_materialization_s(store: Store, begin: Callable[[], str], name: str) -> None:
    run = begin()
    made = [store.create_materialization(run, other, "segment", [Column("a", "int")]) for other in (name, name + "!")]
    made[0].loader().load(0, 0, iter([pa.record_batch({"a": pa.array([1], pa.int32())})]))
    store.publish_run(run)
    found = store.materializations(run)
    if name != "\ud800":
        assert found[name].rows == 1
        assert found[name + "!"].rows == 0
    assert all(len(one.table_name.encode()) <= 63 and one.table_name.startswith(run) for one in found.values())


@given(st.lists(st.text(max_size=80), unique=True, max_size=8))
def test_physical_names_are_names_and_unique(names: list[str]) -> None:
    found = physical_names(names)
    assert len({*found, PARTITION, PACKED, "ctid"}) == len(names) + 3
    assert all(0 < len(name.encode("utf-8")) <= 63 and "\x00" not in name for name in found)
    assert all(
        physical == name
        for physical, name in zip(found, names, strict=True)
        if 0 < len(name) < 15 and name.isalnum() and name not in _TAKEN
    )


def test_quoting() -> None:
    assert identifier('a"b') == '"a""b"'
    assert literal("it's \\") == "'it''s \\'"
    assert literal(None) == "NULL"
    for bad in ("", "a\x00", "x" * 64):
        with pytest.raises(StoreError):
            identifier(bad)
    with pytest.raises(StoreError):
        literal("\x00")


WIDE = ["string", "decimal(38,2)", "bigint", "double", "array<int>", "timestamp", "date", "boolean", "binary", "timestamp_ntz"]


def wide_columns(count: int) -> list[Column]:
    data = [Column(f"column {i}", WIDE[i % len(WIDE)]) for i in range(count - 2)]
    return [*data, Column("row", "bigint", "row"), Column("key", "string", "lineage")]


def wide_batch(columns: list[Column], rows: int) -> pa.RecordBatch:
    long = "long enough that it cannot stay in its row " * 3
    values = {
        "string": [long] * rows,
        "decimal(38,2)": pa.array(["123456789012345678901234567890.12"] * rows).cast(pa.decimal128(38, 2)),
        "bigint": pa.array(range(rows), pa.int64()),
        "double": [float("nan")] * rows,
        "array<int>": pa.array([list(range(50))] * rows, pa.list_(pa.int32())),
        "timestamp": pa.array([-1] * rows, pa.timestamp("us", "UTC")),
        "date": pa.array([-800_000] * rows, pa.int32()).view(pa.date32()),
        "boolean": [True] * rows,
        "binary": [b"\x00\xff" * 40] * rows,
        "timestamp_ntz": pa.array([10**15 + 1] * rows, pa.timestamp("us")),
    }
    return pa.record_batch({column.name: values[column.type] for column in columns})


@pytest.mark.parametrize(("count", "transport"), in_turn([1_000, 3_000], ["adbc", "psycopg2"]))
def test_a_thousand_columns(store: Store, begin: Callable[[], str], transport: Literal["adbc", "psycopg2"], count: int) -> None:
    columns, run = wide_columns(count), begin()
    batch = wide_batch(columns, 20)
    made = store.create_materialization(run, "wide", "result", columns)
    made.loader(transport).load(0, 0, iter([batch]))
    packed = made.layout.packed
    assert len(packed) > 100
    assert all(column.role == "data" for column in packed)
    indexes = [["row"], ["key", packed[0].name], *[[column.name] for column in packed[-10:]]]
    store.publish_run(run, indexes={"wide": indexes})
    found = store.materializations(run)["wide"]
    expected = pa.Table.from_batches([batch])
    read = store.read(found, order_by=["row"])
    assert [field.name for field in read.schema] == [column.name for column in columns]
    # NaN differs from itself, so the columns that have it are compared as text.
    for name in expected.column_names:
        left, right = read.column(name), expected.column(name)
        assert left.cast(pa.string()).equals(right.cast(pa.string())) if left.type == pa.float64() else left.equals(right), name
    with store.session() as session:
        for column in packed[:10]:
            upload = session.upload("target", expected.select([column.name]).slice(0, 1), [column])
            left, right = found.sql_column(column.name, "m"), upload.sql_column(column.name, "u")
            query = f"SELECT {left} AS x FROM {found.table} m JOIN {upload.table} u ON {left} = {right}"
            answer = session.query(query, {"x": column.type})
            assert answer.num_rows == (1 if column.type == "bigint" else 20), column
            assert answer.schema.field("x").type == expected.schema.field(column.name).type


def test_rows_of_the_widest_own_columns_fit_a_page(store: Store, begin: Callable[[], str]) -> None:
    for kind in ("string", "bigint", "boolean", "decimal(38,2)"):
        columns = [Column(f"c{i}", kind) for i in range(1_600)]
        run = begin()
        made = store.create_materialization(run, "wide", "result", columns)
        made.loader().load(0, 0, iter([wide_batch(columns, 2)]))
        store.publish_run(run)
        header = sql(store.url, f"SELECT count(*) FROM pg_attribute WHERE attrelid = '{made.table}'::regclass AND attnum > 0")
        assert int(str(header[0][0])) <= 1_600


def test_a_layout_survives_the_catalog() -> None:
    layout = make_layout([Column(name, "int", "lineage", False) for name in NAMES if name != "\ud800"] + wide_columns(1_000))
    assert Layout.from_json(layout.to_json()) == layout


def test_an_unknown_column_is_named_with_those_that_are_there() -> None:
    with pytest.raises(StoreError, match=r"no column 'nope'; it has 'column 0'.* and 970 more"):
        make_layout(wide_columns(1_000)).sql_column("nope")
