"""Plans as text for people: one line an operator, children indented, in the paper's symbols."""

from __future__ import annotations

from functools import singledispatch

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import unknown
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import children

_INFIX = frozenset({"+", "-", "*", "/", "%", "=", "<=>", "<", "<=", ">", ">=", "and", "or", "like", "||", "&", "|", "^", "div", "rlike"})
_JOINS = {"inner": "⋈", "cross": "×", "left": "⟕", "right": "⟖", "full": "⟗", "left_semi": "⋉", "left_anti": "▷", "existence": "∃"}


def plan_text(plan: o.Plan, indent: int = 0) -> str:
    """The whole tree."""
    lines = [" " * indent + operator_text(plan)]
    lines.extend(plan_text(child, indent + 2) for child in children(plan))
    return "\n".join(lines)


def segments_text(plan: SegmentedPlan) -> str:
    """All segments of a plan, as people read them. Whether two plans are the same, `plan.digest` says."""
    return "\n".join(f"{s.number} {s.kind}{' pinned' if s.pinned else ''}\n{plan_text(s.plan, 2)}" for s in plan.segments)


def expression_text(expression: e.Part) -> str:
    """An expression, close to SQL."""
    return _expression(expression)


@singledispatch
def operator_text(plan: o.Plan) -> str:
    """One operator on one line."""
    raise unknown(plan, "the text of a plan")


@operator_text.register
def _(plan: o.Source) -> str:
    return f"{plan.relation.name} [{', '.join(a.name for a in plan.output)}]"


@operator_text.register
def _(plan: o.SegmentOutput) -> str:
    return f"segment {plan.segment} [{', '.join(a.name for a in plan.output)}]"


@operator_text.register
def _(plan: o.Project) -> str:
    return f"π {', '.join(_expression(column) for column in plan.columns)}"


@operator_text.register
def _(plan: o.Filter) -> str:
    return f"σ {_expression(plan.condition)}"


@operator_text.register
def _(plan: o.Join) -> str:
    symbol = "−" if plan.difference else _JOINS[plan.kind]
    return symbol + (f" {_expression(plan.condition)}" if plan.condition is not None else "")


@operator_text.register
def _(plan: o.Aggregate) -> str:
    keys = {_expression(key) for key in plan.keys}
    functions = [text for text in (_expression(column) for column in plan.columns) if text not in keys]
    return f"α {', '.join(_expression(key) for key in plan.keys) or '()'}" + (f"; {', '.join(functions)}" if functions else "")


@operator_text.register
def _(_plan: o.Distinct) -> str:
    return "δ"


@operator_text.register
def _(_plan: o.Union) -> str:
    return "∪"


@operator_text.register
def _(plan: o.Sort) -> str:
    return f"sort {', '.join(_expression(key) for key in plan.order)}"


@operator_text.register
def _(plan: o.Repartition) -> str:
    count = [] if plan.count is None else [str(plan.count)]
    return f"{plan.spread.replace('_', ' ')} {', '.join([*count, *(key.name for key in plan.keys)])}".strip()


@operator_text.register
def _(plan: o.Limit) -> str:
    count = "all" if plan.count is None else str(plan.count)
    return f"limit {count}" + (f" offset {plan.offset}" if plan.offset else "")


@operator_text.register
def _(plan: o.FunctionOperator) -> str:
    made = plan.value.name + (f", {plan.reason.name}" if plan.reason is not None else "")
    return f"φ {plan.udf}({', '.join(a.name for a in plan.arguments)}) → {made}"


@operator_text.register
def _(plan: o.Window) -> str:
    over = [f"partition by {', '.join(map(_expression, plan.partition))}"] if plan.partition else []
    over += [f"order by {', '.join(map(_expression, plan.order))}"] if plan.order else []
    return f"window {', '.join(map(_expression, plan.functions))}" + (f" over {' '.join(over)}" if over else "")


@operator_text.register
def _(plan: o.Generate) -> str:
    made = ", ".join(a.name for a in plan.generated)
    return f"γ {'outer ' if plan.outer else ''}{_expression(plan.generator)} → {made}"


@operator_text.register
def _(plan: o.PythonMap) -> str:
    by = f" by {', '.join(a.name for a in plan.keys)}" if plan.keys else ""
    return f"python {plan.kind} {plan.udf}{by} → {', '.join(a.name for a in plan.output)}"


@singledispatch
def _expression(expression: e.Part) -> str:
    raise unknown(expression, "the text of an expression")


@_expression.register
def _(expression: e.Attribute) -> str:
    return expression.name


@_expression.register
def _(expression: e.Literal) -> str:
    if expression.value is None:
        return "NULL"
    return f"'{expression.value}'" if expression.type in ("string", "date", "timestamp", "binary", "timestamp_ntz") else expression.value


@_expression.register
def _(expression: e.Call) -> str:
    texts = [_expression(argument) for argument in expression.arguments]
    if expression.function in _INFIX and len(texts) == 2:
        return f"({texts[0]} {expression.function.upper()} {texts[1]})"
    return f"{expression.function}({', '.join(texts)})"


@_expression.register
def _(expression: e.Cast) -> str:
    return f"{'try_cast' if expression.safe else 'cast'}({_expression(expression.child)} AS {expression.type})"


@_expression.register
def _(expression: e.GetField) -> str:
    return f"{_expression(expression.child)}.{expression.field}"


@_expression.register
def _(expression: e.GetItem) -> str:
    return f"{_expression(expression.child)}[{_expression(expression.key)}]"


@_expression.register
def _(expression: e.LambdaVariable) -> str:
    return expression.name


@_expression.register
def _(expression: e.Lambda) -> str:
    return f"({', '.join(p.name for p in expression.parameters)}) -> {_expression(expression.body)}"


@_expression.register
def _(expression: e.UdfCall) -> str:
    return f"{expression.udf}({', '.join(_expression(argument) for argument in expression.arguments)})"


@_expression.register
def _(expression: e.AggregateCall) -> str:
    return _over_rows(expression)


@_expression.register
def _(expression: e.WindowFunction) -> str:
    bounds = f"{_bound(expression.frame.lower, 'preceding')} to {_bound(expression.frame.upper, 'following')}"
    return f"{_over_rows(expression)} {expression.frame.kind} {bounds}"


def _over_rows(call: e.AggregateCall | e.WindowFunction) -> str:
    inner = ", ".join(_expression(argument) for argument in call.own_arguments)
    keys = ", ".join(_expression(key) for key in call.sort_keys)
    within = f" WITHIN GROUP (ORDER BY {keys})" if keys else ""
    where = f" FILTER (WHERE {_expression(call.filter)})" if call.filter is not None else ""
    return f"{call.function}({'DISTINCT ' if call.distinct else ''}{inner}){within}{where}"


def _bound(bound: str | e.Expression, side: str) -> str:
    if isinstance(bound, str):
        return f"unbounded {side}" if bound == "unbounded" else "current row"
    return _expression(bound)


@_expression.register
def _(expression: e.ScalarSubquery) -> str:
    return f"({'; '.join(plan_text(expression.plan).splitlines())})"


@_expression.register
def _(expression: e.SortKey) -> str:
    return f"{_expression(expression.child)} {'ASC' if expression.ascending else 'DESC'}"


@_expression.register
def _(expression: e.Alias) -> str:
    return f"{_expression(expression.child)} AS {expression.attribute.name}"
