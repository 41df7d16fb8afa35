"""Sketches of a run: which fragments of a source's column hold the rows that stand behind the whole result.

Where the run has carried them to the rows of its result (`sketches.capture`) they are united there. Of other sources, and of runs of
before, what stands behind the result is traced as for any question, so the sketch is accurate where the lineage is exact; nothing of the
pipeline runs again but what the run's strategy did not store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving.at_limit import behind_limit
from airflow_lineage_provider.deriving.capturing import check_unchanged
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.errors import SketchError, SparkRequired
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee, weakest
from airflow_lineage_provider.records.sketches import SketchUse, StoredSketch
from airflow_lineage_provider.rewrite.unique_names import unique_names
from airflow_lineage_provider.running.asked_sketches import bytes_in, bytes_of
from airflow_lineage_provider.running.carried_sketches import known_cuts
from airflow_lineage_provider.sketches import kept_cuts
from airflow_lineage_provider.sketches.composite import AnyPartition
from airflow_lineage_provider.sketches.files import FILE_PATH, files_in, sketched_attributes
from airflow_lineage_provider.sketches.numbering import numbering
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.policy import share_read
from airflow_lineage_provider.sketches.sketch import WORTH, Sketch, SketchKind
from airflow_lineage_provider.sketches.ties import limit_to_count, rows_in_place
from airflow_lineage_provider.sketches.use import Selection, selection
from airflow_lineage_provider.store.ids import new_id
from airflow_lineage_provider.tracing.maps import RESULT, RowSet, distinct_rows, numbered_rows
from airflow_lineage_provider.tracing.program import rest_of_plan

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.plan import operators as o
    from airflow_lineage_provider.records.versions import SourceVersion
    from airflow_lineage_provider.running.asked_sketches import Sketching
    from airflow_lineage_provider.running.carried_sketches import CarriedWithRun
    from airflow_lineage_provider.sketches.choice import ChosenColumn
    from airflow_lineage_provider.sketches.kept_cuts import KeptCuts
    from airflow_lineage_provider.spark.rereading.sketched import SketchedColumn
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing

_ROWS_AT_ONCE = 65_536
_MOST_ROWS = (1 << 31) - 1
"""So many rows Spark's limit takes."""


@dataclass
class _Behind:
    """The keys of a source's rows that stand behind the result, in parts."""

    parts: list[pa.Table] = field(default_factory=list)
    guarantee: Guarantee = EXACT

    def keys(self) -> pa.Table:
        import pyarrow as pa

        return distinct_rows(pa.concat_tables(self.parts))


@dataclass(frozen=True)
class Sketched:
    """The sketches of a run's result, and what is said of each source; ``share`` is the part of the sources' bytes that they have, None
    where none was looked for."""

    made: Sequence[StoredSketch]
    told: tuple[SketchUse, ...]
    share: float | None = None


def sketched(run: AskedRun, wanted: Sketching, most: int, with_run: CarriedWithRun | None = None) -> Sketched:
    """What is captured of a run; ``with_run`` has what its rows carried, where it has just been made.

    :raises SourceUnavailable: a source is no longer what the run read. :raises SparkRequired: there is no session.
    :raises SketchError: more than ``most`` rows stand behind the result.
    """
    spark = run.on_demand.needed(SparkRequired("a sketch is captured by Spark: give a Spark session, Lineage(spark)"))
    check_unchanged(run)
    refused = {leaf: column.safe.why_not_of(run.total) for leaf, column in wanted.capture.items()}
    columns = {leaf: column for leaf, column in wanted.capture.items() if not refused[leaf]}
    finding = _Finding(run, wanted, columns, most, with_run)
    finding.trace()
    selections: dict[int, tuple[str, Selection | None]] = {}
    found = {leaf: _of_leaf(finding, leaf, spark, selections) for leaf in columns}
    found |= _counted_together(finding, spark, {leaf: one for leaf, one in found.items() if not isinstance(one, str)}, selections)
    problems = {leaf: one for leaf, one in (refused | found).items() if isinstance(one, str) and one}
    made = [one for one in found.values() if isinstance(one, StoredSketch)]
    told = [*wanted.uses, *(_unused(wanted.capture[leaf], problem) for leaf, problem in problems.items())]
    told += [_captured(one, run.recorded.sources[one.leaf].version, wanted.because, finding.how.get(one.leaf, "")) for one in made]
    # A result of another size may have sketches: what this one has tells nothing of them.
    share = _share(run, made) if columns else None
    return Sketched(made, tuple(sorted(told, key=lambda use: use.leaf)), share)


