"""The analyzed plan's JSON, completed with what ``toJSON`` leaves out: types, evaluation modes, constants.

``toJSON`` writes null for what it cannot write (an enumeration, a character, a map), and no types but those of leaves.
Each of these is a question to the JVM, so only nodes that miss something are visited, and all types of a tree are one question.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.catalyst.literals import instant
from airflow_lineage_provider.catalyst.tree import is_tree
from airflow_lineage_provider.spark.capturing import constants, table_functions
from airflow_lineage_provider.spark.capturing.captured_udf import CapturedUdf, HeldFunction, captured_udf
from airflow_lineage_provider.spark.jvm_classes import java_class
from airflow_lineage_provider.spark.jvm_functions import identity, method, texts
from airflow_lineage_provider.spark.scala_maps import scala_map

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_TYPED = frozenset({
    "AttributeReference", "NamedLambdaVariable", "Literal", "Alias", "SortOrder", "LambdaFunction", "PythonUDF", "PythonUDAF", "Cast",
    "CommonExpressionDef", "ResolvedCollation",
})  # fmt: skip
_COMPLETE = frozenset({"AttributeReference", "NamedLambdaVariable", "Alias", "SortOrder", "LambdaFunction"})
_READ_LITERALS = ("binary", "timestamp")
_EXPRESSION = "org.apache.spark.sql.catalyst.expressions.Expression"
# What is known of Catalyst's classes, which are the same for as long as there is a JVM: the numbers of their fields, by name, which fields,
# of those that may hold a tree, are optional, and which, of those that the document lacks, are maps.
_FIELDS: dict[str, dict[str, int]] = {}
_OPTIONS: dict[tuple[str, str], bool] = {}
_MAPS: dict[tuple[str, str], bool] = {}


class Completion:
    """One pass over a plan's document and its JVM tree, subqueries included.

    ``udfs`` are the Python UDF calls by result id; ``leaves`` the JVM's operators that read data, numbered in the document;
    ``variables`` the references to session variables; ``operators`` those that only Spark can run, by their numbers.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.udfs: dict[int, CapturedUdf] = {}
        self.leaves: list[JavaObject] = []
        self.variables: list[JavaObject] = []
        self.operators: dict[int, JavaObject] = {}
        self._functions: list[tuple[HeldFunction, Any]] = []
        self._subqueries: list[tuple[JavaObject, dict[str, Any]]] = []

    def plan(self, document: list[dict[str, Any]], plan: JavaObject) -> None:
        """Complete the expressions of a plan's operators."""
        operators = _Nodes(self._spark, plan)
        for place, node in enumerate(document):
            self._operator(node, _Node(operators, place))

    def _operator(self, node: dict[str, Any], plan: _Node) -> None:
        if node.get("projections", ...) is None:
            # Lists of lists of expressions (UNPIVOT) are left out where Scala could still change them.
            node["projections"] = _written(self._value(node, "projections", plan))
        for name in ("limitExpr", "offsetExpr"):
            if name in node:
                self._number(node, name, plan)
        for name, value in list(node.items()):
            if isinstance(value, list) and value:
                self._field(node, name, value, plan)
        number_of_operator = table_functions.number(node)
        if number_of_operator is not None:
            node["operator"] = number_of_operator
            self.operators[number_of_operator] = plan.java
        if not node["num-children"] and not node["class"].endswith(".CTERelationRef"):
            node["leaf"] = len(self.leaves)
            self.leaves.append(plan.java)

    def _number(self, node: dict[str, Any], name: str, plan: _Node) -> None:
        """A number of rows that an expression says (``LIMIT 2 * 5``, ``LIMIT n`` of a session variable): Spark takes constant ones only."""
        from py4j.protocol import Py4JError

        if node[name][0]["class"].endswith(".Literal"):
            return
        said = self._value(node, name, plan)
        self._tree(node[name], said)  # for the variables in it
        try:
            value = said.eval(None)
        except Py4JError:  # what only the optimizer can compute is refused when it is converted
            return
        if isinstance(value, int):
            node[name] = constants.number(value)

    def _field(self, node: dict[str, Any], name: str, value: list[Any], owner: _Node) -> None:
        if is_tree(value):
            if _incomplete(value):
                self._tree(value, self._unwrapped(node, name, owner))
            return
        if any(_waits(item) for item in value):
            self._trees(value, self._value(node, name, owner))

    def _trees(self, value: list[Any], trees: JavaObject) -> None:
        """Trees in a list, or (grouping sets) in lists in it."""
        for number, item in enumerate(value):
            if is_tree(item) and _incomplete(item):
                self._tree(item, trees.apply(number))
            elif _waits(item):
                self._trees(item, trees.apply(number))

    def _tree(self, document: list[dict[str, Any]], expression: JavaObject) -> None:
        nodes = _Nodes(self._spark, expression)
        for place, node in enumerate(document):
            self._expression(node, _Node(nodes, place))

    def _expression(self, node: dict[str, Any], expression: _Node) -> None:
        short = node["class"].rsplit(".", 1)[-1]
        if short == "Literal":
            self._literal(node, expression)
        elif short == "VariableReference":
            self._variable(node, expression.java)
            return
        elif short in ("PythonUDF", "PythonUDAF"):
            self._python_call(node, expression.java)
        elif short == "PythonUDTF":
            node |= table_functions.told(expression.java)
        elif short == "ScalarSubquery":
            self._subquery(node, expression.java)
        elif short == "PivotFirst":
            node["pivotColumnValues"], node["pivotColumnParts"] = self._texts(expression.java), self._parts(expression.java)
        elif short not in _COMPLETE:
            self._missing_fields(node, expression)
        if short not in _TYPED and expression.type is not None:
            node["resultType"] = expression.type
        if "replacement" in node:
            self._own_arguments(node, expression)

    def _python_call(self, node: dict[str, Any], call: JavaObject) -> None:
        """Which Python function is called: the name does not say, since all lambdas have one."""
        held, kind = call.func(), node["dataType"]
        known = (at for at, (one, its) in enumerate(self._functions) if its == kind and one.java.equals(held))
        number = next(known, len(self._functions))
        if number == len(self._functions):
            self._functions.append((HeldFunction(held), kind))
        node["functionNumber"] = number
        node.setdefault("evalType", call.evalType())  # (an aggregate's of Spark 4.0 is no field)
        self.udfs[int(node["resultId"]["id"])] = captured_udf(node, call, self._functions[number][0])

    def _subquery(self, node: dict[str, Any], expression: JavaObject) -> None:
        """A subquery's plan. One that is written twice (in GROUP BY and in SELECT) is one, by its first number."""
        for known, first in self._subqueries:
            if known.semanticEquals(expression):
                node["plan"], node["exprId"] = first["plan"], first["exprId"]
                return
        self._subqueries.append((expression, node))
        self.plan(node["plan"], expression.plan())

    def _texts(self, pivot: JavaObject) -> list[str | None] | None:
        """The values of a pivot as texts that cast back; None for those that `_parts` gives."""
        kind = pivot.pivotColumn().dataType()
        if str(kind.typeName()) in ("struct", "array", "map", "binary"):
            return None
        types = java_class(self._spark, "org.apache.spark.sql.types")
        expressions = java_class(self._spark, "org.apache.spark.sql.catalyst.expressions")
        values = java_class(self._spark, "org.apache.spark.sql.catalyst.util.GenericArrayData")(pivot.pivotColumnValues())
        array = expressions.Literal.create(values, types.ArrayType(kind, True))
        zone = java_class(self._spark, "scala.Some")(self._spark.conf.get("spark.sql.session.timeZone"))
        text, mode = types.DataType.fromDDL("array<string>"), expressions.EvalMode.LEGACY()
        found = expressions.Cast(array, text, zone, mode).eval(None)
        return [None if found.isNullAt(i) else str(found.getUTF8String(i).toString()) for i in range(found.numElements())]

    def _parts(self, pivot: JavaObject) -> list[dict[str, Any]] | None:
        """The values of a pivot over several columns, or over an array, as literals."""
        kind = pivot.pivotColumn().dataType()
        if str(kind.typeName()) not in (*constants.NESTED, "binary"):
            return None
        values = java_class(self._spark, "org.apache.spark.sql.catalyst.util.GenericArrayData")(pivot.pivotColumnValues())
        return constants.parts(values, java_class(self._spark, "org.apache.spark.sql.types.ArrayType")(kind, True))

    def _missing_fields(self, node: dict[str, Any], expression: _Node) -> None:
        for name in [name for name, value in node.items() if value is None]:
            value, field = self._value(node, name, expression), (node["class"], name)
            if not hasattr(value, "getClass"):
                node[name] = None if value is None else str(value)
                continue
            if field not in _MAPS:  # all of a field are, or none
                _MAPS[field] = _is_map(str(value.getClass().getName()))
            node[name] = scala_map(self._spark, value) if _MAPS[field] else str(value.toString())

    def _own_arguments(self, node: dict[str, Any], expression: _Node) -> None:
        """Arguments of a replaced function: not analyzed, so that one may have no type yet; then it is left as it is."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        for name, value in list(node.items()):
            if is_tree(value):
                try:
                    self._tree(value, self._unwrapped(node, name, expression))
                except (Py4JError, PySparkException):
                    continue

    def _variable(self, node: dict[str, Any], expression: JavaObject) -> None:
        """A session variable is the constant that it holds."""
        self.variables.append(expression)
        known, literal = constants.current_value(expression)
        node.clear()
        node.update(known)
        self._literal(node, _Node(_Nodes(self._spark, literal), 0))

    def _literal(self, node: dict[str, Any], expression: _Node) -> None:
        if node["value"] is None or not _is_unread(node["dataType"]):
            return
        value = expression.java.productElement(0)
        if isinstance(node["dataType"], dict):
            node["parts"] = constants.parts(value, expression.java.dataType())
            return
        # With its zone: a local time that a change of clocks repeats would be two moments.
        text = bytes(value).hex() if node["dataType"] == "binary" else instant(int(value), "Z")
        node["value"] = node["value"] if text is None else text

    def _value(self, node: dict[str, Any], name: str, owner: _Node) -> Any:
        numbers = _FIELDS.get(node["class"])
        if numbers is None:
            names = texts(owner.java.productElementNames())
            numbers = _FIELDS[node["class"]] = {one: number for number, one in enumerate(names)}
        return owner.java.productElement(numbers[name]) if name in numbers else None

    def _unwrapped(self, node: dict[str, Any], name: str, owner: _Node) -> Any:
        """A field's tree, out of the Scala ``Some`` that may hold it: a field's type says whether there is one."""
        value, field = self._value(node, name, owner), (node["class"], name)
        if field not in _OPTIONS:
            _OPTIONS[field] = value.getClass().getName() == "scala.Some"
        return value.get() if _OPTIONS[field] else value


class _Nodes:
    """The nodes of a tree of the JVM's, parents first, as its document has them."""

    def __init__(self, spark: SparkSession, root: JavaObject) -> None:
        self._spark = spark
        self._root = root

    def at(self, place: int) -> JavaObject:
        """A node by its place."""
        return self._root if place == 0 else self._every.apply(place)

    @cached_property
    def types(self) -> list[Any]:
        """The types of all nodes, as JSON says them: None for parts of an expression that have none (a window's frame)."""
        of_node = method(self._spark, f"{_EXPRESSION}.dataType", "org.apache.spark.sql.types.DataType.json")
        return [json.loads(text) for text in texts(self._root.map(of_node))]

    @cached_property
    def _every(self) -> JavaObject:
        return self._root.map(identity(self._spark))


