"""Queries as pipelines of the DataFrame API: a subtree that stands twice is the same DataFrame twice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from tests.oracle import query as q
from tests.oracle import udfs

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_SPARK_TYPES = {"int": "int", "string": "string", "bool": "boolean", "float": "double"}
_UDFS = {udf.name: udf for udf in udfs.REASONED}


def to_frame(node: q.Node, tables: q.Tables, spark: SparkSession) -> DataFrame:
    """The query over views that are named as the tables are."""
    return _Frames(tables, spark).frame(node)


class _Frames:
    def __init__(self, tables: q.Tables, spark: SparkSession) -> None:
        self.tables = tables
        self.spark = spark
        self.known: dict[q.Node, DataFrame] = {}

    def frame(self, node: q.Node) -> DataFrame:
        if node not in self.known:
            self.known[node] = self._frame(node, [self.frame(child) for child in q.children(node)])
        return self.known[node]

    def _frame(self, node: q.Node, inputs: list[DataFrame]) -> DataFrame:
        names = q.names(node, self.tables)
        columns = [F.col(f"`{name}`") for name in inputs[0].columns] if inputs else []
        match node:
            case q.Table(name):
                return self.spark.table(name)
            case q.Filter(_, condition):
                return inputs[0].where(_column(condition, columns))
            case q.Project(_, items):
                return inputs[0].select(*_named([_column(item, columns) for item in items], names))
            case q.Join():
                return _join(node, inputs, names)
            case q.Aggregate(_, keys, calls):
                made = _named([_column(key, columns) for key in keys] + [_call(one, columns) for one in calls], names)
                grouped = inputs[0].groupBy(*made[: len(keys)])
                return grouped.agg(*made[len(keys) :]) if calls else grouped.agg(F.count(F.lit(1)).alias("dropped")).drop("dropped")
            case q.Distinct():
                return inputs[0].distinct()
            case q.Union(_, _, every):
                both = inputs[0].union(inputs[1])
                return both if every else both.dropDuplicates()
            case q.TopK(_, count, skip, descending):
                order = [F.desc_nulls_first(one) if at in descending else F.asc_nulls_first(one) for at, one in enumerate(columns)]
                found = inputs[0].orderBy(*order)
                return (found.offset(skip) if skip else found).limit(count)


def _join(node: q.Join, inputs: list[DataFrame], names: Sequence[str]) -> DataFrame:
    left, right = inputs[0].alias("l"), inputs[1].alias("r")
    columns = [F.col(f"{side}.`{name}`") for side, frame in zip("lr", inputs, strict=True) for name in frame.columns]
    if node.kind == "cross":
        joined = left.crossJoin(right)
    else:
        joined = left.join(right, F.lit(True) if node.condition is None else _column(node.condition, columns), node.kind)
    return joined.select(*_named(columns, names))


def _named(columns: Sequence[Column], names: Sequence[str]) -> list[Column]:
    return [column.alias(name) for column, name in zip(columns, names, strict=True)]


def _call(one: q.Call, columns: Sequence[Column]) -> Column:
    if one.argument is None:
        return F.count("*")
    argument = _column(one.argument, columns)
    if one.distinct:
        return F.count_distinct(argument) if one.function == "count" else F.sum_distinct(argument)
    made: Column = getattr(F, one.function)(argument)
    return made


def _column(one: q.Expr, columns: Sequence[Column]) -> Column:
    match one:
        case q.Col(at):
            return columns[at]
        case q.Lit(value, kind):
            return F.lit(value) if value is not None else F.lit(None).cast(_SPARK_TYPES[kind])
        case q.Udf(name, args):
            return _UDFS[name].column(*(_column(arg, columns) for arg in args))
        case q.Op(name, args):
            return _operation(name, [_column(arg, columns) for arg in args])


def _operation(name: str, args: list[Any]) -> Column:
    match name:
        case "not":
            return ~args[0]
        case "is_null":
            return args[0].isNull()
        case "case":
            return F.when(args[0], args[1]).otherwise(args[2])
        case "<=>":
            return args[0].eqNullSafe(args[1])
        case "coalesce" | "concat" | "upper":
            made: Column = getattr(F, name)(*args)
            return made
    return _BINARY[name](args)


_BINARY: dict[str, Any] = {
    "+": lambda args: args[0] + args[1],
    "-": lambda args: args[0] - args[1],
    "*": lambda args: args[0] * args[1],
    "%": lambda args: args[0] % args[1],
    "=": lambda args: args[0] == args[1],
    "<>": lambda args: args[0] != args[1],
    "<": lambda args: args[0] < args[1],
    "<=": lambda args: args[0] <= args[1],
    "and": lambda args: reduce(lambda a, b: a & b, args),
    "or": lambda args: reduce(lambda a, b: a | b, args),
}