def _of_leaf(finding: _Finding, leaf: int, spark: SparkTracing, selections: dict[int, tuple[str, Selection | None]]) -> StoredSketch | str:
    """The sketch of one source, whose column and selection are noted; or why there is none."""
    column = finding.wanted.capture[leaf].safe
    finding.run.progress(f"sketching {column.column} of {column.table}")
    with ExitStack() as stack:
        maker = _Made(finding, finding.wanted, leaf, spark, stack)
        try:
            one = maker.stored()
        except (SketchError, OverflowError, ValueError) as error:  # a value that Python has not
            return f"not captured: {error}"
    selections[leaf] = (maker.name, maker.selection)
    return _too_large(one) or one


def _counted_together(
    finding: _Finding, spark: SparkTracing, made: Mapping[int, StoredSketch], selections: Mapping[int, tuple[str, Selection | None]]
) -> dict[int, StoredSketch | str]:
    """What becomes of the sketches over which rows may tie at a limit. It is counted once, over all that are under the limit: over each of
    them alone others could tie, so that they are read together, or none."""
    under: list[tuple[o.Limit, list[int]]] = []
    found: dict[int, StoredSketch | str] = {}
    for leaf in sorted(made.keys() & _counted(finding.wanted)):
        limit = limit_to_count(finding.whole, leaf)
        if limit is None or limit.count is None:
            found[leaf] = "rows may tie at the limit"
            continue
        known = next((leaves for one, leaves in under if one is limit), None)
        if known is None:
            under.append((limit, [leaf]))
        else:
            known.append(leaf)
    for limit, leaves in under:
        problem = _ties(finding, spark, limit, {leaf: selections[leaf] for leaf in leaves})
        for leaf in leaves:
            sketch = Sketch.from_bytes(made[leaf].content)
            content = replace(sketch, together=tuple(leaves)).to_bytes() if len(leaves) > 1 else made[leaf].content
            found[leaf] = problem or replace(made[leaf], content=content)
    return found


def _counted(wanted: Sketching) -> frozenset[int]:
    """The sources of which it is counted whether rows tie at the limit over the sketch."""
    safe = {leaf: wanted.capture[leaf].safe for leaf in wanted.tied & wanted.capture.keys()}
    return frozenset(leaf for leaf, column in safe.items() if not column.at_limit and column.column != FILE_PATH)


def _share(run: AskedRun, made: Sequence[StoredSketch]) -> float:
    """Which part of the bytes of its sources a run through the sketches reads."""
    parts = {one.leaf: one.rows / max(1, one.total) for one in made}
    versions = {leaf: source.version for leaf, source in run.recorded.sources.items()}
    return share_read([(parts.get(leaf, 1.0), bytes_of(one)) for leaf, one in versions.items()])


def _unused(column: ChosenColumn, because: str) -> SketchUse:
    return SketchUse(leaf=column.safe.leaf, table=column.safe.table, column=column.safe.column, state="unused", because=because)


def _captured(one: StoredSketch, version: SourceVersion, decided: str, how: str) -> SketchUse:
    sketch, because = Sketch.from_bytes(one.content), "; ".join(filter(None, (one.proof, how, decided)))
    cuts = kept_cuts.from_bytes(one.cuts) if one.column == FILE_PATH else None
    files = files_in(cuts, sketch.fragments) if isinstance(cuts, Partition) else None
    return SketchUse(
        leaf=one.leaf, table=one.table, column=one.column, state="captured", sketch=one.id, run_id=one.run_id, because=because,
        fragments=len(sketch.fragments), count=sketch.count, rows=one.rows, total=one.total,
        bytes=bytes_in(version, one.rows, one.total, files), total_bytes=one.bytes, witness=one.kind == "witness",
    )  # fmt: skip


def _too_large(one: StoredSketch) -> str:
    return f"it would have {one.rows:,} of {one.total:,} rows: too many to be worth it" if one.rows > WORTH * one.total else ""


