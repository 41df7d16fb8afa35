"""UDFs over iterators of series, for a PySpark without UDFs over arrays: its worker hands them arrays, any other is refused."""

from __future__ import annotations

import io
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import cloudpickle
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.serializers import SpecialLengths, read_int

from airflow_lineage_provider.errors import EnvironmentProblem
from airflow_lineage_provider.reasons import ReasonedUdf
from airflow_lineage_provider.reasons.arrays_exchanged import over_iterators
from airflow_lineage_provider.reasons.spark_function import _OnBatches

EXACT = pa.array([2**60 + 1, None, -3], pa.int64())
# The part of PySpark's worker that matters: it makes the serializer, then unpickles what it shall call.
WORKER = """
def read_udfs(pickled, serializer):
    ser = serializer
    return loads(pickled)
"""


@pytest.fixture(autouse=True)
def _pyspark_without_udfs_over_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("pyspark.util.PythonEvalType.SQL_SCALAR_ARROW_UDF", raising=False)


def _in_worker(function: Any, file: str = "/opt/pyspark.zip/pyspark/worker.py", reader: str = "read_udfs") -> tuple[Any, SimpleNamespace]:
    """The function as a worker unpickles it, and the task's serializer by then."""
    serializer = SimpleNamespace()
    worker: dict[str, Any] = {"loads": cloudpickle.loads}
    exec(compile(WORKER.replace("read_udfs", reader), file, "exec"), worker)
    return worker[reader](cloudpickle.dumps(function), serializer), serializer


def _stream(*batches: pa.RecordBatch) -> io.BytesIO:
    sent = io.BytesIO()
    with pa.RecordBatchStreamWriter(sent, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    sent.seek(0)
    return sent


def _called(function: Any, kind: pa.DataType, *batches: pa.RecordBatch) -> pa.Table:
    """What the Java side gets of a task over these batches."""
    unpickled, serializer = _in_worker(function)
    given = (columns[0] if len(columns) == 1 else tuple(columns) for columns in serializer.load_stream(_stream(*batches)))
    got = io.BytesIO()
    serializer.dump_stream(((result, kind) for result in unpickled(given)), got)
    got.seek(0)
    assert read_int(got) == SpecialLengths.START_ARROW_STREAM  # type: ignore[no-untyped-call]
    return pa.ipc.open_stream(got).read_all()


def test_arrays_arrive_and_return_as_they_are() -> None:
    batch = pa.RecordBatch.from_arrays([EXACT, pa.array(["a", None, "ü"])], names=["_0", "_1"])
    got = _called(over_iterators(lambda number, _text: number, structs=False), pa.int64(), batch, batch.slice(1))
    assert got.to_pydict() == {"_0": [2**60 + 1, None, -3, None, -3]}
    assert got.schema.types == [pa.int64()]


@pytest.mark.parametrize("mode", ["normal", "reasoning"])
def test_both_modes(mode: Any) -> None:
    same = ReasonedUdf(lambda x: x, "bigint", name="same", main_with_reason=lambda x: (x, [str(x)]))
    kind = pa.int64() if mode == "normal" else pa.struct([("value", pa.int64()), ("reason", pa.string())])
    got = _called(over_iterators(_OnBatches(same, mode, ()), mode == "reasoning"), kind, pa.RecordBatch.from_arrays([EXACT], names=["_0"]))
    found = got["_0"].to_pylist()
    assert [one if mode == "normal" else one["value"] for one in found] == EXACT.to_pylist()


def test_what_returns_is_of_spark_s_type() -> None:
    local = pa.array([0, None], pa.timestamp("us", tz="Asia/Tokyo"))
    utc = pa.timestamp("us", tz="UTC")
    got = _called(over_iterators(lambda at: at, structs=False), utc, pa.RecordBatch.from_arrays([local], names=["_0"]))
    assert (got.schema.types, got["_0"].cast(pa.int64()).to_pylist()) == ([utc], [0, None])


def test_the_worker_counts_the_rows_of_its_own_classes() -> None:
    results = [next(over_iterators(lambda x: x, structs)(iter([EXACT]))) for structs in (False, True)]
    assert [(type(one), len(one)) for one in results] == [(pd.Series, 3), (pd.DataFrame, 3)]
    assert (len(results[1].columns), results[1].empty) == (0, True)  # PySpark looks at no columns of such a frame


@pytest.mark.parametrize(("file", "reader"), [("/opt/pyspark/worker.py", "read_others"), ("/opt/mine/worker.py", "read_udfs")])
def test_series_are_refused(file: str, reader: str) -> None:
    """Another worker makes series of the batches: a whole number beside a NULL is none any more."""
    unpickled, serializer = _in_worker(over_iterators(lambda x: x, structs=False), file, reader)
    assert vars(serializer) == {}
    with pytest.raises(EnvironmentProblem, match=r"does not hand on Arrow's arrays, and pandas' series would change values"):
        list(unpickled(iter([EXACT.to_pandas()])))


def test_a_worker_of_a_later_pyspark_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.util.PythonEvalType.SQL_SCALAR_ARROW_UDF", 250, raising=False)
    unpickled, serializer = _in_worker(over_iterators(lambda x: x, structs=False))
    assert vars(serializer) == {}
    with pytest.raises(EnvironmentProblem):
        list(unpickled(iter([EXACT.to_pandas()])))


def test_an_error_before_the_first_batch_announces_no_stream() -> None:
    def fails(_x: pa.Array) -> pa.Array:
        raise ValueError("no")

    unpickled, serializer = _in_worker(over_iterators(fails, structs=False))
    got = io.BytesIO()
    results: Iterator[Any] = unpickled(iter([EXACT]))
    with pytest.raises(ValueError, match="no"):
        serializer.dump_stream(((result, pa.int64()) for result in results), got)
    assert got.getvalue() == b""
