"""Arrow's arrays for a UDF where PySpark declares none over them (before 4.1): as a UDF over iterators of pandas' series, without pandas.

Spark's Java side sends the same record batches to both kinds, and takes the same back. It is PySpark's worker that makes pandas' series of
them, and arrays of what is returned, and that changes values: a whole number beside a NULL becomes a floating-point one, a date before 1677
fails. A UDF over iterators is alone in its task. So the task's serializer, which nothing else uses, is told to hand arrays on as they are,
while the function is unpickled, before the first batch is read. Where it was not, the UDF refuses the series that it is given.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_lineage_provider.errors import EnvironmentProblem

if TYPE_CHECKING:
    import pandas as pd

_READER, _SERIALIZER = "read_udfs", "ser"
"""The function of PySpark's worker that makes the task's serializer, then unpickles the task's functions."""
_ARRAY = "array"


def over_iterators(call: Callable[..., pa.Array], structs: bool) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of a UDF over iterators of series that calls ``call`` with arrays; ``structs`` says whether it gives rows of structs."""
    exchange = _Exchange()

    def on_batches(batches: Iterator[Any]) -> Iterator[Any]:
        for given in batches:
            arrays = given if isinstance(given, tuple) else (given,)
            exchange.check(arrays)
            yield _carrier(call(*arrays), structs)

    return on_batches


class _Exchange:
    """Stands in the function's closure; unpickling it changes the serializer of the task that does so."""

    def __reduce__(self) -> tuple[Callable[[], _Exchange], tuple[()]]:
        return _exchanged, ()

    def check(self, given: tuple[Any, ...]) -> None:
        """:raises EnvironmentProblem: the task's serializer was not found, and has made series."""
        if not all(isinstance(one, pa.Array) for one in given):
            import pyspark

            raise EnvironmentProblem(
                f"the worker of this PySpark ({pyspark.__version__}) does not hand on Arrow's arrays, and pandas' series would change "
                "values: reasoned UDFs need another release of PySpark"
            )


def _exchanged() -> _Exchange:
    serializer = _of_this_task()
    if serializer is not None:
        serializer.load_stream, serializer.dump_stream = _arrays, _write
    return _Exchange()


def _of_this_task() -> Any:
    """The serializer of the task whose functions are just being unpickled; None outside a worker of such a PySpark."""
    from pyspark.util import PythonEvalType

    if hasattr(PythonEvalType, "SQL_SCALAR_ARROW_UDF"):
        return None  # a later PySpark, whose worker does otherwise
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        # (Not by the module's name: where there is no daemon, on Windows, the worker is the main module.)
        if frame.f_code.co_name == _READER and Path(frame.f_code.co_filename).parts[-2:] == ("pyspark", "worker.py"):
            return frame.f_locals.get(_SERIALIZER)
        frame = frame.f_back
    return None


def _arrays(stream: Any) -> Iterator[list[pa.Array]]:
    for batch in pa.ipc.open_stream(stream):
        yield batch.columns


def _write(carriers: Iterator[tuple[Any, pa.DataType]], stream: Any) -> None:
    """Write what came back, each array as a batch of its own; the stream is announced with the first, so that errors come before it."""
    from pyspark.serializers import SpecialLengths, write_int

    writer = None
    try:
        for carrier, kind in carriers:
            array = carrier.attrs[_ARRAY]
            batch = pa.RecordBatch.from_arrays([array if array.type == kind else array.cast(kind)], names=["_0"])
            if writer is None:
                write_int(SpecialLengths.START_ARROW_STREAM, stream)  # type: ignore[no-untyped-call]
                writer = pa.RecordBatchStreamWriter(stream, batch.schema)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()


def _carrier(array: pa.Array, structs: bool) -> pd.Series | pd.DataFrame:
    """What the worker takes for a result of so many rows: it counts them, and looks for nothing but pandas' class."""
    import pandas as pd

    rows = pd.RangeIndex(len(array))
    carrier = pd.DataFrame(index=rows) if structs else pd.Series(rows)
    carrier.attrs[_ARRAY] = array
    return carrier
