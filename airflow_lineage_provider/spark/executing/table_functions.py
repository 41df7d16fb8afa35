"""Operators that only Spark can run (`catalyst.table_functions`), run again over the rows of a run.

The analyzed plan's own operator is put over other rows. Its function, its script and its types are thereby the user's very own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.spark.capturing.table_functions import handler_of, told
from airflow_lineage_provider.spark.executing.partition_keys import KEY, with_keys
from airflow_lineage_provider.spark.jvm_classes import java_class
from airflow_lineage_provider.spark.jvm_trees import class_name, frame_over, items, sequence, with_child, with_fields

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession


def generated(node: o.Generate, operators: Mapping[int, JavaObject], frame: DataFrame) -> DataFrame:
    """The rows of a `Generate` that only Spark can run. ``frame`` has the child's rows; the columns are named after ``node.output``."""
    assert node.call is not None
    operator, places = operators[node.call], {a.id: at for at, a in enumerate(node.child.output)}
    arguments = [places[part.id] for part in node.generator.arguments if isinstance(part, Attribute)]
    made = _bins(operator, frame, arguments) if class_name(operator) == "BinBy" else _row_by_row_of(operator, frame, arguments)
    return made.toDF(*(a.name for a in node.output))


def of_tables(node: o.PythonMap, operators: Mapping[int, JavaObject], frame: DataFrame) -> DataFrame:
    """The rows that a table function or a script makes of tables, with columns named after ``node.output``: the partition's keys last.

    ``frame`` has the keys first and then the table's rows.
    """
    from pyspark.sql import functions as F

    operator, width = operators[node.call], len(node.keys)
    given = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    if class_name(operator) == "Generate" and told(operator.generator())["partitioned"]:
        made = _of_partitions(operator, given, width)
    else:
        whole = _of_table(operator, given.select(*given.columns[width:]))
        made = whole.select("*", *(F.lit(True).alias(f"k{i}") for i in range(width)))
    return made.select(*made.columns[: len(node.output)]).toDF(*(a.name for a in node.output))


def _of_table(operator: JavaObject, table: DataFrame) -> DataFrame:
    if class_name(operator) == "ScriptTransformation":
        below = _as_captured(items(operator.child().output()), table)
        return _named(frame_over(table.sparkSession, with_child(table.sparkSession, operator, below)))
    function = operator.generator()
    if not told(function)["takesTable"]:
        count = len(items(function.children()))
        return _row_by_row_of(operator, table, list(range(len(table.columns) - count, len(table.columns))))
    spread = _spread_over(table.sparkSession, operator.child(), _as_captured(items(_table_of(operator).output()), table))
    made = _named(frame_over(table.sparkSession, with_child(table.sparkSession, operator, spread)))
    return made.select(*made.columns[-len(items(operator.generatorOutput())) :])


def _row_by_row_of(operator: JavaObject, frame: DataFrame, arguments: Sequence[int]) -> DataFrame:
    """The frame's rows, and beside each what the function makes of its arguments, which are columns of the frame."""
    spark, below = frame.sparkSession, frame._jdf.queryExecution().analyzed()
    columns = items(below.output())
    function = operator.generator()
    given = [_argument(spark, one, columns[at]) for one, at in zip(items(function.children()), arguments, strict=True)]
    called = function.withNewChildren(sequence(spark, given))
    return _named(frame_over(spark, with_fields(spark, operator, generator=called, unrequiredChildIndex=sequence(spark, []), child=below)))


def _argument(spark: SparkSession, argument: JavaObject, value: JavaObject) -> JavaObject:
    named = class_name(argument) == "NamedArgumentExpression"
    return argument.withNewChildren(sequence(spark, [value])) if named else value


def _bins(operator: JavaObject, frame: DataFrame, arguments: Sequence[int]) -> DataFrame:
    """The frame's rows, and beside each its shares and its bin. Spark puts a share in the place of its column: of a copy of it."""
    numbered = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    start, end, *shared = (f"c{at}" for at in arguments)
    below = numbered.select("*", *(numbered[name].alias(f"s{name}") for name in shared))._jdf.queryExecution().analyzed()
    columns = {str(column.name()): column for column in items(below.output())}
    spark = frame.sparkSession
    copies = sequence(spark, [columns[f"s{name}"] for name in shared])
    binned = with_fields(spark, operator, rangeStart=columns[start], rangeEnd=columns[end], distributeColumns=copies, child=below)
    return _named(frame_over(spark, binned))


