"""Sums and averages in floating-point numbers that are the same in whatever order rows come: those of small whole numbers.

A double holds every whole number up to 2^53, and Spark adds integers up for an average as doubles: where no row's value is larger than
2^15, no group of less than 2^38 rows has a partial sum that is rounded. Larger numbers are known to be exact where the rows are known
(`adds_up_exactly`), and then are marked (`AggregateCall.exact`).

>>> flag = e.Call(function="when", arguments=(*(_whole(one) for one in "110"),), type="int")
>>> averaged = e.AggregateCall(function="avg", arguments=(flag,), type="double")
>>> is_exact(averaged), is_exact(e.AggregateCall(function="avg", arguments=(e.Cast(child=flag, type="double"),), type="double"))
(True, True)
>>> is_exact(e.AggregateCall(function="avg", arguments=(e.Attribute(id=1, name="a", type="int"),), type="double"))
False
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from airflow_lineage_provider.plan import expressions as e

_LARGEST, _LARGEST_DOUBLE = 2**15, 2**53
_OF_TYPE = {"boolean": 1, "tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}
_DIGITS = {"float": 2**24, "double": _LARGEST_DOUBLE}
_FLOATING = frozenset(_DIGITS)
_ADDING = frozenset({"sum", "try_sum", "avg", "mean", "try_avg"})
_CHOOSING = frozenset({"coalesce", "nvl", "ifnull", "nullif", "greatest", "least"})


def is_exact(call: e.AggregateCall | e.WindowFunction) -> bool:
    """Whether a call adds up whole numbers alone that are small, or that are marked."""
    if call.exact:
        return True
    bound = most_of(call.arguments[0]) if _adds(call) else None
    return bound is not None and bound <= _LARGEST


def adds_up_exactly(call: e.AggregateCall | e.WindowFunction, rows: float, columns: Mapping[int, int]) -> bool:
    """Whether a call adds up whole numbers alone, no partial sum of which a double rounds.

    :param rows: there are no more. :param columns: for attributes (their ids) of whole numbers what none is larger than.
    """
    bound = most_of(call.arguments[0], columns) if _adds(call) and call.type == "double" else None
    return bound is not None and bound * rows <= _LARGEST_DOUBLE


def adds_whole_numbers(call: e.AggregateCall | e.WindowFunction) -> bool:
    """Whether a call adds up in floating-point numbers what are whole numbers by their type."""
    if not _adds(call) or call.type != "double":
        return False
    value = call.arguments[0]
    while isinstance(value, e.Cast) and _type(value) in _FLOATING:
        value = value.child
    return _type(value) in _OF_TYPE


def _adds(call: e.AggregateCall | e.WindowFunction) -> bool:
    return call.function in _ADDING and bool(call.arguments)


def most_of(value: e.Expression, columns: Mapping[int, int] = MappingProxyType({})) -> int | None:
    """What no value is larger than, its sign aside, where all are whole numbers or NULL; None where nobody knows.

    :param columns: what is known of attributes, by id.
    """
    match value:
        case e.Attribute():
            found = columns.get(value.id)
        case e.Literal():
            found = _of_constant(value)
        case e.Cast():
            found = most_of(value.child, columns)
        case e.Call():
            found = _of_call(value, columns)
        case _:
            found = None
    most = _OF_TYPE.get(_type(value))
    if most is None:  # a whole number stays one as a double, and itself where that has its digits; other types cut it, or round
        return found if found is not None and found <= _DIGITS.get(_type(value), 0) else None
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


def _of_call(call: e.Call, columns: Mapping[int, int]) -> int | None:
    bounds = [most_of(one, columns) for one in _chosen(call)]
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