def _ties(finding: _Finding, spark: SparkTracing, limit: o.Limit, selections: Mapping[int, tuple[str, Selection | None]]) -> str:
    """Why the limit could cut other rows over sketches."""
    from airflow_lineage_provider.spark.rereading.counted import counted

    found = counted(spark, unique_names(rows_in_place(limit)), selections, finding.run.udfs)
    if found <= (limit.count or 0):
        return ""
    over = "the sketch" if len(selections) == 1 else "the sketches"
    return f"rows tie at the limit: over {over} {found:,} are in its first {limit.count:,} places, and another run may take others"


# --- what stands behind the result -------------------------------------------------------------------------------------


def _behind(run: AskedRun, wanted: Mapping[int, ChosenColumn], most: int) -> dict[int, _Behind]:
    import pyarrow as pa

    found = {leaf: _Behind() for leaf in wanted}
    with derivation(run, TRUE) as made:
        run.progress("tracing the result")
        for numbers in _parts(made):
            lineage, asked = made.lineage.anew(), numbered_rows(RESULT, numbers)
            for leaf, one in found.items():
                rows = lineage.between(RESULT, RowSet("source", (leaf,))).backward(asked)
                one.guarantee = weakest(one.guarantee, rows.guarantee)
                one.parts.append(rows.each_once())
                if sum(part.num_rows for part in one.parts) > most:
                    raise SketchError(
                        f"more than {most:,} rows of {run.recorded.sources[leaf].source.relation.name} stand behind the result"
                    )
    empty = {leaf: pa.table({f"key_{at}": [] for at in range(len(run.recorded.sources[leaf].identity.columns))}) for leaf in wanted}
    return {leaf: one if one.parts else replace(one, parts=[empty[leaf]]) for leaf, one in found.items()}


def _parts(made: Derivation) -> Iterator[Numbers]:
    """The numbers of the result's rows, some at a time."""
    numbers = made.rows.matching(TRUE, _MOST_ROWS)
    for first in range(0, len(numbers), _ROWS_AT_ONCE):
        yield numbers[first : first + _ROWS_AT_ONCE]


# --- fragments ---------------------------------------------------------------------------------------------------------


@dataclass
class _Finding:
    """What stands behind the result, source by source; ``how`` says of each that was asked about how it was found."""

    run: AskedRun
    wanted: Sketching
    columns: Mapping[int, ChosenColumn]
    most: int
    with_run: CarriedWithRun | None
    how: dict[int, str] = field(default_factory=dict)
    traced: Mapping[int, _Behind] = field(default_factory=dict)

    @cached_property
    def whole(self) -> o.Plan:
        """The plan of the result over sources alone."""
        return rest_of_plan(self.run.recorded.plan, frozenset())

    def carried(self, leaf: int, partition: AnyPartition) -> frozenset[int] | None:
        """The fragments that the rows of the result carried; None where they carried none."""
        if self.with_run is None:
            return None
        found = self.with_run.fragments(leaf, partition)
        if isinstance(found, str):
            self.how[leaf] = f"captured after the run: {found}"
            return None
        whole = self.wanted.no_witness or self.with_run.why_whole(leaf)
        told = "one row of each group" if self.carried_kind(leaf) == "witness" else f"all rows of each group: {whole}" if whole else ""
        self.how[leaf] = "captured in the run's own pass" + (f", {told}" if told else "")
        return found

    def carried_kind(self, leaf: int) -> SketchKind:
        """Whether what was carried of a leaf is all that stands behind the result."""
        return "accurate" if self.with_run is None else self.with_run.kind(leaf)

    def trace(self) -> None:
        """Trace the sources that nothing was carried of, all at once."""
        carried = set() if self.with_run is None else self.with_run.leaves
        columns = {leaf: column for leaf, column in self.columns.items() if leaf not in carried and not column.safe.at_limit}
        self.traced = _behind(self.run, columns, self.most) if columns else {}

    def behind(self, leaf: int) -> _Behind:
        """What is traced of one source; that of which something was carried, and has been lost, is traced now.

        :raises SketchError: it is not known.
        """
        found = self.traced[leaf] if leaf in self.traced else _behind(self.run, {leaf: self.columns[leaf]}, self.most)[leaf]
        if found.guarantee.level == "unavailable":
            raise SketchError(f"what stands behind the result is not known: {found.guarantee.cause}")
        return found


