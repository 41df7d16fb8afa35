"""SQL's values: expressions over a row, equality and order as Spark has them, aggregate functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from tests.oracle import query as q
from tests.oracle import udfs


def value(expression: q.Expr, row: Sequence[Any]) -> Any:
    """SQL's value of an expression over a row: NULL is None, and conditions have three values."""
    match expression:
        case q.Col(at):
            return row[at]
        case q.Lit(given, _):
            return given
        case q.Udf(name, args):
            return udfs.MAINS[name](*(value(arg, row) for arg in args))
        case q.Op(name, args):
            return _operation(name, [value(arg, row) for arg in args])


def _operation(name: str, args: list[Any]) -> Any:
    match name:
        case "and":
            return False if False in args else None if None in args else True
        case "or":
            return True if True in args else None if None in args else False
        case "is_null":
            return args[0] is None
        case "coalesce":
            return next((arg for arg in args if arg is not None), None)
        case "case":
            return args[1] if args[0] is True else args[2]
        case "<=>":
            return same(args[0]) == same(args[1])
    return None if None in args else _STRICT[name](*args)


_STRICT: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "%": lambda a, b: int(math.fmod(a, b)),
    "div": lambda a, b: int(a / b),
    "=": lambda a, b: same(a) == same(b),
    "<>": lambda a, b: same(a) != same(b),
    "<": lambda a, b: compare(a, b) < 0,
    "<=": lambda a, b: compare(a, b) <= 0,
    "not": lambda a: not a,
    "concat": lambda *args: "".join(args),
    "upper": lambda a: a.upper(),
}


def same(given: Any) -> Any:
    """What Spark takes for one value in =, GROUP BY and DISTINCT: NaN is itself, and -0.0 is 0.0."""
    if isinstance(given, float):
        return ("float", "NaN" if math.isnan(given) else given + 0.0)
    return (type(given).__name__, given)


def compare(a: Any, b: Any) -> int:
    """Spark's order: NaN is larger than every number."""
    if isinstance(a, float) and isinstance(b, float) and (math.isnan(a) or math.isnan(b)):
        return math.isnan(a) - math.isnan(b)
    return int(a > b) - int(a < b)


def order(a: Any, b: Any, descending: bool = False) -> int:
    """-1, 0 or 1; NULL is the smallest, so the first, or the last where the order is descending."""
    found = int(a is not None) - int(b is not None) if a is None or b is None else compare(a, b)
    return -found if descending else found


def aggregate(call: q.Call, group: Sequence[Sequence[Any]]) -> Any:
    """An aggregate function over the values of a group's rows."""
    if call.where is not None:
        group = [row for row in group if value(call.where, row) is True]
    if call.argument is None:
        return len(group)
    given = [made for row in group if None not in (made := [value(one, row) for one in (call.argument, *call.more)])]
    if call.distinct:
        given = list({tuple(map(same, one)): one for one in given}.values())
    return len(given) if call.function == "count" else folded(call.function, [one[0] for one in given])


def folded(function: str, given: Sequence[Any]) -> Any:
    """sum, min or max of values that are not NULL."""
    if not given:
        return None
    if function == "sum":
        return sum(given)
    sign = 1 if function == "min" else -1
    return reduce(lambda a, b: a if sign * compare(a, b) <= 0 else b, given)
