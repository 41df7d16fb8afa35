"""The segments of a plan by the symbols of their operators, as the paper's table 3 has them (augmented lineage, section 7.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.plan.walk import operators

_KINDS = {"non_d": "non-D", "d": "D"}


def tree(plan: SegmentedPlan, segment: Segment) -> list[Any]:
    """``[symbols, inputs]`` of a segment: names of source tables, and trees of segments."""
    below = [one.relation.name if isinstance(one, o.Source) else tree(plan, plan.segments[one.segment]) for one in segment.inputs]
    return [symbols(segment), below]


def symbols(segment: Segment) -> str:
    """The segment's operators in the order of the pattern: φ and α as often as they stand there, the others once."""
    found = [_symbol(node) for node in operators(segment.plan)]
    return "-".join([one for one in found if one in "φα"] + [one for one in "∪πσ⋈−" if one in found])


def told(plan: SegmentedPlan) -> str:
    """A plan as a row of table 3: its UDFs, how many segments of which kind, and their tree."""
    calls = Counter(node.udf for segment in plan.segments for node in segment.functions)
    kinds = Counter(_KINDS.get(segment.kind, segment.kind) for segment in plan.segments)
    udfs = ", ".join(udf if times == 1 else f"{times} × {udf}" for udf, times in sorted(calls.items()))
    return f"{udfs or 'no UDF'}; {', '.join(f'{times} {kind}' for kind, times in sorted(kinds.items()))}: {_text(tree(plan, plan.root))}"


def _text(found: str | Sequence[Any]) -> str:
    return found if isinstance(found, str) else f"{found[0]}({', '.join(map(_text, found[1]))})"


def _symbol(node: o.Plan) -> str:
    match node:
        case o.FunctionOperator():
            return "φ"
        case o.Aggregate():
            return "α"
        case o.Union():
            return "∪"
        case o.Project():
            return "π"
        case o.Filter() | o.Sort() | o.Limit():
            return "σ"
        case o.Join():
            return "−" if node.is_difference else "⋈"
        case o.Source() | o.SegmentOutput():
            return "leaf"
    raise AssertionError(f"no symbol for {type(node).__name__}")
