"""Joins of a correlated scalar subquery that is no aggregation: at most one partner, or Spark's error.

Before: ``T ⟕₁ U ON T.k = U.k`` (Catalyst's ``LeftSingle``). After: ``T ⟕ (α k; count(*), max(row) over U) ON T.k = U.k``, where a count
over one is an error once the value is asked for.

By more than equality (``U.since <= T.day AND T.day < U.till``, a look-up in a table with validity) U cannot be grouped: it is joined with
the values of T's columns first, as Spark does below an aggregation (a domain: `plan.operators.Aggregate`), and grouped by those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.datatypes import is_orderable, struct_ddl
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import expressions_in, references, transform_expression
from airflow_lineage_provider.plan.single_value import single_value

_COUNT = e.AggregateCall(function="count", arguments=(e.Literal(value="1", type="int"),), type="bigint")


@dataclass(frozen=True)
class _Found:
    """The right side's rows with what they are grouped by, and how a left row finds its group."""

    rows: o.Plan
    keys: tuple[e.Attribute, ...]
    terms: tuple[e.Expression, ...]


def single_join(left: o.Plan, right: o.Plan, condition: e.Expression | None, context: Context) -> o.Plan:
    """A left join with the right side grouped by how it is found; the value is an error where its group has several rows.

    :raises UnsupportedOperator: a UDF is called on columns of the left side, in a condition that is no equality.
    """
    outer = {a.id for a in left.output}
    terms = e.conjuncts(condition) if condition is not None else ()
    own = tuple(term for term in terms if {a.id for a in references(term)} <= outer)
    between = tuple(term for term in terms if term not in own)
    found = _by_equality(left, right, between, context) or _by_domain(left, right, between, context)
    others = tuple(a for a in right.output if a not in found.keys)
    kind = struct_ddl([(f"c{i}", a.type) for i, a in enumerate(others)])
    parts = tuple(part for i, a in enumerate(others) for part in (e.Literal(value=f"c{i}", type="string"), a))
    # One row is its own maximum, and that is the same in every run.
    choose = "max" if all(is_orderable(a.type) for a in others) else "any_value"
    row = e.Call(function="named_struct", arguments=parts, type=kind)
    value = context.alias("only", e.AggregateCall(function=choose, arguments=(row,), type=kind))
    copies = context.alias("copies", _COUNT)
    grouped = o.Aggregate(child=found.rows, keys=found.keys, columns=(*found.keys, copies, *((value,) if others else ())))
    joined = o.Join(left=left, right=grouped, kind="left", condition=e.conjunction((*own, *found.terms)))
    fields = {a.id: e.GetField(child=value.attribute, field=f"c{i}", type=a.type) for i, a in enumerate(others)}
    columns = (e.Alias(child=single_value(copies.attribute, fields.get(a.id, a)), attribute=a) for a in right.output)
    return o.Project(child=joined, columns=(*left.output, *columns))


def _by_equality(left: o.Plan, right: o.Plan, terms: Sequence[e.Expression], context: Context) -> _Found | None:
    """Grouped by what is equated, if all terms are equalities."""
    inner, outer = ({a.id for a in side.output} for side in (right, left))
    keys: dict[e.Expression, e.Named] = {}
    found: list[e.Expression] = []
    for term in terms:
        sides = _sides(term, inner, outer)
        if sides is None:
            return None
        function, own, other = sides
        key = keys.setdefault(own, own if isinstance(own, e.Attribute) else context.alias("key", own))
        found.append(e.Call(function=function, arguments=(other, e.attribute_of(key)), type="boolean"))
    made = tuple(key for key in keys.values() if isinstance(key, e.Alias))
    rows = o.Project(child=right, columns=(*right.output, *made)) if made else right
    return _Found(rows, tuple(e.attribute_of(key) for key in keys.values()), tuple(found))


def _by_domain(left: o.Plan, right: o.Plan, terms: Sequence[e.Expression], context: Context) -> _Found:
    """Grouped by the left side's values for which it is looked up."""
    outer = {a.id for a in left.output}
    _refuse_calls(terms, outer, context)
    read = tuple(dict.fromkeys(a for term in terms for a in references(term) if a.id in outer))
    columns = {a.id: context.alias(a.name, a) for a in read}
    domain = o.Aggregate(child=left, keys=read, columns=tuple(columns.values()), domain=True)
    inside = e.conjunction(tuple(transform_expression(term, lambda part: _of_domain(part, columns)) for term in terms))
    rows = o.Join(left=domain, right=right, kind="inner", condition=inside)
    found = tuple(e.Call(function="<=>", arguments=(a, columns[a.id].attribute), type="boolean") for a in read)
    return _Found(rows, tuple(one.attribute for one in columns.values()), found)


def _of_domain(part: e.Expression, columns: dict[int, e.Alias]) -> e.Expression:
    return columns[part.id].attribute if isinstance(part, e.Attribute) and part.id in columns else part


def _refuse_calls(terms: Sequence[e.Expression], outer: set[int], context: Context) -> None:
    for call in (part for term in terms for part in expressions_in(term) if isinstance(part, e.UdfCall)):
        if any(a.id in outer for a in references(call)):
            context.refuse(
                f"the UDF {call.udf} called in a correlated subquery on columns of the outer query",
                "Call it in a query inside FROM, and correlate with its value",
            )


def _sides(term: e.Expression, inner: set[int], outer: set[int]) -> tuple[str, e.Expression, e.Expression] | None:
    """The operator, the right and the left side of an equality."""
    if not isinstance(term, e.Call) or term.function not in ("=", "==", "<=>") or len(term.arguments) != 2:
        return None
    for one, other in (term.arguments, term.arguments[::-1]):
        own, foreign = ({a.id for a in references(part)} for part in (one, other))
        if own and own <= inner and foreign <= outer:
            return term.function, one, other
    return None
