"""Running a pipeline under function materialization: one pass over the data, segment by segment.

Each materialized segment is computed once, kept by Spark (memory, then disk), loaded into the store from the executors, and
read by the segments above from what Spark keeps, or, where it is large, written into files and read from there (`straight`): the
UDFs are called once for a row, and the rows that are stored are the rows that the result was made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.catalyst.datatypes import ddl
from airflow_lineage_provider.errors import PlanCheckError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.lineage_keys import ROW, SourceIdentity
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import children, operators, transform_up
from airflow_lineage_provider.progress import Progress
from airflow_lineage_provider.reasons.spark_function import evaluated_as
from airflow_lineage_provider.records.cost import LINEAGE
from airflow_lineage_provider.sketches.marks import FRAGMENT
from airflow_lineage_provider.spark.arrow_border import carried
from airflow_lineage_provider.spark.capturing.lineage_sources import LineageSource, keys_frame
from airflow_lineage_provider.spark.executing.by_driver import brought
from airflow_lineage_provider.spark.executing.clustering import in_order
from airflow_lineage_provider.spark.executing.loading import load
from airflow_lineage_provider.spark.executing.new_files import of_files, of_other_files
from airflow_lineage_provider.spark.executing.on_executors import WRITTEN, writing_partitions
from airflow_lineage_provider.spark.executing.python_maps import applied
from airflow_lineage_provider.spark.executing.python_windows import with_window_functions
from airflow_lineage_provider.spark.executing.straight import straight_into_files
from airflow_lineage_provider.spark.executing.table_functions import generated, of_tables
from airflow_lineage_provider.spark.fragment_numbers import with_fragments
from airflow_lineage_provider.spark.frames import columns_named, of_sql, persisted, renamed, with_columns
from airflow_lineage_provider.spark.identity import among, with_identity
from airflow_lineage_provider.spark.reach import are_kept_out
from airflow_lineage_provider.spark.selected import selected
from airflow_lineage_provider.spark.session import KEPT_ROWS, SETTINGS, apply_conf, carefully
from airflow_lineage_provider.sql import ColumnRef, lower
from airflow_lineage_provider.store import Column, ResultTable
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind
from airflow_lineage_provider.tracing.program import Groups, Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.reasons import ReasonedUdf
    from airflow_lineage_provider.sketches.numbering import AnyNumbering
    from airflow_lineage_provider.sketches.use import Selection
    from airflow_lineage_provider.spark.capturing.capture import CapturedPipeline
    from airflow_lineage_provider.spark.capturing.captured_udf import CapturedUdf
    from airflow_lineage_provider.store.data_place import DataPlace
    from airflow_lineage_provider.store.kinds import Kind, Role
    from airflow_lineage_provider.store.materialization import Materialization
    from airflow_lineage_provider.store.note import Notes
    from airflow_lineage_provider.store.run_store import RunStore
    from airflow_lineage_provider.words import OutputMode


# Leaves that stand for the rows of Python functions have numbers that no segment has.
_PYTHON_LEAF = -1_000_000
# What Spark makes of each partition by itself.
_IN_PLACE = (o.Source, o.SegmentOutput, o.Project, o.Filter, o.FunctionOperator, o.Generate, o.Union)


@dataclass(kw_only=True)
class Execution:
    """A run in the making: what Spark keeps for it, and what was measured.

    :ivar data: where stored rows go that are many.
    :ivar many: the names of the tables that are likely to have so many rows that they go there.
    :ivar looked_up: the columns of what is stored by which its rows are looked up: those that the result is asked by, and of a segment
        those by which the segments above look.
    :ivar stored: kept frames, with the columns of theirs that are stored, and where.
    :ivar collected: kept frames whose rows say what stands behind them (`collected`), by their segments.
    :ivar marked: the kept rows of the result with what they carry (`sketches.carried_run`), where they carry anything.
    :ivar lost_before: the executors that the application had lost when the run began.
    """

    spark: SparkSession
    run_id: str
    store: RunStore
    progress: Progress
    conf: Mapping[str, str] = field(default_factory=dict)
    data: DataPlace | None = None
    many: frozenset[str] = frozenset()
    looked_up: Mapping[str, Sequence[str]] = field(default_factory=dict)
    views: list[str] = field(default_factory=list)
    kept: list[DataFrame] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    stored: list[tuple[DataFrame, Sequence[str], Materialization]] = field(default_factory=list)
    collected: dict[int, DataFrame] = field(default_factory=dict)
    marked: DataFrame | None = None
    lost_before: frozenset[str] = frozenset()
    rows: dict[str, int] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)

    def for_lineage(self, seconds: float) -> None:
        """So much of the run's time was for its lineage alone."""
        self.timings[LINEAGE] = self.timings.get(LINEAGE, 0.0) + seconds

    def view(self, frame: DataFrame, name: str) -> str:
        """Register a frame under a name of this run's own."""
        full = f"lineage_{self.run_id.replace('-', '_')}_{name}"
        frame.createOrReplaceTempView(full)
        self.views.append(full)
        return full

    def order_of(self, name: str) -> Sequence[str]:
        """The columns by which rows are sorted before they are numbered: of what may go into files those by which they are looked up."""
        return self.looked_up.get(name, ()) if self.data is not None else ()

    def keep(self, frame: DataFrame) -> DataFrame:
        kept = persisted(frame)
        self.kept.append(kept)
        return kept

    def close(self) -> None:
        """Let Spark forget everything of this run."""
        with ExitStack() as stack:  # every one is tried, whatever becomes of the others
            for name in self.functions:
                stack.callback(of_sql, self.spark, f"DROP TEMPORARY FUNCTION IF EXISTS {name}")
            for frame in self.kept:
                stack.callback(frame.unpersist)
            for name in self.views:
                stack.callback(self.spark.catalog.dropTempView, name)
            self.functions, self.kept, self.views = [], [], []
            self.collected.clear()
            self.marked = None


