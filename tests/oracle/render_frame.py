"""Queries as pipelines of the DataFrame API: a subtree that stands twice is the same DataFrame twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from tests.oracle import query as q
from tests.oracle import render_select, udfs
from tests.oracle.schema import names as names_of
from tests.oracle.schema import using_columns

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
        names = names_of(node, self.tables)
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
            case q.GroupingSets():
                return _grouping_sets(node, inputs[0], columns, names)
            case q.KeepOne(_, kept):
                return inputs[0].dropDuplicates([names[at] for at in kept])
            case q.Window(_, functions):
                return inputs[0].select(*columns, *_named([_over(one, node, columns) for one in functions], names[len(columns) :]))
            case q.Explode():
                return inputs[0].select(*columns, _exploded(node, columns).alias(*names[len(columns) :]))
            case q.SetOp(kind, _, _, every):
                method = {"intersect": "intersect", "except": "subtract"}[kind] if not every else f"{kind}All"
                combined: DataFrame = getattr(inputs[0], method)(inputs[1])
                return combined
            case q.Using():
                return _using(node, inputs, names)
            case q.Semi() | q.In() if node.kind in ("semi", "anti"):
                return _met(node, inputs)
            case _:
                return _with_subquery(node, inputs, names)


def _join(node: q.Join, inputs: list[DataFrame], names: Sequence[str]) -> DataFrame:
    left, right = inputs[0].alias("l"), inputs[1].alias("r")
    columns = [F.col(f"{side}.`{name}`") for side, frame in zip("lr", inputs, strict=True) for name in frame.columns]
    if node.kind == "cross":
        joined = left.crossJoin(right)
    else:
        joined = left.join(right, F.lit(True) if node.condition is None else _column(node.condition, columns), node.kind)
    return joined.select(*_named(columns, names))


def _using(node: q.Using, inputs: list[DataFrame], names: Sequence[str]) -> DataFrame:
    """USING; the API has no NATURAL."""
    left = {ours: f"u{i}" for i, (ours, _) in enumerate(node.pairs)}
    right = {theirs: f"u{i}" for i, (_, theirs) in enumerate(node.pairs)}
    ours = [left.get(at, f"a{at}") for at in range(len(inputs[0].columns))]
    theirs = [right.get(at, f"b{at}") for at in range(len(inputs[1].columns))]
    joined = inputs[0].toDF(*ours).join(inputs[1].toDF(*theirs), list(left.values()), node.kind)
    chosen = [(ours + theirs)[at] for at in using_columns(node, len(ours), len(theirs))]
    return joined.select(*_named([F.col(one) for one in chosen], names))


def _met(node: q.Semi | q.In, inputs: list[DataFrame]) -> DataFrame:
    """left_semi and left_anti joins; IN over one column as `isin`, and NOT IN over several as the null-aware join that it is."""
    left, right = inputs[0].alias("l"), inputs[1].alias("r")
    ours, theirs = _of("l", inputs[0]), _of("r", inputs[1])
    if isinstance(node, q.In) and len(node.items) == 1:
        found = _column(node.items[0], ours).isin(right)
        return left.where(found if node.kind == "semi" else ~found)
    return left.join(right, _condition(node, ours, theirs), f"left_{node.kind}")


def _with_subquery(node: q.Node, inputs: list[DataFrame], names: Sequence[str]) -> DataFrame:
    left, right = inputs[0].alias("l"), inputs[1].alias("r")
    outer, theirs = [one.outer() for one in _of("l", inputs[0])], _of("r", inputs[1])
    match node:
        case q.Semi() | q.In():
            found = right.where(_condition(node, outer, theirs)).exists()
            made = ~found if node.kind == "not_flag" else found
        case q.Scalar():
            made = right.scalar()
        case q.Lookup(_, _, keys, calls, value, comparison):
            sides = [(_column(b, theirs), _column(a, outer)) for a, b in keys]
            pairs = reduce(lambda a, b: a & b, [b == a if comparison == "=" else b <= a for b, a in sides])
            made = right.where(pairs).select(_column(value, [_call(one, theirs) for one in calls])).scalar()
        case _:
            raise TypeError(f"no subquery: {node}")
    return left.select("*", made.alias(names[-1]))


def _condition(node: q.Semi | q.In, ours: Sequence[Column], theirs: Sequence[Column]) -> Column:
    if isinstance(node, q.Semi):
        return _column(node.condition, [*ours, *theirs])
    equal = [_column(item, ours) == other for item, other in zip(node.items, theirs, strict=True)]
    if node.kind in ("anti", "not_flag"):
        equal = [one | one.isNull() for one in equal]
    return reduce(lambda a, b: a & b, equal)


def _of(alias: str, frame: DataFrame) -> list[Column]:
    return [F.col(f"{alias}.`{name}`") for name in frame.columns]


def _grouping_sets(node: q.GroupingSets, given: DataFrame, columns: Sequence[Column], names: Sequence[str]) -> DataFrame:
    keys = [_column(key, columns) for key in node.keys]
    match node.written:
        case "rollup":
            grouped = given.rollup(*keys)
        case "cube":
            grouped = given.cube(*keys)
        case _:
            grouped = given.groupingSets([[keys[at] for at in chosen] for chosen in node.sets], *keys)
    made = grouped.agg(F.grouping_id(), *(_call(one, columns) for one in node.calls))
    return made.toDF(*names)


def _over(one: q.Over, node: q.Window, columns: Sequence[Column]) -> Column:
    window = Window.partitionBy(*(columns[at] for at in node.partition))
    if node.order:
        keys = [F.desc_nulls_last(columns[at]) if descending else F.asc_nulls_first(columns[at]) for at, descending in node.order]
        window = window.orderBy(*keys)
    if one.frame is not None:
        start = Window.unboundedPreceding if one.frame.start is None else one.frame.start
        end = Window.unboundedFollowing if one.frame.end is None else one.frame.end
        window = (window.rowsBetween if one.frame.unit == "rows" else window.rangeBetween)(start, end)
    return _function(one, columns).over(window)


def _function(one: q.Over, columns: Sequence[Column]) -> Column:
    if one.function in ("lag", "lead") and one.ignore_nulls:
        # The API has no IGNORE NULLS for these.
        return F.expr(render_select.function(one, [_text(column) for column in columns]))
    arguments = [F.col("*") if one.function == "count" else None] if one.argument is None else [_column(one.argument, columns)]
    given: list[Any] = [argument for argument in arguments if argument is not None]
    if one.function in ("lag", "lead", "ntile", "nth_value"):
        given.append(one.number)
    if one.function in ("first_value", "last_value", "nth_value"):
        given.append(F.lit(one.ignore_nulls) if one.function != "nth_value" else one.ignore_nulls)
    made: Column = getattr(F, one.function)(*given)
    return made


def _text(column: Column) -> str:
    """A column that is a name, as SQL has it."""
    java: Any = column._jc
    return f"`{java.node().nameParts().mkString('`.`')}`"


def _exploded(node: q.Explode, columns: Sequence[Column]) -> Column:
    array = F.array(*(_column(item, columns) for item in node.items))
    if node.condition is not None:
        array = F.when(_column(node.condition, columns), array)
    made: Column = getattr(F, ("pos" if node.position else "") + "explode" + ("_outer" if node.outer else ""))(array)
    return made


def _named(columns: Sequence[Column], names: Sequence[str]) -> list[Column]:
    return [column.alias(name) for column, name in zip(columns, names, strict=True)]


def _call(one: q.Call, columns: Sequence[Column]) -> Column:
    if one.where is not None:
        # The API has no FILTER.
        return F.expr(render_select.call(one, [_text(column) for column in columns]))
    if one.argument is None:
        return F.count("*")
    argument = _column(one.argument, columns)
    if one.distinct:
        more = [_column(part, columns) for part in one.more]
        return F.count_distinct(argument, *more) if one.function == "count" else F.sum_distinct(argument)
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


def _operation(name: str, args: list[Column]) -> Column:
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


_BINARY: dict[str, Callable[[list[Any]], Column]] = {
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
