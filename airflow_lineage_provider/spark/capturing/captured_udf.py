"""Python UDF calls as they stand in a captured plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.catalyst.datatypes import ddl

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


class HeldFunction:
    """A Python function as Spark holds it, which any number of calls may have: what it was pickled to is fetched and read once.

    It was pickled by this very process, so that unpickling it runs nothing foreign.
    """

    def __init__(self, java: JavaObject) -> None:
        self.java = java

    @cached_property
    def unpickled(self) -> Any:
        """The function, and mostly the type that it gives.

        :raises PySparkRuntimeError: it is large, and out of reach: Spark broadcasts it.
        """
        from pyspark.serializers import CPickleSerializer

        return CPickleSerializer().loads(bytes(self.java.command().unsafeArray()))  # type: ignore[no-untyped-call]

    @cached_property
    def name(self) -> str:
        """The Python function's own name, whatever SQL calls it; empty when it cannot be read."""
        try:
            command = self.unpickled
            function = command[0] if isinstance(command, tuple) else command
            return str(getattr(function, "__name__", "") or type(function).__name__)
        except Exception:  # a broadcast command, or a function that unpickles only on executors: Spark's name is all there is
            return ""


@dataclass(frozen=True, kw_only=True)
class CapturedUdf:
    """One call of a Python UDF. ``name`` is what Spark calls it: the name it was registered under in SQL, else the function's."""

    call: int
    name: str
    type: str
    eval_type: int
    deterministic: bool
    expression: JavaObject
    function: HeldFunction

    @property
    def function_name(self) -> str:
        """See `HeldFunction.name`."""
        return self.function.name


def captured_udf(node: Mapping[str, Any], expression: JavaObject, function: HeldFunction) -> CapturedUdf:
    """A call, as the plan's document has it, and the JVM."""
    return CapturedUdf(
        call=int(node["resultId"]["id"]), name=str(node["name"]), type=ddl(node["dataType"]), eval_type=int(node["evalType"]),
        deterministic=bool(node["udfDeterministic"]), expression=expression, function=function,
    )  # fmt: skip
