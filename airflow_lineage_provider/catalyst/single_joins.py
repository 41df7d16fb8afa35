"""Joins of a correlated scalar subquery that is no aggregation: at most one partner, or Spark's error."""

from __future__ import annotations

from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.datatypes import is_orderable, struct_ddl
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.walk import references

_ADVICE = "Correlate by equality (inner column = outer column), or aggregate in the subquery (max, min, any_value)"
_MESSAGE = "[SCALAR_SUBQUERY_TOO_MANY_ROWS] More than one row returned by a subquery used as an expression."
_COUNT = e.AggregateCall(function="count", arguments=(e.Literal(value="1", type="int"),), type="bigint")


def single_join(left: o.Plan, right: o.Plan, condition: e.Expression | None, context: Context) -> o.Plan:
    """A left join with the right side grouped by what is equated; the value is an error where its group has several rows.

    :raises UnsupportedOperator: the right side is not found by equality: its rows could not be grouped.
    """
    found, condition = _equated(left, right, condition, context)
    keys = tuple(e.attribute_of(key) for key in found)
    made = tuple(key for key in found if isinstance(key, e.Alias))
    below = o.Project(child=right, columns=(*right.output, *made)) if made else right
    others = tuple(a for a in right.output if a not in keys)
    kind = struct_ddl([(f"c{i}", a.type) for i, a in enumerate(others)])
    parts = tuple(part for i, a in enumerate(others) for part in (e.Literal(value=f"c{i}", type="string"), a))
    # One row is its own maximum, and that is the same in every run.
    choose = "max" if all(is_orderable(a.type) for a in others) else "any_value"
    row = e.Call(function="named_struct", arguments=parts, type=kind)
    value = context.alias("only", e.AggregateCall(function=choose, arguments=(row,), type=kind))
    copies = context.alias("copies", _COUNT)
    grouped = o.Aggregate(child=below, keys=keys, columns=(*keys, copies, *((value,) if others else ())))
    joined = o.Join(left=left, right=grouped, kind="left", condition=condition)
    fields = {a.id: e.GetField(child=value.attribute, field=f"c{i}", type=a.type) for i, a in enumerate(others)}
    columns = (e.Alias(child=_only(copies.attribute, fields.get(a.id, a)), attribute=a) for a in right.output)
    return o.Project(child=joined, columns=(*left.output, *columns))


def _only(copies: e.Attribute, value: e.Expression) -> e.Expression:
    """The value, or an error where there are several: as in Spark, only where the value is asked for."""
    many = e.Call(function=">", arguments=(copies, e.Literal(value="1", type="bigint")), type="boolean")
    failed = e.Call(function="raise_error", arguments=(e.Literal(value=_MESSAGE, type="string"),), type="void")
    return e.Call(function="if", arguments=(many, e.Cast(child=failed, type=value.type), value), type=value.type)


def _equated(
    left: o.Plan, right: o.Plan, condition: e.Expression | None, context: Context
) -> tuple[tuple[e.Named, ...], e.Expression | None]:
    """What the right side is found by, and the condition in terms of it; terms on the left side alone may stand beside."""
    inner, outer = ({a.id for a in side.output} for side in (right, left))
    keys: dict[e.Expression, e.Named] = {}
    terms: list[e.Expression] = []
    for term in e.conjuncts(condition) if condition is not None else ():
        if {a.id for a in references(term)} <= outer:
            terms.append(term)
            continue
        found = _sides(term, inner, outer)
        if found is None:
            context.refuse("a correlated scalar subquery without aggregation whose condition is no equality", _ADVICE)
        function, own, other = found
        key = keys.setdefault(own, own if isinstance(own, e.Attribute) else context.alias("key", own))
        terms.append(e.Call(function=function, arguments=(other, e.attribute_of(key)), type="boolean"))
    return tuple(keys.values()), e.conjunction(tuple(terms))


def _sides(term: e.Expression, inner: set[int], outer: set[int]) -> tuple[str, e.Expression, e.Expression] | None:
    """The operator, the right and the left side of an equality."""
    if not isinstance(term, e.Call) or term.function not in ("=", "==", "<=>") or len(term.arguments) != 2:
        return None
    for one, other in (term.arguments, term.arguments[::-1]):
        own, foreign = ({a.id for a in references(part)} for part in (one, other))
        if own and own <= inner and foreign <= outer:
            return term.function, one, other
    return None
