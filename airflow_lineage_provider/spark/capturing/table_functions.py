"""Operators that only Spark can run (`catalyst.table_functions`): what is noted of them when a plan is captured."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.spark.jvm_trees import items

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_NUMBERED_BY = {"ScriptTransformation": "output", "BinBy": "appendedAttributes"}
_NATIVE_ARROW = 302
"""Table functions that are given whole record batches (``SQL_ARROW_UDTF``)."""
_WRITES = frozenset({"STORE_ATTR", "DELETE_ATTR"})


def number(node: Mapping[str, Any]) -> int | None:
    """The number of an operator of a document that only Spark can run, an expression's id; None for any other operator."""
    short = node["class"].rsplit(".", 1)[-1]
    if short == "Generate" and node["generator"][0]["class"].endswith(".PythonUDTF"):
        return int(node["generator"][0]["resultId"]["id"])
    return int(node[_NUMBERED_BY[short]][0][0]["exprId"]["id"]) if short in _NUMBERED_BY else None


def told(function: JavaObject) -> dict[str, bool]:
    """What a document shall say of a table function in Python: whether it is given a table, and one whose partitions it sees apart; else
    whether it makes rows of one row alone.
    """
    arguments = function.tableArguments()
    takes_table = arguments.isDefined() and any(bool(one) for one in items(arguments.get()))
    handler = handler_of(function)
    partitioned = function.pythonUDTFPartitionColumnIndexes().isDefined() and int(function.evalType()) != _NATIVE_ARROW
    return {
        "takesTable": takes_table, "partitioned": takes_table and partitioned and handler is not None,
        "rowByRow": not takes_table and _row_by_row(handler),
    }  # fmt: skip


def handler_of(function: JavaObject) -> Any:
    """The class of a table function; None where it is out of reach (Spark broadcasts large ones)."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.serializers import CPickleSerializer

    try:
        return CPickleSerializer().loads(bytes(function.func().command().unsafeArray()))  # type: ignore[no-untyped-call]
    except PySparkRuntimeError:
        return None


def _row_by_row(handler: Any) -> bool:
    """Whether nothing is handed from one row to the next: Spark makes an instance for all rows of a partition."""
    if handler is None or hasattr(handler, "terminate"):
        return False
    methods = (function for name, function in inspect.getmembers(handler, inspect.isfunction) if name != "__init__")
    return not any(one.opname in _WRITES for method in methods for one in dis.get_instructions(method))
