"""Short names for building plans by hand."""

from __future__ import annotations

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sql import ColumnRef, TableRef


def attribute(number: int, name: str, kind: str = "int") -> e.Attribute:
    return e.Attribute(id=number, name=name, type=kind)


def call(function: str, *arguments: e.Expression, kind: str = "boolean") -> e.Call:
    return e.Call(function=function, arguments=arguments, type=kind)


def literal(value: object, kind: str = "int") -> e.Literal:
    return e.Literal(value=None if value is None else str(value), type=kind)


def text(value: str) -> e.Literal:
    return e.Literal(value=value, type="string")


def named(child: e.Expression, number: int, name: str) -> e.Alias:
    return e.Alias(child=child, attribute=attribute(number, name, child.type))


def aggregate(
    function: str, *arguments: e.Expression, kind: str = "bigint", distinct: bool = False, where: e.Expression | None = None
) -> e.AggregateCall:
    return e.AggregateCall(function=function, arguments=arguments, type=kind, distinct=distinct, filter=where)


def source(leaf: int, name: str, *columns: e.Attribute) -> o.Source:
    relation = Relation(name=name, kind="table")
    return o.Source(relation=relation, output=columns, columns=tuple(column.name for column in columns), leaf=leaf)


def table(leaf: o.Source, *name: str) -> TableRef:
    """The leaf's columns under their own names."""
    columns = {a.id: ColumnRef(column) for a, column in zip(leaf.output, leaf.columns, strict=True)}
    return TableRef(name=name or (leaf.relation.name,), columns=columns)
