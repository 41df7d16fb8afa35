"""Window functions in Spark's SQL: ``function(…) OVER (PARTITION BY … ORDER BY … ROWS BETWEEN … AND …)``."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal as OneOf

from sqlglot import exp

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.block import Block, reads_computed
from airflow_lineage_provider.sql.context import Context
from airflow_lineage_provider.sql.literals import composed, spark_literal
from airflow_lineage_provider.sql.nodes import Scope
from airflow_lineage_provider.sql.spark_expressions import over_rows

# Their frames are their own, which SQL does not say.
_WITHOUT_FRAME = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "counter_diff"})


def windowed(plan: o.Window, block: Block, context: Context) -> Block:
    """Window functions in the SELECT list of what the child was lowered to, or over it.

    :raises PortabilityProblem: in PostgreSQL, whose frames and rules about NULLs are not proved to be Spark's.
    """
    context.dialect.check_window()
    keys = (*plan.partition, *(key.child for key in plan.order))
    if not block.is_rows or reads_computed(block, (*(f.child for f in plan.functions), *keys)):
        block = context.nested(block)
    made = {f.attribute.id: _over(f.child, plan, block.scope, context) for f in plan.functions}
    # What stands above sees the finished columns: WHERE and GROUP BY come before window functions.
    return replace(block, output=plan.output, scope={**block.scope, **made}, pinned=True)


def _over(function: e.Expression, plan: o.Window, scope: Scope, context: Context) -> exp.Expr:
    assert isinstance(function, e.WindowFunction)
    call = over_rows(function, scope)
    nulls = " IGNORE NULLS" if function.ignore_nulls else ""
    return composed(f"{_text(call)}{nulls} OVER ({' '.join(_specification(function, plan, scope, context))})")


def _specification(function: e.WindowFunction, plan: o.Window, scope: Scope, context: Context) -> list[str]:
    parts: list[str] = []
    if plan.partition:
        parts.append(f"PARTITION BY {', '.join(_text(context.write(key, scope)) for key in plan.partition)}")
    if plan.order:
        keys = [nodes.ordered(context.write(key.child, scope), key.ascending, key.nulls_first, "spark") for key in plan.order]
        parts.append(f"ORDER BY {', '.join(map(_text, keys))}")
    if function.function.lower() not in _WITHOUT_FRAME:
        frame = function.frame
        parts.append(f"{frame.kind.upper()} BETWEEN {_bound(frame.lower, 'PRECEDING')} AND {_bound(frame.upper, 'FOLLOWING')}")
    return parts


def _bound(bound: OneOf["unbounded", "current_row"] | e.Expression, side: str) -> str:
    if isinstance(bound, str):
        return f"UNBOUNDED {side}" if bound == "unbounded" else "CURRENT ROW"
    assert isinstance(bound, e.Literal)
    assert bound.value is not None
    size, before = _size(bound.value)
    text = _text(spark_literal(replace(bound, value=size)))
    return f"{text} {'PRECEDING' if before else 'FOLLOWING'}"


def _size(value: str) -> tuple[str, bool]:
    """An offset without its sign, and whether it had one."""
    if value.startswith("INTERVAL '-"):
        return "INTERVAL '" + value.removeprefix("INTERVAL '-"), True
    return (value[1:], True) if value.startswith("-") else (value, False)


def _text(node: exp.Expr) -> str:
    return nodes.to_text(node, "spark", pretty=False)
