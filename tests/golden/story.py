"""What becomes of a recorded plan, as one text: every pass that changes it, its segments, what a run of it executes and stores, the
tracing queries of its rows, how far a target's condition goes down, and the plans that follow source rows forwards. No JVM, no database.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import LineageRule
from airflow_lineage_provider.plan.check import check
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.expressions import Call, Literal
from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.text import plan_text
from airflow_lineage_provider.plan.walk import functions_of, operators
from airflow_lineage_provider.rewrite.pipeline import PASSES, rewrite
from airflow_lineage_provider.sql.lowering import lower
from airflow_lineage_provider.sql.names import Dialect
from airflow_lineage_provider.sql.problems import PortabilityProblem
from airflow_lineage_provider.sql.tables import ColumnRef, LeafKey, TableRef, leaf_key
from airflow_lineage_provider.tracing.forward.plans import forward
from airflow_lineage_provider.tracing.forward.tags import Tags
from airflow_lineage_provider.tracing.program import Program, programs
from airflow_lineage_provider.tracing.push_down import restricted
from airflow_lineage_provider.tracing.reserved import TARGET
from airflow_lineage_provider.tracing.strategies import choose, stored_segments
from airflow_lineage_provider.tracing.trace import TracedRun, trace

_KEY = SourceIdentity(
    kind="file_position", columns=(KeyColumn(name="lineage_file", type="bigint"), KeyColumn(name="lineage_position", type="bigint"))
)
STRATEGIES = ("function_materialization", "full_materialization")


def story(pipeline: Pipeline) -> str:
    """The text; what a part refuses stands in it."""
    return "\n".join(line.rstrip() for line in _lines(pipeline)) + "\n"


def _lines(pipeline: Pipeline) -> Iterator[str]:
    yield from _passes(pipeline.plan)
    try:
        plan = rewrite(pipeline)
    except LineageError as error:
        yield from ("", f"refused: {error}")
        return
    yield from ("", "SEGMENTS")
    for segment in plan.segments:
        yield f"{segment.number} {segment.kind}{' pinned' if segment.pinned else ''}"
        yield plan_text(segment.plan, 2)
    for strategy in STRATEGIES:
        yield from _run(plan, strategy)
    yield from _restricted(plan)
    yield from _forward(plan)


def _passes(plan: o.Plan) -> Iterator[str]:
    text = plan_text(plan)
    yield from ("CAPTURED", text)
    for one in PASSES:
        plan = one(plan)
        check(plan)
        assert one(plan) == plan or one.__name__ == "unique_attributes", f"{one.__name__} is not done when it is done"
        if plan_text(plan) != text:
            text = plan_text(plan)
            yield from ("", one.__name__, text)


# --- running and tracing ------------------------------------------------------------------------------------------------


def _run(plan: SegmentedPlan, strategy: Any) -> Iterator[str]:
    yield from ("", f"RUN {strategy}")
    stored = stored_segments(choose(plan, strategy)) | {0}
    sources = {node.leaf: _KEY for segment in plan.segments for node in operators(segment.plan) if isinstance(node, o.Source)}
    try:
        made = programs(plan, sources, stored, whole=strategy == "full_materialization")
    except LineageError as error:
        yield f"refused: {error}"
        return
    for program in made:
        yield f"{program.materialized.name} stores {', '.join(a.name for a in program.stored) or 'the number of rows'}"
        yield _sql(program.plan, made, "spark")
    run = TracedRun(plan=plan, materialized={program.segment.number: program.materialized for program in made}, sources=sources)
    rows = pa.table([pa.array([0], pa.int64()), pa.array([0], pa.int64())], names=["tag", "row"])
    asked = _Asked(made)
    try:
        trace(run, 0, rows, asked, enumerate_differences=True)
    except LineageError as error:
        asked.lines.append(f"refused: {error}")
    yield from ("", f"TRACE {strategy}", *asked.lines)


class _Asked:
    """Answers every tracing query with one row, and tells which engine could have: each query leads on to the next."""

    def __init__(self, made: tuple[Program, ...]) -> None:
        self.made = made
        self.lines: list[str] = []

    def run(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str, str]:
        postgres = _sql(plan, self.made, "postgres")
        refused = postgres.startswith("refused")
        self.lines += [f"in Spark, as PostgreSQL {postgres}", _sql(plan, self.made, "spark")] if refused else ["in PostgreSQL", postgres]
        columns = [pa.array([_sample(to_arrow(a.type))], to_arrow(a.type)) for a in plan.output]
        return pa.table(columns, names=[f"c{i}" for i in range(len(columns))]), "", ""


def _sql(plan: o.Plan, made: tuple[Program, ...], dialect: Dialect) -> str:
    """The query over tables that are named after what they are; only what the run stored is in PostgreSQL."""
    stored = {program.segment.number: program.materialized for program in made}
    tables: dict[LeafKey, TableRef] = {}
    for node in operators(plan):
        if isinstance(node, o.Source | o.SegmentOutput):
            tables[leaf_key(node)] = _table(node, stored, tables)
    if dialect == "postgres" and any(key[0] == "source" for key in tables):
        return "refused: a source table is not stored there"
    names = {function.function: f"udf_{function.function}" for function in functions_of(plan)}
    try:
        return lower(plan, tables, dialect=dialect, udfs=names)
    except (LineageError, PortabilityProblem) as error:
        return f"refused: {error}"


def _table(node: o.Source | o.SegmentOutput, stored: Any, tables: dict[LeafKey, TableRef]) -> TableRef:
    known = tables[leaf_key(node)].columns if leaf_key(node) in tables else {}
    if isinstance(node, o.Source):
        columns = {a.id: ColumnRef(text=name) for a, name in zip(node.output, node.columns, strict=True)}
        return TableRef(name=(node.relation.name,), columns={**known, **columns})
    name = "target" if node.segment == TARGET else stored[node.segment].name if node.segment in stored else f"segment_{node.segment}"
    own = dict(stored[node.segment].columns) if node.segment in stored else {}
    return TableRef(name=(name,), columns={**known, **{a.id: ColumnRef(text=own.get(a.id, a.name)) for a in node.output}})


def _sample(kind: pa.DataType) -> Any:
    """A value of a type."""
    if pa.types.is_boolean(kind):
        return False
    if pa.types.is_decimal(kind):
        return decimal.Decimal(0)
    if pa.types.is_temporal(kind):
        return {pa.date32(): dt.date(2024, 1, 1), pa.duration("us"): dt.timedelta()}.get(kind, dt.datetime(2024, 1, 1))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return 0
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return []
    if pa.types.is_struct(kind):
        return {field.name: _sample(field.type) for field in kind}
    return b"" if pa.types.is_binary(kind) else "" if pa.types.is_string(kind) else None


# --- conditions, and rows forwards --------------------------------------------------------------------------------------


def _restricted(plan: SegmentedPlan) -> Iterator[str]:
    """A condition on the result's first column that has an equality."""
    column = next((a for a in plan.output if a.type in ("int", "bigint", "string")), None)
    if column is None:
        return
    literal = Literal(value="x" if column.type == "string" else "1", type=column.type)
    pushed = restricted(plan, Call(function="=", arguments=(column, literal), type="boolean"))
    yield from ("", f"RESTRICTED to {column.name} = {literal.value}")
    for before, after in zip(plan.segments, pushed.segments, strict=True):
        yield from (str(after.number), plan_text(after.plan, 2)) if after.plan is not before.plan else (f"{after.number} as before",)


def _forward(plan: SegmentedPlan) -> Iterator[str]:
    leaves = {node.leaf: node for segment in plan.segments for node in operators(segment.plan) if isinstance(node, o.Source)}
    yield from ("", "FORWARD")
    try:
        made = forward(plan, dict.fromkeys(leaves, _KEY), frozenset({0}), Tags(frozenset(leaves)))
    except LineageError as error:
        yield f"refused: {error}"
        return
    for number, one in sorted(made.segments.items(), reverse=True):
        check(one.body.plan)
        carried = "nothing" if one.leaf.tags is None else one.leaf.tags.name
        yield f"{number} carries {carried}{', chosen' if one.chosen else ''}{'' if one.leaf.unique else ', rows not told apart'}"
        yield plan_text(one.body.plan, 2)


def rules_of(pipeline: Pipeline) -> set[LineageRule]:
    """The rules of lineage that the operators of the rewritten plan follow."""
    return {node.lineage for segment in rewrite(pipeline).segments for node in operators(segment.plan)}


def output_names(plan: o.Plan) -> tuple[str, ...]:
    """Names for a result whose plan has some twice."""
    return tuple(a.name for a in plan.output)