@contextmanager
def under_settings(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """The session under the settings of a run. They are the whole session's: one thread at a time may change them."""
    with SETTINGS, apply_conf(spark, {**conf, **KEPT_ROWS}):
        yield


def source_views(
    execution: Execution,
    plan: SegmentedPlan,
    leaves: Mapping[int, DataFrame],
    identities: Mapping[int, SourceIdentity],
    selections: Mapping[int, Selection] | None = None,
    rows_of: Mapping[int, LineageSource] | None = None,
    in_full: Mapping[int, Sequence[str]] | None = None,
    numbered: Mapping[int, tuple[str, AnyNumbering]] | None = None,
) -> dict[Key, LeafTable]:
    """A view for every source leaf, with its lineage key, and the rows alone that ``selections`` leave of it (but of files that are read
    ``in_full``, which have all theirs), or that are ``rows_of`` lineage. Those of ``numbered`` leaves have the number of the fragment that
    they are in by a column. Data that only this session holds is stored on the way, and so are the keys of these rows."""
    tables: dict[Key, LeafTable] = {}
    keys = {mark: _stored_keys(execution, one) for mark, one in {one.mark: one for one in (rows_of or {}).values()}.items()}
    for source in sources_of(plan):
        frame = with_identity(_plain_names(leaves[source.leaf], source), identities[source.leaf])
        if selections and source.leaf in selections:
            frame = _selected(frame, source, selections[source.leaf], (in_full or {}).get(source.leaf, ()))
        if rows_of and source.leaf in rows_of:
            frame = among(frame, identities[source.leaf], keys[rows_of[source.leaf].mark])
        if numbered and source.leaf in numbered:
            frame = with_fragments(frame, *numbered[source.leaf], FRAGMENT)
        if identities[source.leaf].kind == "snapshot":
            frame = execution.keep(frame)
            _snapshot(execution, source, frame)
        name = execution.view(frame, f"leaf_{source.leaf}")
        tables["source", source.leaf] = LeafTable(name=(name,))
    return tables


def sources_of(plan: SegmentedPlan) -> tuple[o.Source, ...]:
    """The source leaves of all segments, each once, in the order of their leaf numbers."""
    found = {node.leaf: node for segment in plan.segments for node in operators(segment.plan) if isinstance(node, o.Source)}
    return tuple(found[leaf] for leaf in sorted(found))


def _plain_names(frame: DataFrame, source: o.Source) -> DataFrame:
    if len(frame.columns) != len(source.columns):
        raise PlanCheckError(
            f"source {source.relation.name} has {len(frame.columns)} columns in the session, {len(source.columns)} in the plan"
        )
    return frame


def _selected(frame: DataFrame, source: o.Source, selection: Selection, in_full: Sequence[str]) -> DataFrame:
    whole = of_files(frame, in_full) if in_full else None
    if whole is not None:
        frame = of_other_files(frame, in_full)
    names = {a.id: name for name, a in zip(source.columns, source.output, strict=True)}
    found = selected(frame, selection, *(names.get(one.id, one.name) for one in selection.columns))
    return found if whole is None else found.unionAll(whole)


def _snapshot(execution: Execution, source: o.Source, frame: DataFrame) -> None:
    columns = [Column(name=name, type=a.type) for name, a in zip(source.columns, source.output, strict=True)]
    load(execution, frame, f"source_{source.leaf}", "source", [*columns, Column(name=ROW, type="bigint", role="row", nullable=False)])


def _stored_keys(execution: Execution, source: LineageSource) -> DataFrame:
    """The lineage keys of rows that alone are read of a source, which are stored: reading them again reads the same rows."""
    keys, identity = keys_frame(execution.spark, source), source.source.identity
    numbered = with_columns(renamed(keys, [one.name for one in identity.columns]), {ROW: "monotonically_increasing_id()"})
    columns = [Column(name=one.name, type=one.type, role="lineage") for one in identity.columns]
    load(
        execution,
        execution.keep(numbered),
        source.of.stored,
        "keys",
        [*columns, Column(name=ROW, type="bigint", role="row", nullable=False)],
    )
    return keys


def run_program(
    execution: Execution,
    program: Program,
    tables: dict[Key, LeafTable],
    udfs: Mapping[int, str],
    captured: CapturedPipeline,
) -> DataFrame:
    """Compute a segment, store it, and give the frame that segments above read (with its row number)."""
    number = program.segment.number
    text = _text(execution, program.plan, tables, udfs, captured)
    name, columns = program.materialized.name, stored_columns(program)
    kind: Kind = "result" if number == 0 else "segment"
    frame = None
    if name in execution.many:
        with under_settings(execution.spark, execution.conf):
            made = of_sql(execution.spark, text)
        frame = straight_into_files(execution, made, name, kind, columns)
    if frame is None:
        frame = _kept_numbered(execution, text, execution.order_of(name) if kind == "result" else ())
        load(execution, frame, name, kind, columns, are_shuffled=_are_shuffled(program.plan))
    if number:  # nothing stands above the result
        _read_as_segment(execution, frame, number, program.plan, tables)
    if program.carried is not None:
        execution.collected[number] = frame
    return frame


def _are_shuffled(plan: o.Plan) -> bool:
    """Whether Spark is likely to exchange rows between partitions to make them."""
    return not all(isinstance(node, _IN_PLACE) for node in operators(plan))


def keep_groups(
    execution: Execution, groups: Groups, tables: dict[Key, LeafTable], udfs: Mapping[int, str], captured: CapturedPipeline
) -> None:
    """Have the groups of a segment that is not stored kept, once what reads them is computed, with the rows behind them."""
    frame = _kept_numbered(execution, _text(execution, groups.plan, tables, udfs, captured))
    _read_as_segment(execution, frame, groups.segment, groups.plan, tables)
    execution.collected[groups.segment] = frame


def _kept_numbered(execution: Execution, text: str, order: Sequence[str] = ()) -> DataFrame:
    with under_settings(execution.spark, execution.conf):
        rows = in_order(of_sql(execution.spark, text), order)
        return carefully(execution.spark, lambda: execution.keep(numbered(rows, execution.run_id)))


def _read_as_segment(execution: Execution, frame: DataFrame, number: int, plan: o.Plan, tables: dict[Key, LeafTable]) -> None:
    """Segments above read a segment's rows from a frame."""
    spelled = {a.id: ColumnRef(text=a.name) for a in plan.output}
    tables["segment", number] = LeafTable(name=(execution.view(frame, f"segment_{number}"),), by_id=spelled)


def _text(execution: Execution, plan: o.Plan, tables: dict[Key, LeafTable], udfs: Mapping[int, str], captured: CapturedPipeline) -> str:
    """A plan as Spark SQL; what SQL cannot say is run, and read from views."""
    owner = f"lineage_{execution.run_id.replace('-', '_')}"
    plan = with_window_functions(execution.spark, plan, captured.udfs, owner, execution.functions)
    plan = _with_python_maps(execution, plan, tables, udfs, captured)
    return lower(plan, bind(plan, tables), dialect="spark", udfs=udfs)


def numbered(frame: DataFrame, owner: str) -> DataFrame:
    """A frame's rows with their numbers, to be kept for one owner alone.

    Spark keeps rows by plan: two runs of the same pipeline would share theirs, and the first that ends would take them from the other.
    ``owner`` is a name of letters, digits, ``-`` and ``_``; the session reads SQL by its default rules.
    """
    return with_columns(frame, {ROW: "monotonically_increasing_id()", f"lineage_kept_for_{owner}": f"'{owner}'"})


def _with_python_maps(
    execution: Execution, plan: o.Plan, tables: dict[Key, LeafTable], udfs: Mapping[int, str], captured: CapturedPipeline
) -> o.Plan:
    """The plan over views of what Python functions, and other operators that SQL cannot say, give."""

    def called(node: o.Plan) -> o.Plan:
        if not isinstance(node, o.PythonMap | o.Generate) or node.call is None:
            return node
        texts = [lower(child, bind(child, tables), dialect="spark", udfs=udfs) for child in children(node)]
        with under_settings(execution.spark, execution.conf):
            frame = rows_of(node, captured, [of_sql(execution.spark, text) for text in texts])
        leaf = o.SegmentOutput(segment=_PYTHON_LEAF - node.call, output=node.output)
        spelled = {a.id: ColumnRef(text=a.name) for a in node.output}
        tables["segment", leaf.segment] = LeafTable(name=(execution.view(frame, f"python_{node.call}"),), by_id=spelled)
        return leaf

    return transform_up(plan, called)


def rows_of(node: o.PythonMap | o.Generate, captured: CapturedPipeline, frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of an operator that SQL cannot say, over its inputs' rows; the columns are named after its output."""
    if isinstance(node, o.Generate):
        return generated(node, captured.operators, frames[0])
    return of_tables(node, captured.operators, frames[0]) if node.kind == "table" else applied(node, captured.udfs, frames)


def run_rest(execution: Execution, plan: o.Plan, tables: Mapping[Key, LeafTable], udfs: Mapping[int, str]) -> DataFrame:
    """What stands above the stored segments: computed when it is read, and stored nowhere."""
    text = lower(plan, bind(plan, tables), dialect="spark", udfs=udfs)
    with under_settings(execution.spark, execution.conf):
        return of_sql(execution.spark, text)


def compute_result(execution: Execution, frame: DataFrame) -> DataFrame:
    """Run a pipeline whose result goes nowhere else: the rows are kept by Spark, as those of a stored result are.

    A frame that the user keeps already stays the user's.
    """
    level = frame.storageLevel
    if level.useMemory or level.useDisk:
        kept = frame
    else:
        # Under its own plan: one that is like another run's would be given that one's rows.
        columns = frame.columns
        numbers = [f"c{at}" for at in range(len(columns))]
        own = with_columns(renamed(frame, numbers), {"lineage_kept_for": f"'{execution.run_id}'"})
        kept = carefully(execution.spark, lambda: renamed(columns_named(execution.keep(own), numbers), columns))
    execution.rows["result"] = kept.count()
    return kept


def reasoned_udf_of(captured: CapturedUdf) -> ReasonedUdf | None:
    """The reasoned UDF that Spark would call; None for any other UDF, whatever its name.

    It is read from the function that Spark holds: another may have been declared under the same name since, or its model fitted again. A
    function with a large model is out of reach there (Spark broadcasts it); then the declared UDF of that name and type is meant.

    :raises UdfVersionMismatch: that one is another now than when it was pickled last, for Spark.
    """
    from pyspark.errors import PySparkRuntimeError

    from airflow_lineage_provider.reasons import registry

    if captured.eval_type != evaluated_as():
        return None
    declared = registry.get(captured.name) if captured.name in registry.names() else None
    try:
        command = captured.function.unpickled
    except PySparkRuntimeError:  # BROADCAST_VARIABLE_NOT_LOADED
        if declared is not None:
            registry.check_pickled(declared)
        return declared
    held = _reasoned(command[0])
    return declared if held is not None and declared is not None and declared.current_version() == held.version else held


def _reasoned(function: Callable[..., Any]) -> ReasonedUdf | None:
    from airflow_lineage_provider.reasons import ReasonedUdf

    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    return next((one.udf for one in cells if isinstance(getattr(one, "udf", None), ReasonedUdf)), None)


def stored_columns(program: Program) -> list[Column]:
    """The columns of a segment's materialization, with the part that each plays."""
    roles: dict[int, Role] = {a.id: "lineage" for one in program.materialized.inputs for a in one.attributes}
    for function in program.segment.functions:
        roles.update(dict.fromkeys((a.id for a in function.arguments), "argument"))
        roles[function.value.id] = "value"
        if function.reason is not None:
            roles[function.reason.id] = "reason"
    columns = [Column(name=a.name, type=a.type, role=roles.get(a.id, "data")) for a in program.stored]
    return [*columns, Column(name=ROW, type="bigint", role="row", nullable=False)]


def write_postgres(frame: DataFrame, url: str, table: str, mode: OutputMode, notes: Notes | None = None) -> None:
    """Write a frame to a PostgreSQL table: loaded beside it by the executors (by the driver, for those that do not get there), put in place
    in one transaction.

    ``notes`` is told of appended rows before they can be seen (`ResultTable.publish`).

    :raises LoadFailed, StoreUnavailable: what was there before is unchanged.
    """
    columns = [Column(name=field.name, type=ddl(field.jsonValue()["type"])) for field in frame.schema]
    numbered = renamed(frame, [f"c{i}" for i in range(len(columns))])
    names = [column.name for column in columns]
    with ResultTable.staged(url, table, columns, mode) as result:
        if are_kept_out(frame.sparkSession, url, "psycopg2"):
            for partition, batches in brought(carried(numbered)):
                result.load(partition, (batch.rename_columns(names) for batch in batches))
        else:
            carried(numbered).mapInArrow(writing_partitions(result, names), WRITTEN).collect()
        result.publish(notes)


def result_frame(frame: DataFrame, columns: tuple[str, ...], names: tuple[str, ...]) -> DataFrame:
    """The user's columns under the user's names."""
    return renamed(columns_named(frame, columns), names)
