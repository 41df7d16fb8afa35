"""Sums and averages in floating-point numbers that are the same in whatever order rows come: those of small whole numbers.

A double holds every whole number up to 2^53, and Spark adds integers up for an average as doubles: where no row's value is larger than
2^15, no group of less than 2^38 rows has a partial sum that is rounded.

>>> flag = e.Call(function="when", arguments=(*(_whole(one) for one in "110"),), type="int")
>>> averaged = e.AggregateCall(function="avg", arguments=(flag,), type="double")
>>> is_exact(averaged), is_exact(e.AggregateCall(function="avg", arguments=(e.Cast(child=flag, type="double"),), type="double"))
(True, True)
>>> is_exact(e.AggregateCall(function="avg", arguments=(e.Attribute(id=1, name="a", type="int"),), type="double"))
False
"""

from __future__ import annotations

from airflow_lineage_provider.plan import expressions as e

_LARGEST = 2**15
_OF_TYPE = {"boolean": 1, "tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}
_FLOATING = frozenset({"float", "double"})
_ADDING = frozenset({"sum", "try_sum", "avg", "mean", "try_avg"})
_CHOOSING = frozenset({"coalesce", "nvl", "ifnull", "nullif", "greatest", "least"})


def is_exact(call: e.AggregateCall | e.WindowFunction) -> bool:
    """Whether a call adds up small whole numbers alone."""
    bound = _bound(call.arguments[0]) if call.function in _ADDING and call.arguments else None
    return bound is not None and bound <= _LARGEST


def _bound(value: e.Expression) -> int | None:
    """What no value is larger than, its sign aside, where all are whole numbers or NULL; None where nobody knows."""
    match value:
        case e.Literal():
            found = _of_constant(value)
        case e.Cast():
            found = _bound(value.child)
        case e.Call():
            found = _of_call(value)
        case _:
            found = None
    most = _OF_TYPE.get(_type(value))
    if most is None:  # a whole number stays one as a double; other types cut it, or round
        return found if _type(value) in _FLOATING else None
    # Beyond its type an integer begins anew at the other end.
    return found if found is not None and found <= most else most


def _type(value: e.Expression) -> str:
    return str(getattr(value, "type", ""))


def _of_constant(value: e.Literal) -> int | None:
    if value.value is None:
        return 0
    if value.type not in _OF_TYPE.keys() - {"boolean"} | _FLOATING and not value.type.startswith("decimal"):
        return None  # what a text, a date or bytes are as a number is not what they read like
    number = float(value.value)
    return abs(int(number)) if number.is_integer() else None


def _of_call(call: e.Call) -> int | None:
    bounds = [_bound(one) for one in _chosen(call)]
    known = [one for one in bounds if one is not None]
    if not known or len(known) < len(bounds):
        return None
    match call.function:
        case "+" | "-":
            return sum(known)
        case "*":
            return known[0] * known[-1]
        case _:
            return max(known)


def _chosen(call: e.Call) -> tuple[e.Expression, ...]:
    """The arguments that a call's value is made of; none where it is made otherwise."""
    match call.function:
        case "when":  # condition, value, condition, value, …, and what is else
            values = call.arguments[1::2]
            return (*values, call.arguments[-1]) if len(call.arguments) % 2 else values
        case "if":
            return call.arguments[1:]
        case "+" | "-" | "*":
            return call.arguments
    return call.arguments if call.function in _CHOOSING else ()


def _whole(text: str) -> e.Literal:
    return e.Literal(value=text, type="int")
