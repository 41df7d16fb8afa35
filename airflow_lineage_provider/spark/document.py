"""The analyzed plan's JSON, completed with what ``toJSON`` leaves out: types, evaluation modes, binary constants.

``toJSON`` writes null for what it cannot write (an enumeration, a character, a map), and no types but those of leaves.
Each of these is one question to the JVM, so only nodes that miss something are visited.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.catalyst.literals import instant
from airflow_lineage_provider.catalyst.tree import is_tree
from airflow_lineage_provider.spark.relations import scala_map

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_TYPED = frozenset({
    "AttributeReference", "NamedLambdaVariable", "Literal", "Alias", "SortOrder", "LambdaFunction", "PythonUDF", "Cast",
    "CommonExpressionDef", "ResolvedCollation",
})  # fmt: skip
_COMPLETE = frozenset({"AttributeReference", "NamedLambdaVariable", "Alias", "SortOrder", "LambdaFunction"})
_READ_LITERALS = ("binary", "timestamp")


class Completion:
    """One pass over a plan's document and its JVM tree. ``udfs`` are the JVM's Python UDF calls by result id."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.udfs: dict[int, JavaObject] = {}
        self._field_numbers: dict[str, dict[str, int]] = {}

    def plan(self, document: list[dict[str, Any]], plan: JavaObject) -> None:
        """Complete an operator's expressions, and those of everything below it."""
        self._operator(iter(document), plan)

    def _operator(self, nodes: Iterator[dict[str, Any]], plan: JavaObject) -> None:
        node = next(nodes)
        for name, value in node.items():
            if isinstance(value, list) and value:
                self._field(node, name, value, plan)
        count = node["num-children"]
        children = plan.children() if count else None
        for number in range(count):
            assert children is not None
            self._operator(nodes, children.apply(number))

    def _field(self, node: dict[str, Any], name: str, value: list[Any], owner: JavaObject) -> None:
        if is_tree(value):
            if _incomplete(value):
                self._expression(iter(value), _unwrapped(self._value(node, name, owner)))
            return
        waiting = [number for number, item in enumerate(value) if is_tree(item) and _incomplete(item)]
        if waiting:
            trees = self._value(node, name, owner)
            for number in waiting:
                self._expression(iter(value[number]), trees.apply(number))

    def _expression(self, nodes: Iterator[dict[str, Any]], expression: JavaObject) -> None:
        node = next(nodes)
        short = node["class"].rsplit(".", 1)[-1]
        if short == "Literal":
            self._literal(node, expression)
        elif short == "PythonUDF":
            self.udfs[int(node["resultId"]["id"])] = expression
        elif short not in _COMPLETE:
            self._missing_fields(node, expression)
        if short not in _TYPED:
            self._type(node, expression)
        if "replacement" in node:
            self._own_arguments(node, expression)
        count = node["num-children"]
        children = expression.children() if count else None
        for number in range(count):
            assert children is not None
            self._expression(nodes, children.apply(number))

    def _missing_fields(self, node: dict[str, Any], expression: JavaObject) -> None:
        for name in [name for name, value in node.items() if value is None]:
            value = self._value(node, name, expression)
            node[name] = None if value is None else self._told(value)

    def _told(self, value: Any) -> Any:
        if hasattr(value, "getClass") and ".Map" in value.getClass().getName():
            return scala_map(self._spark, value)
        return _text(value)

    def _type(self, node: dict[str, Any], expression: JavaObject) -> None:
        """The type; parts of an expression (a window's frame) have none, and stay without."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            node["resultType"] = json.loads(expression.dataType().json())
        except (Py4JError, PySparkException):
            return

    def _own_arguments(self, node: dict[str, Any], expression: JavaObject) -> None:
        """Arguments of a replaced function: not analyzed, so that one may have no type yet; then it is left as it is."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        for name, value in list(node.items()):
            if is_tree(value):
                try:
                    self._expression(iter(value), _unwrapped(self._value(node, name, expression)))
                except (Py4JError, PySparkException):
                    continue

    def _literal(self, node: dict[str, Any], expression: JavaObject) -> None:
        if node["value"] is None or node["dataType"] not in _READ_LITERALS:
            return
        value = expression.productElement(0)
        # With its zone: a local time that a change of clocks repeats would be two moments.
        text = bytes(value).hex() if node["dataType"] == "binary" else instant(int(value), "Z")
        node["value"] = node["value"] if text is None else text

    def _value(self, node: dict[str, Any], name: str, owner: JavaObject) -> Any:
        numbers = self._field_numbers.get(node["class"])
        if numbers is None:
            numbers = {owner.productElementName(i): i for i in range(owner.productArity())}
            self._field_numbers[node["class"]] = numbers
        return owner.productElement(numbers[name]) if name in numbers else None


def _incomplete(array: list[dict[str, Any]]) -> bool:
    return any(_misses_something(node) for node in array)


def _misses_something(node: dict[str, Any]) -> bool:
    short = node["class"].rsplit(".", 1)[-1]
    return node["dataType"] in _READ_LITERALS if short == "Literal" else short not in _COMPLETE


def _unwrapped(value: Any) -> Any:
    """What a Scala ``Some`` holds."""
    return value.get() if value.getClass().getName() == "scala.Some" else value


def _text(value: Any) -> str:
    return str(value.toString()) if hasattr(value, "toString") else str(value)
