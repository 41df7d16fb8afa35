"""One SELECT under construction: what it reads, and what each attribute is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from airflow_lineage_provider.plan.expression_walk import expressions_in
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.rewrite.determinism import is_deterministic
from airflow_lineage_provider.sql.names import Dialect, identifier
from airflow_lineage_provider.sql.nodes import connected, is_opaque


@dataclass(frozen=True, kw_only=True)
class Item:
    """One entry of FROM: a table or subquery with its alias, and how it joins what stands before it."""

    relation: exp.Expr
    side: str = ""
    kind: str = ""
    on: exp.Expr | None = None


@dataclass(frozen=True, kw_only=True)
class Block:
    """A SELECT, clause by clause, or (``whole``) a finished query that can only be nested.

    :ivar output: the attributes that it gives, in order.
    :ivar scope: what each output attribute is here: a column, a constant or a computed expression.
    :ivar laterals: generators over the rows of the joined tables.
    :ivar group: None without an aggregation; empty for a global one.
    :ivar order_by_name: the sort keys are names of output columns, which must then stay.
    :ivar pinned: something is computed that must be computed just here and just once (a UDF, a random number).
    """

    output: tuple[Attribute, ...]
    scope: Mapping[int, exp.Expr] = field(default_factory=dict)
    items: tuple[Item, ...] = ()
    laterals: tuple[exp.Lateral, ...] = ()
    where: tuple[exp.Expr, ...] = ()
    group: tuple[exp.Expr, ...] | None = None
    distinct: bool = False
    order: tuple[exp.Expr, ...] = ()
    order_by_name: bool = False
    partition_order: bool = False
    limit: int | None = None
    offset: int = 0
    pinned: bool = False
    whole: exp.Query | None = None

    @property
    def constants(self) -> frozenset[int]:
        """Output attributes that are constants here."""
        return frozenset(number for number, node in self.scope.items() if _is_constant(node))

    @property
    def computed(self) -> frozenset[int]:
        """Output attributes that are neither columns nor constants here."""
        return frozenset(n for n, node in self.scope.items() if not isinstance(node, exp.Column) and not _is_constant(node))

    @property
    def is_limited(self) -> bool:
        return self.limit is not None or self.offset > 0

    @property
    def is_rows(self) -> bool:
        """Whether it is a selection from joined tables and no more: what stands above may go into the same SELECT."""
        made = self.whole is not None or self.group is not None or self.distinct or self.is_limited or self.order
        return not made and not self.pinned

    @property
    def is_bare(self) -> bool:
        """Whether it gives columns of joined tables as they are."""
        return self.is_rows and not self.laterals and not self.where and not self.computed and not self.constants


def _is_constant(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal | exp.Null)


def uses(expressions: Iterable[Any]) -> Counter[int]:
    """How often each attribute is read."""
    return Counter(part.id for expression in expressions for part in expressions_in(expression) if isinstance(part, Attribute))


def reads_computed(block: Block, expressions: Iterable[Any]) -> bool:
    """Whether an expression reads what the block computes."""
    return not block.computed.isdisjoint(uses(expressions))


# They fail, or run foreign code: where they stand decides whether they do.
_EFFECTS = frozenset({"raise_error", "assert_true", "reflect", "java_method", "try_reflect"})


def is_steady(expression: Any) -> bool:
    """Whether it does not matter where and how often the expression is evaluated."""
    return is_deterministic(expression) and not any(getattr(part, "function", "") in _EFFECTS for part in expressions_in(expression))


def select(block: Block, dialect: Dialect, names: tuple[str, ...] | None = None) -> exp.Query:
    """The block as a query; columns are named after the attributes, or by ``names``.

    A block without columns gives a column that nobody reads: SQL has no rows without columns.
    """
    if block.whole is not None:
        return block.whole
    names = names or tuple(attribute.name for attribute in block.output)
    columns = [_named(block.scope[a.id].copy(), name, dialect) for a, name in zip(block.output, names, strict=True)]
    query = exp.Select(expressions=columns or [exp.Alias(this=exp.Literal.number(1), alias=exp.to_identifier("one"))])
    if block.distinct:
        query.set("distinct", exp.Distinct())
    first, *joined = block.items
    query.set("from_", exp.From(this=first.relation.copy()))
    query.set("joins", [_join(item) for item in joined])
    query.set("laterals", [lateral.copy() for lateral in block.laterals])
    _set_conditions(query, block)
    return query


def _set_conditions(query: exp.Select, block: Block) -> None:
    if block.where:
        query.set("where", exp.Where(this=connected(exp.And, [term.copy() for term in block.where])))
    if block.group:
        query.set("group", exp.Group(expressions=[key.copy() for key in block.group]))
    if block.order:
        clause = exp.Sort if block.partition_order else exp.Order
        query.set("sort" if block.partition_order else "order", clause(expressions=[key.copy() for key in block.order]))
    if block.limit is not None:
        query.set("limit", exp.Limit(expression=exp.Literal.number(block.limit)))
    if block.offset:
        query.set("offset", exp.Offset(expression=exp.Literal.number(block.offset)))


def _named(node: exp.Expr, name: str, dialect: Dialect) -> exp.Expr:
    if isinstance(node, exp.Column) and node.name == name:
        return node
    return exp.Alias(this=node, alias=identifier(name, dialect))


def _join(item: Item) -> exp.Join:
    on = None if item.on is None else item.on.copy()
    return exp.Join(this=item.relation.copy(), side=item.side or None, kind=item.kind or None, on=on)


def opaque_outputs(block: Block) -> frozenset[int]:
    """Output attributes that may only be passed on."""
    return frozenset(number for number, node in block.scope.items() if is_opaque(node))


__all__ = ["Block", "Item", "is_steady", "opaque_outputs", "reads_computed", "select", "uses"]
