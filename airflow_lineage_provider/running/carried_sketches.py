"""What a run carries of its sources to the rows of its result, so that its sketches are captured in the same pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.running.known_cuts import KnownCuts
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.sketches.carried_run import CarriedRun, carried_run
from airflow_lineage_provider.sketches.composite import AnyPartition
from airflow_lineage_provider.sketches.kept_cuts import KeptCuts
from airflow_lineage_provider.sketches.numbering import AnyNumbering, numbering

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from airflow_lineage_provider.plan import operators as o
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.running.asked_sketches import Sketching
    from airflow_lineage_provider.sketches.choice import ChosenColumn
    from airflow_lineage_provider.sketches.sketch import SketchKind
    from airflow_lineage_provider.spark.executing.run import Execution
    from airflow_lineage_provider.store.run_store import RunStore
    from airflow_lineage_provider.tracing.program import Program


@dataclass(frozen=True, kw_only=True)
class CarriedSketches:
    """What a run carries for the sketches that are to be captured of it.

    :ivar cuts: the partitions that are known before it, by leaf; those of leaves whose rows are numbered are among them.
    """

    run: CarriedRun
    cuts: Mapping[int, KeptCuts] = field(default_factory=dict)

    @property
    def numbered(self) -> dict[int, AnyNumbering]:
        """How the rows of sources are numbered when they are read."""
        return {leaf: numbering(self.cuts[leaf].partition) for leaf in self.run.numbered}


def carried_sketches(
    store: RunStore,
    recorded: RecordedPlan,
    programs: Sequence[Program],
    rest: o.Plan | None,
    wanted: Sketching,
    straight: Set[str],
    frame_of: Callable[[int], DataFrame],
) -> CarriedSketches:
    """What is carried for the columns that are ``wanted``. Of a column whose cuts nobody knows, and by whose numbers groups are made, some
    values are read now.

    ``rest`` makes the result where the last program does not, ``straight`` are the names of stored segments that go into files without
    being kept by Spark, and ``frame_of`` gives a source.
    """
    plain = CarriedRun(programs=tuple(programs), rest=rest)
    if any(one.materialized.name in straight for one in programs):
        told = "rows of the run go straight into files, and Spark keeps none of them"
        return CarriedSketches(run=replace(plain, refused=dict.fromkeys(wanted.capture, told)))
    cutting = _Cutting(store, recorded, wanted, frame_of)
    columns, counts = _carried_columns(wanted), dict[int, int]()
    while True:
        carried = {leaf: column for leaf, column in columns.items() if leaf not in cutting.refused}
        made = carried_run(programs, rest, carried, counts, witness=wanted.witness)
        new = [leaf for leaf in made.numbered if leaf not in counts]
        counts |= {leaf: found.partition.count for leaf in new if (found := cutting.of(leaf)) is not None}
        if not new:
            return CarriedSketches(run=replace(made, refused={**made.refused, **cutting.refused}), cuts=cutting.found)


def _carried_columns(wanted: Sketching) -> dict[int, str]:
    """By leaf; what stands behind all rows of a limit does not come up to the result."""
    return {leaf: one.safe.column for leaf, one in wanted.capture.items() if not one.safe.at_limit}


@dataclass
class _Cutting:
    """The cuts of columns, as they are found; ``refused`` says why those of others are not."""

    store: RunStore
    recorded: RecordedPlan
    wanted: Sketching
    frame_of: Callable[[int], DataFrame]
    found: dict[int, KeptCuts] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)

    def of(self, leaf: int) -> KeptCuts | None:
        try:
            found = self._read(leaf, self.wanted.capture[leaf])
            numbering(found.partition)
        except (LineageError, OverflowError, ValueError, TypeError) as problem:
            self.refused[leaf] = f"its cuts are not known before the run: {first_line(problem)}"
            return None
        self.found[leaf] = found
        return found

    def _read(self, leaf: int, column: ChosenColumn) -> KeptCuts:
        known = known_cuts(self.recorded, self.wanted, leaf, self._kept)
        if known.known is not None:
            return known.known
        from airflow_lineage_provider.spark.rereading.sketched import column_of

        with column_of(self.frame_of(leaf), column.safe.column, dict(self.recorded.plan.conf)) as values:
            return known.read(values)

    def _kept(self, table: str, column: str, version: str) -> list[bytes]:
        nothing: list[bytes] = []
        return self.store.ask(f"finding cuts of column {column}", lambda opened: opened.cuts_of(table, column, version), nothing)


def known_cuts(recorded: RecordedPlan, wanted: Sketching, leaf: int, kept: Callable[[str, str, str], Sequence[bytes]]) -> KnownCuts:
    """The cuts of a column that a sketch is wanted of; ``kept`` finds those of earlier sketches by table, column and version."""
    column = wanted.capture[leaf]
    source, version = recorded.sources[leaf], wanted.versions[leaf]
    return KnownCuts(source, column, lambda: kept(column.safe.table, column.safe.column, version))


@dataclass(frozen=True, kw_only=True)
class CarriedWithRun:
    """What the rows of a run's result carried, while Spark keeps them.

    :ivar cuts: the partitions that were known before the run, by leaf.
    """

    carried: CarriedSketches
    execution: Execution

    @property
    def cuts(self) -> Mapping[int, KeptCuts]:
        return self.carried.cuts

    @property
    def leaves(self) -> Set[int]:
        """The leaves of which something was carried."""
        return self.carried.run.marks.keys()

    def kind(self, leaf: int) -> SketchKind:
        """Whether all rows behind the result were carried, or one of each group."""
        return "witness" if leaf in self.carried.run.witnessed else "accurate"

    def why_whole(self, leaf: int) -> str:
        """Why not one row of each group was carried, where one was to be."""
        return self.carried.run.whole.get(leaf, "")

    def fragments(self, leaf: int, partition: AnyPartition) -> frozenset[int] | str:
        """The fragments of a leaf that stand behind the result, or why they are not known."""
        from airflow_lineage_provider.spark.executing.marked import MarksLost, fragments_carried

        marks = self.carried.run.marks.get(leaf)
        if marks is None:
            return self.carried.run.refused.get(leaf, "nothing was carried of this source")
        try:
            return fragments_carried(self.execution, marks, numbering(partition))
        except MarksLost as problem:
            return str(problem)
