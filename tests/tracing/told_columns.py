"""Column-level lineage as short texts, for tests to compare: ``client.income DIRECT AGGREGATION masked by f``."""

from __future__ import annotations

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.tracing.columns.lineage import ColumnInput, ColumnLineage, column_lineage


def one_segment(plan: o.Plan, names: tuple[str, ...] | None = None) -> SegmentedPlan:
    """A plan as captured, before any pass."""
    segment = Segment(number=0, kind="non_d", plan=plan)
    return SegmentedPlan(segments=(segment,), output=plan.output, names=names or tuple(one.name for one in plan.output))


def told(plan: o.Plan | SegmentedPlan, *, by_leaf: bool = False) -> dict[str, set[str]]:
    """The inputs of each column by name, and those of all of them under ``*``."""
    segmented = plan if isinstance(plan, SegmentedPlan) else one_segment(plan)
    return texts(column_lineage(segmented, by_leaf=by_leaf))


def texts(lineage: ColumnLineage) -> dict[str, set[str]]:
    found = {column.name: {_text(one) for one in column.inputs} for column in lineage.columns}
    return found | {"*": {_text(one) for one in lineage.rows}}


def _text(one: ColumnInput) -> str:
    kind = one.transformation
    leaf = "" if one.source.leaf is None else f"@{one.source.leaf}"
    parts = [f"{one.source.table}.{one.source.column}{leaf}", kind.subtype, *(["masked"] if kind.masking else [])]
    return " ".join([*parts, *(["perhaps"] if kind.opaque else []), *(f"by {udf}" for udf in kind.udfs)])
