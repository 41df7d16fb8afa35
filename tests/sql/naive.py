"""A plan as SQL the slow and obvious way, one subquery an operator: what the merged query must agree with."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sql import ColumnRef, LeafKey, TableRef, lower_expression, quote

_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN", "cross": "JOIN"}


def naive(plan: o.Plan, tables: Mapping[LeafKey, TableRef]) -> str:
    """The query for PostgreSQL; column names are the attributes', unique in the plan."""
    match plan:
        case o.Source():
            table = tables["source", plan.leaf]
            columns = ", ".join(f"{quote(table.columns[a.id].text, 'postgres')} AS {_name(a)}" for a in plan.output)
            return f"SELECT {columns} FROM {table.name[0]}"
        case o.Project():
            columns = ", ".join(f"{_sql(e.expression_of(c))} AS {_name(e.attribute_of(c))}" for c in plan.columns)
            return f"SELECT {columns} FROM ({naive(plan.child, tables)}) AS t"
        case o.Filter():
            return f"SELECT * FROM ({naive(plan.child, tables)}) AS t WHERE {_sql(plan.condition)}"
        case o.Join():
            return _join(plan, tables)
        case o.Aggregate():
            columns = ", ".join(f"{_sql(e.expression_of(c))} AS {_name(e.attribute_of(c))}" for c in plan.columns)
            keys = f" GROUP BY {', '.join(_sql(key) for key in plan.keys)}" if plan.keys else ""
            return f"SELECT {columns} FROM ({naive(plan.child, tables)}) AS t{keys}"
        case o.Distinct():
            return f"SELECT DISTINCT * FROM ({naive(plan.child, tables)}) AS t"
        case o.Union():
            names = ", ".join(_name(a) for a in plan.output)
            return " UNION ALL ".join(f"SELECT * FROM ({naive(child, tables)}) AS t ({names})" for child in plan.children)
        case o.Sort():
            keys = ", ".join(
                f"{_sql(k.child)} {'ASC' if k.ascending else 'DESC'} NULLS {'FIRST' if k.nulls_first else 'LAST'}" for k in plan.order
            )
            return f"SELECT * FROM ({naive(plan.child, tables)}) AS t ORDER BY {keys}"
        case o.Limit():
            count = "" if plan.count is None else f" LIMIT {plan.count}"
            return f"{naive(plan.child, tables)}{count} OFFSET {plan.offset}"
    raise TypeError(type(plan).__name__)


def _join(plan: o.Join, tables: Mapping[LeafKey, TableRef]) -> str:
    left, right = naive(plan.left, tables), naive(plan.right, tables)
    on = "TRUE" if plan.condition is None else _sql(plan.condition)
    if plan.kind in ("left_semi", "left_anti"):
        negation = "" if plan.kind == "left_semi" else "NOT "
        return f"SELECT * FROM ({left}) AS l WHERE {negation}EXISTS (SELECT 1 FROM ({right}) AS r WHERE {on})"
    if plan.exists is not None:
        return f"SELECT *, EXISTS (SELECT 1 FROM ({right}) AS r WHERE {on}) AS {_name(plan.exists)} FROM ({left}) AS l"
    return f"SELECT * FROM ({left}) AS l {_JOINS[plan.kind]} ({right}) AS r ON {on}"


def _name(attribute: e.Attribute) -> str:
    return quote(attribute.name, "postgres")


def _sql(expression: e.Expression) -> str:
    from airflow_lineage_provider.plan.expression_walk import references

    return lower_expression(expression, {a.id: ColumnRef(a.name) for a in references(expression)}, dialect="postgres")