@dataclass(frozen=True)
class _Node:
    """One of these nodes: the JVM is asked for it when it is needed."""

    nodes: _Nodes
    place: int

    @property
    def java(self) -> JavaObject:
        return self.nodes.at(self.place)

    @property
    def type(self) -> Any:
        return self.nodes.types[self.place]


def _written(value: JavaObject) -> Any:
    """A list of trees, or of such lists, as `toJSON` would write it."""
    if value.getClass().getName().startswith("scala.collection"):
        return [_written(value.apply(number)) for number in range(value.size())]
    return json.loads(value.toJSON())


def _waits(value: Any) -> bool:
    """Whether a tree somewhere in a field's value misses something."""
    return isinstance(value, list) and (_incomplete(value) if is_tree(value) else any(_waits(item) for item in value))


def _incomplete(array: list[dict[str, Any]]) -> bool:
    return any(_misses_something(node) for node in array)


def _misses_something(node: dict[str, Any]) -> bool:
    short = node["class"].rsplit(".", 1)[-1]
    return _is_unread(node["dataType"]) if short == "Literal" else short not in _COMPLETE


def _is_unread(kind: Any) -> bool:
    """Whether the document's text of a literal of this type does not hold its value."""
    return kind.get("type") in constants.NESTED if isinstance(kind, dict) else kind in _READ_LITERALS


def _is_map(name: str) -> bool:
    """Whether a class is one of Scala's maps: up to four entries they are ``Map.Map1`` … ``Map.Map4``, beyond ``HashMap``.

    >>> _is_map("scala.collection.immutable.Map$EmptyMap$"), _is_map("scala.collection.immutable.HashMap"), _is_map("scala.Enumeration$Val")
    (True, True, False)
    """
    return name.startswith("scala.collection.") and "Map" in name