def _of_partitions(operator: JavaObject, frame: DataFrame, width: int) -> DataFrame:
    """What the function makes of a table's partitions, and their keys, which stand first in ``frame``.

    A row may come when its partition has ended (``terminate``), beside the first row of the next: so the keys are given to the function
    with every row of the table, and a class around it puts them into the rows that it makes.
    """
    from pyspark.sql.udf import _wrap_function

    spark = frame.sparkSession
    function = operator.generator()
    keys = items(frame._jdf.queryExecution().analyzed().output())[:width]
    below = _as_captured(items(_table_of(operator).output()), frame, keys)
    told_with_keys, column = _struct_with(spark, operator.child(), keys)
    schema = function.elementSchema()
    for at, key in enumerate(keys):
        schema = schema.add(f"{KEY}{at}", key.dataType(), True)
    given = [_argument(spark, one, column) if _reads(one, column) else one for one in items(function.children())]
    wrapped = _wrap_function(spark.sparkContext, with_keys(handler_of(function), width))
    called = with_fields(spark, function, func=wrapped, elementSchema=schema, children=sequence(spark, given))
    output = java_class(spark, "org.apache.spark.sql.catalyst.types.DataTypeUtils").toAttributes(schema)
    child = _spread_over(spark, told_with_keys, below)
    made = _named(frame_over(spark, with_fields(spark, operator, generator=called, generatorOutput=output, child=child)))
    return made.select(*made.columns[-len(items(output)) :])


def _struct_with(spark: SparkSession, project: JavaObject, keys: Sequence[JavaObject]) -> tuple[JavaObject, JavaObject]:
    """The projection that makes a struct of each row of a table, with the keys in it; and the struct's attribute."""
    (alias,) = items(project.projectList())
    literal, text = (
        java_class(spark, "org.apache.spark.sql.catalyst.expressions.Literal"),
        java_class(spark, "org.apache.spark.sql.types.DataTypes"),
    )
    more = [part for at, key in enumerate(keys) for part in (literal.create(f"{KEY}{at}", text.StringType), key)]
    struct = with_fields(spark, alias.child(), children=sequence(spark, [*items(alias.child().children()), *more]))
    made = with_fields(spark, alias, child=struct)
    return with_fields(spark, project, projectList=sequence(spark, [made])), made.toAttribute()


def _reads(argument: JavaObject, column: JavaObject) -> bool:
    return any(int(one.exprId().id()) == int(column.exprId().id()) for one in items(argument.references().toSeq()))


def _spread(project: JavaObject) -> list[JavaObject]:
    """What stands between a TABLE argument's struct and its table: how its rows are put together and ordered."""
    found, below = [], project.child()
    for names in (("Sort",), ("Repartition", "RepartitionByExpression")):
        if class_name(below) in names:
            found.append(below)
            below = below.child()
    return found


def _table_of(operator: JavaObject) -> JavaObject:
    return [operator.child(), *_spread(operator.child())][-1].child()


def _spread_over(spark: SparkSession, project: JavaObject, table: JavaObject) -> JavaObject:
    for node in reversed([project, *_spread(project)]):
        table = with_child(spark, node, table)
    return table


def _as_captured(attributes: Sequence[JavaObject], frame: DataFrame, further: Sequence[JavaObject] = ()) -> JavaObject:
    """The last columns of a frame as the attributes that the captured operator reads, and further ones as they are."""
    spark, below = frame.sparkSession, frame._jdf.queryExecution().analyzed()
    alias = java_class(spark, "org.apache.spark.sql.catalyst.expressions.Alias")
    nothing, empty = java_class(spark, "scala.Option").empty(), sequence(spark, [])
    columns = items(below.output())[-len(attributes) :] if attributes else []
    known = [
        alias(column, attribute.name(), attribute.exprId(), empty, nothing, empty)
        for column, attribute in zip(columns, attributes, strict=True)
    ]
    return java_class(spark, "org.apache.spark.sql.catalyst.plans.logical.Project")(sequence(spark, [*known, *further]), below)


def _named(frame: DataFrame) -> DataFrame:
    """The frame with names that differ."""
    return frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
