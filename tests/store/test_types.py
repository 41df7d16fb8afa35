"""Every Spark type through PostgreSQL and back, exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.plan.datatypes import parse_type, to_arrow
from airflow_lineage_provider.store import Column, Materialization, RunRecord, Store, layout, nested, textform, types
from tests.store.strategies import NESTED, SCALARS, TYPES, build, image, plain, same

COLUMNS = [Column(text, text) for text in TYPES]
_EXAMPLES = {
    "array<int>": [1, None],
    "map<string,binary>": [("k", b"v")],
    "struct<a:int,b:string>": (1, "x"),
    "struct<a:int,a:string>": (1, "x"),
}
_SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


def rows_of(text: str) -> st.SearchStrategy[list[Any]]:
    return st.lists(plain(parse_type(text)), max_size=6)


@pytest.mark.parametrize("text", NESTED)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_nested_values_survive_json(text: str, data: st.DataObject) -> None:
    array = build(data.draw(rows_of(text)), text)
    assert same(nested.decode(nested.encode(array, parse_type(text)), parse_type(text)), array)


@pytest.mark.parametrize("text", NESTED)
def test_a_slice_is_encoded_as_itself(text: str) -> None:
    array = build([None, *[_EXAMPLES.get(text)] * 3], text)
    assert nested.encode(array.slice(1, 2), parse_type(text)).to_pylist() == nested.encode(array, parse_type(text)).to_pylist()[1:3]


@pytest.mark.parametrize("text", [text for text in SCALARS if not types.storage_type(text).json])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_scalars_survive_their_text_form(text: str, data: st.DataObject) -> None:
    array = build(data.draw(rows_of(text)), text)
    kind = types.storage_type(text)
    stored, _ = types.encode(array, kind)
    assert same(types.decode(textform.from_text(textform.to_text(stored), kind.arrow), kind), array)


@pytest.fixture(scope="module", params=["own columns", "packed"])
def table(store: Store, request: pytest.FixtureRequest) -> Materialization:
    """A materialization with a column of every type, each in a column of its own or packed with the others."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "packed":
            patch.setattr(layout, "_ROW_BYTES", 0)
        return store.create_materialization(store.begin_run(RunRecord(pipeline="types")), "t", "source", COLUMNS)


@pytest.mark.parametrize("transport", ["adbc", "psycopg2"])
@settings(max_examples=10, deadline=None, suppress_health_check=_SLOW)
@given(data=st.data())
def test_every_type_through_postgresql(
    store: Store, table: Materialization, transport: Literal["adbc", "psycopg2"], data: st.DataObject
) -> None:
    size = data.draw(st.integers(0, 4))
    arrays = [build(data.draw(st.lists(plain(parse_type(text)), min_size=size, max_size=size)), text) for text in TYPES]
    batch = pa.RecordBatch.from_arrays(arrays, names=TYPES)
    assert table.loader(transport).load(0, 0, iter([batch])) == size
    found = store.read(table)
    for text, array in zip(TYPES, arrays, strict=True):
        assert found.schema.field(text).type == to_arrow(text)
        assert sorted(map(repr, _values(found.column(text).combine_chunks()))) == sorted(map(repr, _values(array))), text


def _values(array: pa.Array) -> list[str]:
    return [image(array.slice(i, 1).take(pa.array([0]))) for i in range(len(array))]


def test_all_null_and_no_rows(store: Store, table: Materialization) -> None:
    nulls = pa.RecordBatch.from_arrays([build([None] * 3, text) for text in TYPES], names=TYPES)
    assert table.loader().load(0, 0, iter([nulls])) == 3
    assert all(column.null_count == 3 for column in store.read(table).columns)
    assert table.loader().load(0, 1, iter([nulls.slice(0, 0)])) == 0
    assert store.read(table).num_rows == 0
    assert store.read(table).schema.types == [to_arrow(text) for text in TYPES]


def test_other_arrow_forms_of_the_same_type(store: Store, begin: Callable[[], str]) -> None:
    columns = [Column("s", "string"), Column("t", "timestamp"), Column("l", "array<string>"), Column("m", "interval year to month")]
    made = store.create_materialization(begin(), "t", "source", columns)
    batch = pa.record_batch(
        {
            "l": pa.array([["a"]], pa.large_list(pa.large_string())),
            "t": pa.array([5_000], pa.int64()).cast(pa.timestamp("ns", "America/New_York")),
            "m": pa.array([14], pa.int32()),
            "s": pa.array(["x"]).dictionary_encode(),
        }
    )
    made.loader().load(0, 0, iter([batch]))
    found = store.read(made)
    assert found.column("s").to_pylist() == ["x"]
    assert found.column("t").cast(pa.int64()).to_pylist() == [5]
    assert found.column("l").to_pylist() == [["a"]]
    assert found.column("m").to_pylist() == [14]


@pytest.mark.parametrize(
    ("spark", "array"),
    [
        ("timestamp", pa.array([1], pa.timestamp("us"))),
        ("timestamp_ntz", pa.array([1], pa.timestamp("us", "UTC"))),
        ("timestamp", pa.array([1], pa.timestamp("ns", "UTC"))),
        ("int", pa.array([1 << 40])),
        ("decimal(3,1)", pa.array(["1.25"]).cast(pa.decimal128(5, 2))),
        ("time(6)", pa.array([1], pa.time64("ns"))),
        ("int", pa.array(["x"])),
        ("string", pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())),
        ("array<string>", pa.ListArray.from_arrays([0, 1], pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers()))),
        ("date", pa.array([2**31 - 1], pa.int32()).view(pa.date32())),
        ("timestamp", pa.array([-(2**63)], pa.int64()).view(pa.timestamp("us", "UTC"))),
    ],
)
@pytest.mark.parametrize("transport", ["adbc", "psycopg2"])
def test_what_would_be_lost_is_refused_and_the_column_named(
    store: Store, begin: Callable[[], str], spark: str, array: pa.Array, transport: Literal["adbc", "psycopg2"]
) -> None:
    made = store.create_materialization(begin(), "t", "source", [Column("the column", spark)])
    with pytest.raises(LoadFailed, match="the column"):
        made.loader(transport).load(0, 0, iter([pa.record_batch({"the column": array})]))
    assert store.read(made).num_rows == 0


def test_text_that_was_escaped_is_marked(store: Store, begin: Callable[[], str]) -> None:
    run = begin()
    made = store.create_materialization(run, "t", "source", [Column("a", "string"), Column("b", "string")])
    made.loader().load(0, 0, iter([pa.record_batch({"a": ["x"], "b": ["x"]})]))
    made.loader().load(1, 0, iter([pa.record_batch({"a": ["x"], "b": ["x\x00"]})]))
    store.publish_run(run)
    assert store.materializations(run)["t"].escaped == {"b"}
