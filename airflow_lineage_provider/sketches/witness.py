"""One row of each group in place of all, where the group's one value is a minimum or a maximum (the paper's first case of r3, Sec. 6.2).

Such a row is a *witness*: over a sketch that has its fragment, the group has the same value. Over all other data that may be so or not, so
a sketch of witnesses is good for the very same instance over the very same versions alone; and the group's other rows, which stand behind
it as well, may be missing, so that nothing is derived through it. (The paper uses it for other constants, too: of ``max(a)`` where
``b > 10`` a witness need not meet ``b > 20``, which other rows of its group do.)

Of several sources below one aggregation the rows of *one* witness are carried: those of two that give the same value need not be partners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import expressions_in
from airflow_lineage_provider.plan.expressions import AggregateCall, Attribute, Call, Expression, GetField, Literal
from airflow_lineage_provider.plan.walk import own_expressions
from airflow_lineage_provider.sketches.kinds import kind_of


@dataclass
class Witnessing:
    """Of which leaves witnesses are carried, and why of others all rows of a group are; told as the plan is carried up."""

    leaves: set[int] = field(default_factory=set)
    refused: dict[int, str] = field(default_factory=dict)


def why_no_witness(node: o.Aggregate, *, by_row: bool, ordered: bool) -> str:
    """Why one row of a group is not enough for what an aggregation makes of it; empty where it is.

    ``by_row``: each row below is made of one row of every source, so that it is the same whatever others there are. ``ordered``: something
    above hangs on the order of the groups, which come in another one.
    """
    calls = calls_of(node)
    if len(calls) != 1:
        return f"the groups have {len(calls)} functions, and one row gives the value of one" if calls else "the groups have no function"
    (call,) = calls
    if call.function not in ("max", "min") or call.distinct or call.filter is not None or call.within_group:
        return f"{call.function} hangs on more than one row of a group"
    if kind_of(call.type) == "opaque":
        return f"values of {call.type} are not compared"
    if not by_row:
        return "what is compared hangs on other rows, too"
    return "the groups would be made in another order, and something hangs on that" if ordered else ""


def calls_of(node: o.Aggregate) -> list[AggregateCall]:
    """The functions over a group's rows."""
    return [part for own in own_expressions(node) for part in expressions_in(own) if isinstance(part, AggregateCall)]


def witness_of(call: AggregateCall, numbers: Sequence[Attribute]) -> AggregateCall:
    """The numbers of one row that gives a minimum or a maximum, beside its value: the least, or the largest, of all rows'. So it is the
    same in whatever order they come. Rows without a value are taken where there are no others.

    >>> from airflow_lineage_provider.plan.text import expression_text
    >>> most = AggregateCall(function="max", arguments=(Attribute(id=1, name="price", type="int"),), type="int")
    >>> expression_text(witness_of(most, [Attribute(id=2, name="fragment", type="int")]))
    "max(named_struct('f0', isnotnull(price), 'f1', price, 'f2', fragment))"
    """
    (value,) = call.arguments
    there = Call(function="isnotnull" if call.function == "max" else "isnull", arguments=(value,), type="boolean")
    parts: tuple[tuple[Expression, str], ...] = ((there, "boolean"), (value, call.type), *((one, one.type) for one in numbers))
    named = tuple(one for at, (part, _) in enumerate(parts) for one in (Literal(value=f"f{at}", type="string"), part))
    row = Call(function="named_struct", arguments=named, type=f"struct<{','.join(f'f{at}:{kind}' for at, (_, kind) in enumerate(parts))}>")
    return AggregateCall(function=call.function, arguments=(row,), type=row.type)


def number_in(row: Attribute, at: int) -> GetField:
    """One of the numbers that were given to `witness_of`."""
    return GetField(child=row, field=f"f{at + 2}", type="int")
