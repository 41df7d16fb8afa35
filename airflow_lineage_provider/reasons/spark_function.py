"""A reasoned UDF as a pyspark UDF.

Built on Spark's Arrow UDFs (before 4.1, on what makes them: `arrays_exchanged`): every Spark type reaches Python as an Arrow array and
returns as one, so decimals, timestamps and nested types keep their exact values, and one implementation of "call it on a batch" serves the
executors, the runner and the tests.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_lineage_provider.errors import UdfFailed
from airflow_lineage_provider.reasons.arrays_exchanged import over_iterators
from airflow_lineage_provider.reasons.ddl import spark_ddl
from airflow_lineage_provider.reasons.workers_python import choose_workers_python
from airflow_lineage_provider.words import Mode, check_word

if TYPE_CHECKING:
    from airflow_lineage_provider.reasons.udf import ReasonedUdf


KEYS_MARK = "lineage keys of the row: "

_CHECKED = 50


class _OnBatches:
    """What the executors unpickle and call: arrays in, one array out. One instance lives as long as a Spark task."""

    def __init__(self, udf: ReasonedUdf, mode: Mode, keys: tuple[str, ...], apart: bool = False) -> None:
        self.udf = udf
        self.mode = mode
        self.keys = keys
        self.apart = apart
        self.checked = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "checked": False}

    def __call__(self, *arrays: pa.Array) -> pa.Array:
        inputs = arrays[: len(arrays) - len(self.keys)]
        try:
            return self._call(inputs)
        except UdfFailed as failure:
            if not self.keys or failure.row is None:
                raise
            names = zip(self.keys, arrays[len(inputs) :], strict=True)
            key = {name: array[failure.row].as_py() for name, array in names}
            raise UdfFailed(f"{failure} {KEYS_MARK}{json.dumps(key, default=str)}") from failure

    def _call(self, arrays: Sequence[pa.Array]) -> pa.Array:
        if self.mode == "normal":
            return self.udf.call_batch(arrays)
        values, reasons = self.udf.explain_batch(arrays, apart=self.apart)
        if not self.checked and len(values):
            rows = _checked(len(values))
            self.udf.check_values([array.take(rows) for array in arrays], values.take(rows))
            self.checked = True
        return pa.StructArray.from_arrays([values, reasons], names=["value", "reason"])


def _checked(rows: int) -> pa.Array:
    """The rows of a batch whose values are asked of the normal mode, too: fifty, or one in fifty, from all over it.

    A batch has ten thousand rows, often all of a task: asking about each would call an expensive model twice as often.
    """
    some = min(rows, max(_CHECKED, rows // _CHECKED))
    return pa.array([at * rows // some for at in range(some)], pa.int64())


def spark_function(udf: ReasonedUdf, mode: Mode, keys: tuple[str, ...] = (), *, apart: bool = False) -> Any:
    """The pyspark UDF of one mode, named as the UDF is; ``keys`` are further arguments for error messages, ``apart`` as of
    `ReasonedUdf.explain_batch`.

    :raises InvalidOption: there is no such mode.
    """
    check_word("mode", mode, Mode)
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StringType, StructType

    returns: Any
    if "collate" in udf.returns.lower():
        # Arrow's strings have no collation; Spark reads the text.
        value = spark_ddl(udf.returns)
        returns = value if mode == "normal" else f"struct<value: {value}, reason: string>"
    else:
        kind = from_arrow_type(udf.value_type, prefer_timestamp_ntz=True)
        returns = kind if mode == "normal" else StructType().add("value", kind).add("reason", StringType())
    function = _declared(_OnBatches(udf, mode, keys, apart), udf.name, returns)
    session = SparkSession.getActiveSession()
    if session is not None:
        choose_workers_python(session)
    return function if udf.deterministic else function.asNondeterministic()


def evaluated_as() -> int:
    """How this PySpark evaluates them (``PythonEvalType``)."""
    from pyspark.util import PythonEvalType

    return int(getattr(PythonEvalType, "SQL_SCALAR_ARROW_UDF", PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF))


def _declared(call: _OnBatches, name: str, returns: Any) -> Any:
    """The UDF over Arrow's arrays, under a name that is Spark's name of the function, and so of the column."""
    from pyspark.sql.pandas import functions

    if not hasattr(functions, "arrow_udf"):
        from pyspark.sql.udf import _create_udf

        structs = returns.lower().startswith("struct<") if isinstance(returns, str) else returns.typeName() == "struct"
        return _create_udf(over_iterators(call, structs), returns, evaluated_as(), name)

    def on_batches(*arrays: pa.Array) -> pa.Array:  # these hints tell Spark which kind of Arrow UDF it is
        return call(*arrays)

    on_batches.__name__ = name
    # (Its overloads know no hint but the literal numbers of the kinds.)
    declare: Any = functions.arrow_udf
    return declare(on_batches, returns)


def active_context() -> Any:
    """The running SparkContext, or None: a pyspark UDF made under one cannot be used under the next."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context
