"""Python functions over batches and groups of rows, called as the user's pipeline calls them, with the group's keys kept.

A function of a group may return any columns, the grouping keys not among them. So it is called inside another one that puts the
keys beside each row that it returns: that is how the row's group is found again.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.util import PythonEvalType

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.spark.sql_functions import register_captured

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from airflow_lineage_provider.spark.capturing.captured_udf import CapturedUdf

_PANDAS = {
    PythonEvalType.SQL_MAP_PANDAS_ITER_UDF, PythonEvalType.SQL_GROUPED_MAP_PANDAS_UDF, PythonEvalType.SQL_COGROUPED_MAP_PANDAS_UDF,
}  # fmt: skip
_ARROW = {
    PythonEvalType.SQL_MAP_ARROW_ITER_UDF, PythonEvalType.SQL_GROUPED_MAP_ARROW_UDF, PythonEvalType.SQL_COGROUPED_MAP_ARROW_UDF,
}  # fmt: skip

_MORE_PARTITIONS_THAN_ANY = 2**30


def applied(node: o.PythonMap, udfs: Mapping[int, CapturedUdf], frames: Sequence[DataFrame]) -> DataFrame:
    """The function's rows, with columns named after ``node.output``: what it returns, then the group's keys.

    ``frames`` are the children's rows, keys first; ``udfs`` are the captured calls by their result ids.

    :raises UnsupportedOperator: the function is not at hand (Spark broadcasts large ones), or is of a kind that is not known.
    """
    names = [a.name for a in node.output]
    if node.kind == "aggregated":
        return _aggregated(node, udfs, frames[0]).toDF(*names)
    captured = udfs[node.call]
    function, schema = _function(captured), _schema(captured)
    given = _under_user_names(node, frames)
    if node.kind == "map":
        return _over_batches(given[0], captured.eval_type, function, schema).toDF(*names)
    arity = len(inspect.signature(function).parameters)
    kinds = [(f"c{i}", field.dataType) for i, field in enumerate(schema.fields)]
    kinds += [(f"k{i}", frames[0].schema.fields[i].dataType) for i in range(node.group_width)]
    shape = _struct(kinds)
    width, groups = node.group_width, [_group(frame, node.group_width) for frame in given]
    if captured.eval_type in _ARROW:
        call = _arrow_call(function, arity, width, schema.names, len(given))
        return _joined(groups, "applyInArrow", call, shape).toDF(*names)
    call = _pandas_call(function, arity, width, schema.names, len(given))
    return _joined(groups, "applyInPandas", call, shape).toDF(*names)


def _aggregated(node: o.PythonMap, udfs: Mapping[int, CapturedUdf], frame: DataFrame) -> DataFrame:
    """Keys and values, and the keys again where ``node.output`` has them; the functions that were captured, by SQL names of their own."""
    from pyspark.sql import functions as F

    spark, width = frame.sparkSession, node.group_width
    keys, columns = [f"k{i}" for i in range(width)], iter(f"a{i}" for i in range(sum(node.widths)))
    called, registered = [], []
    try:
        for i, (call, taken) in enumerate(zip(node.calls, node.widths, strict=True)):
            registered.append(f"lineage_aggregate_{call}")
            register_captured(spark, udfs, call, registered[-1])
            called.append(F.expr(f"{registered[-1]}({', '.join(next(columns) for _ in range(taken))})").alias(f"v{i}"))
        named = frame.toDF(*keys, *(f"a{i}" for i in range(sum(node.widths))))
        # Spark would compute the row numbers of what stands above in the aggregation itself, where it does not initialize them.
        # No frame has so many partitions: this changes none, but stays between the two.
        made = named.groupBy(*keys).agg(*called).coalesce(_MORE_PARTITIONS_THAN_ANY)
    finally:
        for name in registered:
            spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")
    again = keys[: len(node.output) - len(made.columns)]
    return made.select(*made.columns, *(F.col(key).alias(f"{key}_again") for key in again))


def _joined(groups: list[Any], method: str, call: Callable[..., Any], shape: StructType) -> DataFrame:
    whole = groups[0] if len(groups) == 1 else groups[0].cogroup(groups[1])
    found: DataFrame = getattr(whole, method)(call, shape)
    return found


def _function(captured: CapturedUdf) -> Callable[..., Any]:
    from pyspark.errors import PySparkRuntimeError

    if captured.eval_type not in _PANDAS | _ARROW:
        raise UnsupportedOperator(f"Python function {captured.name} takes iterators of parts of a group: let it take the group whole")
    try:
        command = captured.function.unpickled
    except PySparkRuntimeError as problem:
        raise UnsupportedOperator(
            f"Python function {captured.name} is too large to be read from the plan (over 1 MB): load what it holds inside the function"
        ) from problem
    function: Callable[..., Any] = command[0]
    return function


def _schema(captured: CapturedUdf) -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(captured.expression.dataType().json()))


def _struct(kinds: list[tuple[str, Any]]) -> StructType:
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(name, kind) for name, kind in kinds])


def _under_user_names(node: o.PythonMap, frames: Sequence[DataFrame]) -> list[DataFrame]:
    """The children under the names that the function knows; grouping keys under names that no column has."""
    renamed, taken = [], 0
    for frame in frames:
        count = len(frame.columns) - node.group_width
        columns = node.columns[taken : taken + count]
        taken += count
        renamed.append(frame.toDF(*(_key_name(i, node.columns) for i in range(node.group_width)), *columns))
    return renamed


def _key_name(number: int, taken: Sequence[str]) -> str:
    return free_name(f"lineage_group_{number}", taken)


def _group(frame: DataFrame, width: int) -> Any:
    return frame.groupBy(*(frame.columns[i] for i in range(width)))


def _over_batches(frame: DataFrame, eval_type: int, function: Callable[..., Any], schema: StructType) -> DataFrame:
    return frame.mapInArrow(function, schema) if eval_type in _ARROW else frame.mapInPandas(function, schema)


def _pandas_call(function: Callable[..., Any], arity: int, width: int, names: list[str], sides: int) -> Callable[..., pd.DataFrame]:
    def with_keys(key: tuple[Any, ...], *groups: pd.DataFrame) -> pd.DataFrame:
        given = [group.iloc[:, width:] for group in groups]
        made = function(key, *given) if arity > sides else function(*given)
        if not len(made):
            return type(made)()  # Spark takes a frame without rows and columns for no rows, whatever the types
        chosen = made[names] if all(isinstance(label, str) for label in made.columns) else made
        chosen = chosen.set_axis([f"c{i}" for i in range(len(names))], axis=1).reset_index(drop=True)
        for i, value in enumerate(key):
            chosen[f"k{i}"] = [value] * len(chosen)
        return chosen

    if sides == 2:
        return lambda key, left, right: with_keys(key, left, right)
    return lambda key, group: with_keys(key, group)


def _arrow_call(function: Callable[..., Any], arity: int, width: int, names: list[str], sides: int) -> Callable[..., pa.Table]:
    def with_keys(key: tuple[Any, ...], *groups: pa.Table) -> pa.Table:
        import pyarrow

        given = [group.select(range(width, group.num_columns)) for group in groups]
        made = function(key, *given) if arity > sides else function(*given)
        chosen = made.select(names) if set(names) <= set(made.column_names) else made
        columns = [*chosen.columns, *(pyarrow.array([value.as_py()] * made.num_rows, value.type) for value in key)]
        return pyarrow.table(columns, names=[*(f"c{i}" for i in range(len(names))), *(f"k{i}" for i in range(len(key)))])

    if sides == 2:
        return lambda key, left, right: with_keys(key, left, right)
    return lambda key, group: with_keys(key, group)
