"""Rows of Parquet files by their positions."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sources.parquet import read_positions

TYPES = {pa.string_view(): "string", pa.binary_view(): "binary", pa.list_(pa.string_view()): "array<string>"}


@pytest.mark.parametrize(("kind", "spark_type"), TYPES.items(), ids=TYPES.values())
def test_columns_that_the_file_declares_as_views(tmp_path: Path, kind: pa.DataType, spark_type: str) -> None:
    texts = [f"text {number}, long enough to be stored elsewhere" for number in range(8)]
    plain = pa.array([[one] for one in texts]) if pa.types.is_list(kind) else pa.array(texts)
    column = plain.cast(pa.binary()).cast(kind) if kind == pa.binary_view() else pa.array(plain.to_pylist(), kind)
    parquet.write_table(pa.table({"a": column}), tmp_path / "a.parquet", row_group_size=3)
    source = Source(
        relation=Relation(name="a", kind="files", format="parquet"),
        output=(Attribute(id=1, name="a", type=spark_type),),
        columns=("a",),
        leaf=0,
    )
    keys = pa.table({"key_0": pa.array([5, 5], pa.int64()), "key_1": pa.array([7, 1], pa.int64())})
    found = read_positions(source, {"5": str(tmp_path / "a.parquet")}, keys, {})
    assert found.column("key_1").to_pylist() == [1, 7]
    assert found.column(2).to_pylist() == [column[1].as_py(), column[7].as_py()]
