"""The rows of a kept frame on the driver, where they are few, by the very job that makes them: no other job, and no Python worker.

How many rows there will be nobody knows before. So every partition gives back its first rows, and one more row, which says that there are
others; and of a row that is large only that it is there. Then the driver has all rows, or knows that it has not, and all are made and kept
either way. What comes back is bounded whatever the number of partitions: the shares of the rows add up to some 100 MB, and to a few
thousand bytes for each partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.spark.executing.row_sizes import size_of, summed
from airflow_lineage_provider.spark.frames import selected
from airflow_lineage_provider.spark.jvm_classes import static_method
from airflow_lineage_provider.spark.session import planned_as_it_is

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

_ROWS, _COLUMNS = 200_000, 10
"""So many rows of so many columns of the first partition; of those after it fewer and fewer, but always one. So a hundred thousand in four
partitions come here, which takes a tenth to a fifth less than a second job; where there are more, those that come for nothing cost a
hundredth or two."""
_WIDEST = 200
"""Columns. Spark sends a task its expressions, and does not get to the end of a thousand conditions."""
_BYTES, _LEAST, _LATER = 8_000_000, 2_000, 100
"""So large may the very first row be; those after it less and less, but always the second, or, beyond the first `_EARLY`, the third."""
_EARLY = 5_000
_MUCH, _UNKNOWN = 64_000_000, 2**56
"""Bytes: from so many that Spark estimates the rows are sent by the executors at once. What it knows nothing of it takes for gigantic."""
_LEAST_RESULT = 256_000_000
"""Bytes that the driver must be allowed to take from a job (``spark.driver.maxResultSize``)."""


def collected(frame: DataFrame, *, are_made_first: bool = False, are_shuffled: bool = False) -> dict[int, pa.Table] | None:
    """All rows by the partitions that made them, where they are few; else None, and they are made and kept unless there is much to make.

    ``are_made_first``: many rows, too, are made by a job of their own before they are stored, so that this one costs nothing more. (Spark's
    estimate of a join's rows, or of groups, may be a million times too large.) ``are_shuffled``: Spark makes them adaptively.

    The frame's columns are ``c0``, ``c1``, …; the last one is the row number (partition << 33 | n, from 0 in every partition).

    :raises pyspark.errors.PySparkException, py4j.protocol.Py4JError: the rows cannot be made.
    """
    types = [field.dataType for field in frame.schema]
    if len(types) > _WIDEST or not all(map(_is_measured, types)) or not _takes_enough(frame):
        return None
    found = _first_rows(frame, types)
    if are_shuffled:
        planned_as_it_is(found)
    if not are_made_first and _MUCH < _estimate(found) < _UNKNOWN:
        return None
    batches = _batches(found)
    if not all(all(batch.column(batch.num_columns - 1).to_pylist()) for batch in batches):
        return None
    return _by_partition(batches) if batches else {}


def _batches(frame: DataFrame) -> list[pa.RecordBatch]:
    """What PySpark's ``toArrow`` gets of Spark: itself it casts that to the same types, and PyArrow refuses some structs."""
    classic: Any = frame
    found: list[pa.RecordBatch] = classic._collect_as_arrow()
    return found


def _by_partition(batches: list[pa.RecordBatch]) -> dict[int, pa.Table]:
    """Rows by the partitions that their numbers say, without the column behind these."""
    import numpy as np
    import pyarrow as pa

    rows = pa.Table.from_batches(batches).select(range(batches[0].num_columns - 1))
    numbers = rows.column(rows.num_columns - 1).to_numpy()
    order = np.argsort(numbers)
    partitions, starts = np.unique(numbers[order] >> 33, return_index=True)
    return {int(one): rows.take(chosen) for one, chosen in zip(partitions, np.split(order, starts[1:]), strict=True)}


def _first_rows(frame: DataFrame, types: list[DataType]) -> DataFrame:
    """The first rows of every partition; at the end, whether a row is there as it is: it is not the one too many, and not too large."""
    row = f"c{len(types) - 1}"
    number, partition = f"({row} & {2**33 - 1}L)", f"shiftright({row}, 33)"
    rows = _ROWS * _COLUMNS // max(_COLUMNS, len(types))
    most = f"greatest(1L, CAST({rows} / pow({partition} + 1, 1.5D) AS BIGINT))"
    least = f"if({number} < {_EARLY} / pow({partition} + 1, 1.5D), {_LEAST}D, {_LATER}D)"
    share = f"greatest({least}, {_BYTES} / pow(({number} + 1) * ({partition} + 1), 1.5D))"
    sizes = ["0L", *(size for i, one in enumerate(types) if (size := size_of(f"c{i}", one)))]
    whole = f"({number} < {most} AND {summed(sizes)} <= {share})"
    columns = [f"if(whole, c{i}, NULL) AS c{i}" if size_of("", one) else f"c{i}" for i, one in enumerate(types)]
    # (In two steps: a thousand columns would each say what is whole, of a thousand columns.)
    return selected(selected(frame.where(f"{number} <= {most}"), ["*", f"{whole} AS whole"]), [*columns, "whole"])


def _is_measured(kind: DataType) -> bool:
    """Whether `row_sizes.size_of` knows the type."""
    from pyspark.sql import types as t

    if isinstance(kind, t.ArrayType):
        return _is_measured(kind.elementType)
    if isinstance(kind, t.MapType):
        return _is_measured(kind.keyType) and _is_measured(kind.valueType)
    if isinstance(kind, t.StructType):
        return len(set(kind.names)) == len(kind.names) and all(_is_measured(field.dataType) for field in kind)
    plain = (
        t.NumericType,
        t.BooleanType,
        t.StringType,
        t.BinaryType,
        t.DateType,
        t.TimestampType,
        t.TimestampNTZType,
        t.DayTimeIntervalType,
    )
    return isinstance(kind, plain)


def _estimate(frame: DataFrame) -> int:
    """Spark's estimate of a frame's bytes."""
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def _takes_enough(frame: DataFrame) -> bool:
    """Whether the driver is allowed to take what may come back."""
    chosen = frame.sparkSession.conf.get("spark.driver.maxResultSize", "")
    if not chosen:
        return True
    most = static_method(frame.sparkSession, "org.apache.spark.network.util.JavaUtils", "byteStringAsBytes")(chosen)
    return not most or most >= _LEAST_RESULT
