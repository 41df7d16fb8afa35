"""Operators that only Spark can run (`catalyst.table_functions`): what is noted of them when a plan is captured."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.spark.capturing.captured_udf import HeldFunction
from airflow_lineage_provider.spark.jvm_trees import items

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_NUMBERED_BY = {"ScriptTransformation": "output", "BinBy": "appendedAttributes"}
_NATIVE_ARROW = 302
"""Table functions that are given whole record batches (``SQL_ARROW_UDTF``)."""
_WRITES = frozenset({"STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR", "DELETE_SUBSCR", "STORE_GLOBAL", "DELETE_GLOBAL"})
_CHANGES = frozenset({
    "append", "appendleft", "extend", "insert", "add", "update", "setdefault", "pop", "popleft", "popitem", "remove", "discard", "clear",
    "write", "send",
})  # fmt: skip
_LASTING = frozenset({"LOAD_ATTR", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME"})
"""What loads a value that lives longer than a call: an attribute, or a global variable."""


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
    plain = int(function.evalType()) != _NATIVE_ARROW and handler is not None
    partitioned = takes_table and plain and function.pythonUDTFPartitionColumnIndexes().isDefined()
    return {"takesTable": takes_table, "partitioned": partitioned, "rowByRow": not takes_table and plain and is_row_by_row(handler)}


def handler_of(function: JavaObject) -> Any:
    """The class of a table function; None where it is out of reach (Spark broadcasts large ones)."""
    from pyspark.errors import PySparkRuntimeError

    try:
        return HeldFunction(function.func()).unpickled
    except PySparkRuntimeError:
        return None


def is_row_by_row(handler: type) -> bool:
    """Whether nothing is handed from one row to the next, as far as its code tells: Spark makes an instance for all rows of a partition."""
    if hasattr(handler, "terminate"):
        return False
    methods = [function for name, function in inspect.getmembers(handler, inspect.isfunction) if name != "__init__"]
    return not any(_keeps_something(method.__code__) for method in methods)


def _keeps_something(code: CodeType) -> bool:
    """Whether what outlives a call is set, or is changed by a method that has the name of one of a list, a dict or a set."""
    before = ""
    for one in dis.get_instructions(code):
        if one.opname in _WRITES or (one.opname in ("LOAD_ATTR", "LOAD_METHOD") and one.argval in _CHANGES and before in _LASTING):
            return True
        before = one.opname
    return any(_keeps_something(inner) for inner in code.co_consts if isinstance(inner, CodeType))
