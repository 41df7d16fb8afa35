"""Conditions taken apart: the terms of a conjunction, and what each of them needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from tests.tpch.scope import Place, Scope


@dataclass(frozen=True)
class Term:
    """One term of a conjunction: which sources it is about, whether it looks further out, has a subquery, or calls a UDF."""

    node: exp.Expression
    sources: frozenset[int]
    correlated: bool
    has_subquery: bool
    calls: tuple[exp.Anonymous, ...]

    @property
    def sides(self) -> tuple[exp.Expression, exp.Expression] | None:
        """Both sides of an equality."""
        return (self.node.this, self.node.expression) if isinstance(self.node, exp.EQ) and not self.has_subquery else None


def terms(condition: exp.Expression | None, scope: Scope) -> list[Term]:
    """The terms of a condition, in order."""
    return [] if condition is None else [term(node, scope) for node in conjuncts(condition)]


def term(node: exp.Expression, scope: Scope) -> Term:
    """What one term needs. Columns of its subqueries count as the subquery's own affair."""
    found = places(node, scope)
    return Term(
        node=node,
        sources=frozenset(place.source for place in found if place.depth == 0),
        correlated=any(place.depth > 0 for place in found),
        has_subquery=node.find(exp.Select) is not None,
        calls=tuple(node.find_all(exp.Anonymous)),
    )


def places(node: exp.Expression, scope: Scope) -> list[Place]:
    """Where the columns of an expression are, those of its subqueries left out."""
    return [scope.place(column) for column in _columns(node)]


def _columns(node: exp.Expression) -> Iterator[exp.Column]:
    if isinstance(node, exp.Column):
        yield node
    elif not isinstance(node, exp.Select):
        for child in node.iter_expressions():
            yield from _columns(child)


def conjuncts(node: exp.Expression) -> Iterator[exp.Expression]:
    """The terms themselves."""
    match node:
        case exp.Paren():
            yield from conjuncts(node.this)
        case exp.And():
            yield from conjuncts(node.this)
            yield from conjuncts(node.expression)
        case exp.Or():
            # What every branch asks for is asked for at all: a join can use it.
            branches = [{one.sql(): one for one in conjuncts(branch)} for branch in _branches(node)]
            yield from (one for text, one in branches[0].items() if all(text in other for other in branches[1:]))
            yield node
        case _:
            yield node


def _branches(node: exp.Expression) -> Iterator[exp.Expression]:
    if isinstance(node, exp.Paren) and isinstance(node.this, exp.Or | exp.Paren):
        yield from _branches(node.this)
    elif isinstance(node, exp.Or):
        yield from _branches(node.this)
        yield from _branches(node.expression)
    else:
        yield node
