"""By which columns a condition names rows: what an index would find them by."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.expressions import Attribute, Call, Expression


def named_by(condition: Expression) -> tuple[int, ...]:
    """The ids of the attributes that have to be equal to a constant, or to one of several, wherever a row meets a condition.

    >>> T = table("T", "a, b, c")
    >>> [named_by(where(T, text).condition) for text in ("a = 1 and (b = 2 or 3 = b) and c > 4", "a = 1 and b = 2 or a = 3", "a = b")]
    [(0, 1), (0,), ()]
    """
    match condition:
        case Call(function="and", arguments=terms):
            return tuple(dict.fromkeys(one for term in terms for one in named_by(term)))
        case Call(function="or", arguments=terms):
            return reduce(_in_both, map(named_by, terms))
        case Call(function="=", arguments=(left, right)):
            return _named(left, [right]) or _named(right, [left])
        case Call(function="in", arguments=(value, *listed)):
            return _named(value, listed)
    return ()


def _named(value: Expression, others: Sequence[Expression]) -> tuple[int, ...]:
    is_constant = not any(True for other in others for _ in references(other))
    return (value.id,) if isinstance(value, Attribute) and is_constant else ()


def _in_both(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(one for one in left if one in right)