@dataclass
class _Made:
    """A sketch in the making; ``selection`` has its rows, once it is made. Until ``stack`` is closed the column can be read."""

    finding: _Finding
    wanted: Sketching
    leaf: int
    spark: SparkTracing
    stack: ExitStack
    selection: Selection | None = None

    @cached_property
    def values(self) -> SketchedColumn:
        """The column, opened when there is something that only it can tell."""
        from airflow_lineage_provider.spark.rereading.sketched import SketchedColumn, SketchedFiles

        source = self.finding.run.recorded.sources[self.leaf]
        by_file = self.name == FILE_PATH
        return SketchedFiles(self.spark, source, self.stack) if by_file else SketchedColumn(self.spark, source, self.name, self.stack)

    @property
    def name(self) -> str:
        """The column."""
        return self.wanted.capture[self.leaf].safe.column

    def stored(self) -> StoredSketch:
        run, wanted, safe = self.finding.run, self.wanted, self.wanted.capture[self.leaf].safe
        cuts = self._cuts()
        partition = cuts.partition
        inside, counted, kind = self._found(cuts)
        source = run.recorded.sources[self.leaf].source
        versions = tuple(wanted.versions[leaf] for leaf in sorted(wanted.versions))
        sketch = Sketch(leaf=self.leaf, column=self.name, count=partition.count, fragments=inside, versions=versions, kind=kind)
        self.selection = selection(partition, inside, *sketched_attributes(source, self.name))
        cuts = replace(cuts, rows=counted)
        assert wanted.instance is not None
        return StoredSketch(
            id=new_id(), run_id=run.record.id, pipeline=run.record.pipeline, template=wanted.instance.template,
            binding=wanted.instance.binding, leaf=self.leaf, table=safe.table, column=self.name, versions=wanted.versions,
            content=sketch.to_bytes(), cuts=cuts.to_bytes(), rows=sum(counted[number] for number in inside), total=sum(counted),
            proof=wanted.capture[self.leaf].proof,
            kind=kind, proof_ms=safe.ms or None, bytes=bytes_of(run.recorded.sources[self.leaf].version),
        )  # fmt: skip

    def _cuts(self) -> KeptCuts:
        with_run, run = self.finding.with_run, self.finding.run
        found = None if with_run is None else with_run.cuts.get(self.leaf)
        if found is not None:
            return found
        known = known_cuts(run.recorded, self.wanted, self.leaf, run.store.cuts_of)
        return known.known or known.read(self.values)

    def _found(self, cuts: KeptCuts) -> tuple[frozenset[int], tuple[int, ...], SketchKind]:
        """The fragments, how many rows each one has, and whether they are just those that are needed; rows are not counted twice."""
        if self.wanted.capture[self.leaf].safe.at_limit:
            return self._at_limit(cuts)
        how, carried = numbering(cuts.partition), self.finding.carried(self.leaf, cuts.partition)
        if carried is not None:
            return carried, cuts.rows or self._each(self.values.counted(how), cuts), self.finding.carried_kind(self.leaf)
        behind = self.finding.behind(self.leaf)
        kind: SketchKind = "accurate" if behind.guarantee == EXACT else "superset"
        keys = behind.keys()
        if not keys.num_rows:
            return frozenset(), cuts.rows or self._each(self.values.counted(how), cuts), kind
        inside, counted = self.values.behind(how, keys)
        return inside, self._each(counted, cuts), kind

    def _at_limit(self, cuts: KeptCuts) -> tuple[frozenset[int], tuple[int, ...], SketchKind]:
        finding, tied = self.finding, self.leaf in self.wanted.tied
        found = behind_limit(finding.run, self.spark, self.leaf, self.name, cuts.partition, tied=tied)
        finding.how[self.leaf] = "captured after the run, from the rows of the limit"
        return found.fragments, cuts.rows or self._each(self.values.counted(numbering(cuts.partition)), cuts), found.kind

    def _each(self, counted: Mapping[int, int], cuts: KeptCuts) -> tuple[int, ...]:
        return tuple(counted.get(number, 0) for number in range(cuts.partition.count))
