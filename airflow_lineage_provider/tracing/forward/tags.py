"""Tags: the numbers of the source rows that a row descends from, in a column of its own (``array<bigint>``, NULL for none)."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

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
    conjunction,
)
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.tracing.forward.algebra import Carried
from airflow_lineage_provider.tracing.reserved import asked_table

_TYPE = "array<bigint>"
_LISTS = f"array<{_TYPE}>"
_PARTNER = "lineage_partner"


@dataclass(frozen=True)
class Tags:
    """The algebra of tags (`forward.algebra.Algebra`); rows of the ``asked`` leaves have them, as the tables `asked_table` say."""

    asked: AbstractSet[int]
    type: str = _TYPE

    def of_source(self, source: o.Source, keys: Sequence[Attribute], fresh: FreshAttributes) -> tuple[o.Plan, Attribute] | None:
        """A row has the tags that its key has in the table of the rows that are asked about."""
        if source.leaf not in self.asked:
            return None
        tags = self.column(fresh)
        copies = tuple(fresh.like(key) for key in keys)
        asked = o.SegmentOutput(segment=asked_table(source.leaf), output=(tags, *copies))
        terms = tuple(Call(function="<=>", arguments=pair, type="boolean") for pair in zip(keys, copies, strict=True))
        return o.Join(left=source, right=asked, kind="left", condition=conjunction(terms)), tags

    def column(self, fresh: FreshAttributes) -> Attribute:
        return fresh.attribute("lineage_tags", _TYPE)

    def both(self, one: Expression, other: Expression) -> Expression:
        """The tags of either, each once."""
        union = Call(function="array_union", arguments=(one, other), type=_TYPE)
        return Call(function="coalesce", arguments=(union, one, other), type=_TYPE)

    def collected(self, carried: Attribute, frame: WindowFrame | None, fresh: FreshAttributes) -> Alias:
        """The lists of tags of a group's rows, or of a frame's; rows without tags are left out."""
        call: AggregateCall | WindowFunction = (
            AggregateCall(function="collect_list", arguments=(carried,), type=_LISTS)
            if frame is None
            else WindowFunction(function="collect_list", arguments=(carried,), type=_LISTS, frame=frame)
        )
        return Alias(child=call, attribute=fresh.attribute("lineage_lists_of_tags", _LISTS))

    def united(self, collected: Sequence[Attribute]) -> Expression:
        return _gathered(collected)

    def of_partners(self, right: o.Plan, carried: Attribute, condition: Expression | None, fresh: FreshAttributes) -> Carried:
        """``filter(rows, row -> condition)`` and not a join, which would give a left row once for every partner."""
        taken = {a.id for a in right.output}
        read = tuple(a for a in (() if condition is None else references(condition)) if a.id in taken)
        fields = [(f"c{i}", a) for i, a in enumerate((carried, *read))]
        kind = struct_ddl([(name, a.type) for name, a in fields])
        parts = tuple(part for name, a in fields for part in (Literal(value=name, type="string"), a))
        row = Call(function="named_struct", arguments=parts, type=kind)
        rows = fresh.attribute("lineage_tagged_rows", f"array<{kind}>")
        call = AggregateCall(function="collect_list", arguments=(row,), type=rows.type)
        tagged = o.Filter(child=right, condition=Call(function="isnotnull", arguments=(carried,), type="boolean"))
        plan = o.Aggregate(child=tagged, keys=(), columns=(Alias(child=call, attribute=rows),))
        one = LambdaVariable(name=_PARTNER, type=kind)
        found: Expression = rows
        if condition is not None:
            spelled: dict[int, Expression] = {a.id: GetField(child=one, field=name, type=a.type) for name, a in fields[1:]}
            body = replace_attributes(condition, spelled)
            test = Lambda(parameters=(one,), body=body, type="boolean")
            found = Call(function="filter", arguments=(rows, test), type=rows.type)
        own = Lambda(parameters=(one,), body=GetField(child=one, field="c0", type=_TYPE), type=_TYPE)
        return Carried(plan=plan, value=_gathered((Call(function="transform", arguments=(found, own), type=_LISTS),)))


def _gathered(lists: Sequence[Expression]) -> Expression:
    """The tags in lists of lists of tags, each once; NULL for none."""
    joined = lists[0] if len(lists) == 1 else Call(function="concat", arguments=tuple(lists), type=_LISTS)
    flat = Call(function="array_distinct", arguments=(Call(function="flatten", arguments=(joined,), type=_TYPE),), type=_TYPE)
    size = Call(function="size", arguments=(joined,), type="int")
    some = Call(function=">", arguments=(size, Literal(value="0", type="int")), type="boolean")
    return Call(function="when", arguments=(some, flat), type=_TYPE)
