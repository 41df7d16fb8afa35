"""Terms of WHERE and HAVING with a subquery: whether a row passes, and what the subquery adds to its lineage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from sqlglot import exp

from tests.tpch import values as v
from tests.tpch.annotated import Row, merged
from tests.tpch.expressions import Function, Udfs, compiled
from tests.tpch.scope import Frame, Scope

Verdict = tuple[bool | None, Row]
"""Whether the row passes, and the annotation that it gets."""


class Subquery(Protocol):
    """A query below another."""

    tables: frozenset[str]

    def rows(self, outer: Frame | None) -> list[Row]: ...


Query = Callable[[exp.Expression, Scope], Subquery]


def judged(node: exp.Expression, scope: Scope, udfs: Udfs, query: Query) -> Callable[[Frame], Verdict]:
    """One term as a function.

    :raises NotImplementedError: a subquery stands where no query here has one.
    """
    match node:
        case exp.Exists():
            return _exists(query(node.this, scope))
        case exp.Not(this=exp.Exists() as inner):
            return _not_exists(query(inner.this, scope))
        case exp.In() if node.args.get("query"):
            return _in(compiled(node.this, scope, udfs), query(node.args["query"].this, scope))
        case exp.Not(this=exp.In() as inner) if inner.args.get("query"):
            return _not_in(compiled(inner.this, scope, udfs), query(inner.args["query"].this, scope))
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            return _comparison(node, scope, udfs, query)
    raise NotImplementedError(f"a subquery in {node.sql()}")


def _exists(subquery: Subquery) -> Callable[[Frame], Verdict]:
    """A semi-join: every partner is in the lineage."""

    def verdict(frame: Frame) -> Verdict:
        found = subquery.rows(frame)
        return bool(found), merged((), found)

    return verdict


def _not_exists(subquery: Subquery) -> Callable[[Frame], Verdict]:
    """A difference: the whole right side is control."""
    return lambda frame: (not subquery.rows(frame), Row((), control=subquery.tables))


def _in(value: Function, subquery: Subquery) -> Callable[[Frame], Verdict]:
    def verdict(frame: Frame) -> Verdict:
        wanted, truth, partners = value(frame), False, []
        for row in subquery.rows(frame):
            if v.compare("EQ", wanted, row.values[0]) is True:
                truth = True
                partners.append(row)
        return truth, merged((), partners)

    return verdict


def _not_in(value: Function, subquery: Subquery) -> Callable[[Frame], Verdict]:
    """A difference that NULLs on either side make empty."""

    def verdict(frame: Frame) -> Verdict:
        truth: bool | None = True
        for row in subquery.rows(frame):
            truth = v.both(truth, v.compare("NEQ", value(frame), row.values[0]))
        return truth, Row((), control=subquery.tables)

    return verdict


def _comparison(node: exp.Expression, scope: Scope, udfs: Udfs, query: Query) -> Callable[[Frame], Verdict]:
    """A comparison with scalar subqueries: the lineage of their one row is added."""
    made: dict[int, Subquery] = {}

    def scalar(inner: exp.Subquery) -> Function:
        subquery = made.setdefault(id(inner), query(inner.this, scope))
        return lambda frame: _only(subquery.rows(frame))

    test = compiled(node, scope, udfs, scalar)
    return lambda frame: (test(frame), merged((), (row for subquery in made.values() for row in subquery.rows(frame))))


def _only(rows: list[Row]) -> Any:
    if len(rows) > 1:
        raise ValueError("a scalar subquery gives several rows")
    return rows[0].values[0] if rows else None
