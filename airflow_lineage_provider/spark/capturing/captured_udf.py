"""Python UDF calls as they stand in a captured plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.catalyst.datatypes import ddl

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


@dataclass(frozen=True, kw_only=True)
class CapturedUdf:
    """One call of a Python UDF. ``name`` is what Spark calls it: the name it was registered under in SQL, else the function's.

    ``function_name`` is the Python function's own name, whatever SQL calls it; empty when it cannot be read.
    """

    call: int
    name: str
    function_name: str
    type: str
    eval_type: int
    deterministic: bool
    expression: JavaObject


def captured_udf(call: int, expression: JavaObject) -> CapturedUdf:
    """What the JVM knows of a call."""
    import json

    return CapturedUdf(
        call=call,
        name=str(expression.name()),
        function_name=_function_name(expression),
        type=ddl(json.loads(expression.dataType().json())),
        eval_type=int(expression.evalType()),
        deterministic=bool(expression.udfDeterministic()),
        expression=expression,
    )


def _function_name(expression: JavaObject) -> str:
    """The name of the pickled function. It was pickled by this very process, so that unpickling it runs nothing foreign."""
    from pyspark.serializers import CPickleSerializer

    try:
        command = CPickleSerializer().loads(bytes(expression.func().command().unsafeArray()))  # type: ignore[no-untyped-call]
        function = command[0] if isinstance(command, tuple) else command
        return str(getattr(function, "__name__", "") or type(function).__name__)
    except Exception:  # a broadcast command, or a function that unpickles only on executors: Spark's name is all there is
        return ""
