"""Tags: the numbers of the source rows that a row descends from, in a column of its own (``array<bigint>``, NULL for none)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from airflow_lineage_provider.catalyst.datatypes import struct_ddl
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import references, replace_attributes
from airflow_lineage_provider.plan.expressions import (
    AggregateCall,
    Alias,
    Attribute,
    Call,
    Expression,
    GetField,
    Lambda,
    LambdaVariable,
    Literal,
    WindowFrame,
    WindowFunction,
)
from airflow_lineage_provider.rewrite.fresh import FreshAttributes

TYPE = "array<bigint>"
_LISTS = f"array<{TYPE}>"
_PARTNER = "lineage_partner"


def tags_attribute(fresh: FreshAttributes) -> Attribute:
    """A new column of tags."""
    return fresh.attribute("lineage_tags", TYPE)


def lists_attribute(fresh: FreshAttributes) -> Attribute:
    """A new column of the tags of several rows."""
    return fresh.attribute("lineage_lists_of_tags", _LISTS)


def both(one: Expression, other: Expression) -> Expression:
    """The tags of either, each once."""
    union = Call(function="array_union", arguments=(one, other), type=TYPE)
    return Call(function="coalesce", arguments=(union, one, other), type=TYPE)


def gathered(lists: Sequence[Expression]) -> Expression:
    """The tags in columns of lists of tags, each once; NULL for none."""
    joined = lists[0] if len(lists) == 1 else Call(function="concat", arguments=tuple(lists), type=_LISTS)
    flat = Call(function="array_distinct", arguments=(Call(function="flatten", arguments=(joined,), type=TYPE),), type=TYPE)
    size = Call(function="size", arguments=(joined,), type="int")
    some = Call(function=">", arguments=(size, Literal(value="0", type="int")), type="boolean")
    return Call(function="when", arguments=(some, flat), type=TYPE)


def collected(tags: Attribute) -> AggregateCall:
    """The lists of tags of a group's rows; rows without tags are left out."""
    return AggregateCall(function="collect_list", arguments=(tags,), type=_LISTS)


def collected_over(tags: Attribute, frame: WindowFrame) -> WindowFunction:
    """The lists of tags of a frame's rows."""
    return WindowFunction(function="collect_list", arguments=(tags,), type=_LISTS, frame=frame)


def all_of(parts: Sequence[Expression]) -> Expression:
    """The tags of all, each once."""
    return reduce(both, parts)


def is_tagged(tags: Attribute) -> Expression:
    """Whether a row descends from any row that is asked about."""
    return Call(function="isnotnull", arguments=(tags,), type="boolean")


def partners(right: o.Plan, tags: Attribute, condition: Expression | None, fresh: FreshAttributes) -> tuple[o.Plan, Expression]:
    """The tags of the right rows that make a condition true: a plan of one row to be joined to the left side, and the tags in its terms.

    ``filter(rows, row -> condition)`` and not a join, which would give a left row once for every partner.
    """
    taken = {a.id for a in right.output}
    read = tuple(a for a in (() if condition is None else references(condition)) if a.id in taken)
    fields = [(f"c{i}", a) for i, a in enumerate((tags, *read))]
    kind = struct_ddl([(name, a.type) for name, a in fields])
    parts = tuple(part for name, a in fields for part in (Literal(value=name, type="string"), a))
    row = Call(function="named_struct", arguments=parts, type=kind)
    rows = fresh.attribute("lineage_tagged_rows", f"array<{kind}>")
    call = AggregateCall(function="collect_list", arguments=(row,), type=rows.type)
    tagged = o.Filter(child=right, condition=is_tagged(tags))
    plan = o.Aggregate(child=tagged, keys=(), columns=(Alias(child=call, attribute=rows),))
    one = LambdaVariable(name=_PARTNER, type=kind)
    found: Expression = rows
    if condition is not None:
        spelled: dict[int, Expression] = {a.id: GetField(child=one, field=name, type=a.type) for name, a in fields[1:]}
        body = replace_attributes(condition, spelled)
        test = Lambda(parameters=(one,), body=body, type="boolean")
        found = Call(function="filter", arguments=(rows, test), type=rows.type)
    own = Lambda(parameters=(one,), body=GetField(child=one, field="c0", type=TYPE), type=TYPE)
    return plan, gathered((Call(function="transform", arguments=(found, own), type=_LISTS),))
