"""What a derivation stands on, made once: the rows of the run's segments, and the maps between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving.at_hand import RowsAtHand
from airflow_lineage_provider.deriving.captured_parts import looked_up
from airflow_lineage_provider.deriving.descent import Descents
from airflow_lineage_provider.deriving.engines import Engines
from airflow_lineage_provider.deriving.narrowing import Narrowing
from airflow_lineage_provider.deriving.only_captured import NothingTraced, OnlyCaptured
from airflow_lineage_provider.deriving.own_sketches import own_selections
from airflow_lineage_provider.deriving.rows import RemadeRows, RowSource, StoredRows
from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
from airflow_lineage_provider.deriving.stale import harmed, worth_over
from airflow_lineage_provider.deriving.written_rows import WrittenRows
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.tracing.lazy import LazyLineage

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.looking_up import LookedUpLineage
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.plan.expressions import Expression
    from airflow_lineage_provider.plan.guarantees import Guarantee
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.tracing.maps import Rows, RunLineage
    from airflow_lineage_provider.tracing.trace import Executor


@dataclass(frozen=True, kw_only=True)
class Derivation:
    """A run that is asked about; ``spark``, where it is needed, reads the segments that were made again, too.

    ``executor`` runs tracing queries, whatever was captured (`captured`, if it answers here); ``read`` are the source leaves that Spark has
    read for them so far.
    """

    run: AskedRun
    rows: RowSource
    spark: SparkOnDemand
    lineage: RunLineage
    executor: Executor
    read: Set[int]
    captured: LookedUpLineage | None = None

    @property
    def recorded(self) -> RecordedPlan:
        """The run's plan, with the segments that were made again among the materialized ones."""
        return self.rows.recorded

    def worth_of(self, rows: Rows) -> Guarantee:
        """What rows that were traced are worth: less where Spark has read a source for them that differs from what the run read."""
        return worth_over(harmed([self.recorded.sources[leaf] for leaf in sorted(rows.leaves & self.read)], self.spark))


@contextmanager
def derivation(
    run: AskedRun,
    condition: Expression,
    *,
    lazy: bool = True,
    narrowing: Narrowing | None = None,
    sketched: bool = False,
    columns: Sequence[str] = (),
    written: bool = False,
) -> Iterator[Derivation]:
    """A derivation about rows of the result that meet a condition: what the run did not store is made again for them alone.

    Without ``lazy`` captured lineage answers, or nobody. With a ``narrowing`` it is asked about source rows that meet it, and others may be
    missing. ``sketched``: it is asked only what stands behind rows of the result, so that segments are made again over the run's own
    sketches. ``columns`` are what is going to be read of the result's rows that are looked for. ``written``: where lineage of the rows of
    an output was captured, since the run stored no result, the rows are those, and what the index does not say raises `TracedInstead`.

    :raises NotCaptured: nothing was captured, and it was to answer alone; what was captured in part says it when it is asked.
    :raises SparkRequired: something is to be made again, and there is no session.
    """
    captured = looked_up(run)
    if captured is not None:
        captured = (narrowing or Narrowing()).of(captured, run.recorded.zone)
    if not lazy and captured is None:
        OnlyCaptured(run).refuse()
    if written and captured is not None and captured.index.of_output and (output := WrittenRows.of(run, lazy=lazy)) is not None:
        yield _of_output(run, output, captured, NothingTraced() if lazy else OnlyCaptured(run))
        return
    with ExitStack() as stack:
        at_hand = RowsAtHand(tuple(columns))
        rows, spark = _rows(run, condition, sketched, at_hand, stack)
        engines = Engines(rows.recorded, run.stored, run.session, spark, run.query_seconds, at_hand)
        descents = Descents(run=run, rows=rows, spark=spark, whole=rows.recorded is run.recorded or condition == TRUE)
        refusing = None if lazy else OnlyCaptured(run)
        looked = captured if rows.recorded is run.recorded else None
        lineage = LazyLineage(
            run=rows.recorded.traced,
            executor=refusing or engines,
            follower=refusing or descents,
            captured=looked,
            subqueries=run.subqueries,
            difference=run.difference,
        )
        yield Derivation(run=run, rows=rows, spark=spark, lineage=lineage, executor=engines, read=engines.spark.read, captured=looked)


def _of_output(run: AskedRun, rows: WrittenRows, captured: LookedUpLineage, nobody: NothingTraced | OnlyCaptured) -> Derivation:
    """A derivation about rows of an output, by captured lineage alone."""
    lineage = LazyLineage(
        run=rows.recorded.traced, executor=nobody, follower=nobody, captured=captured, subqueries=run.subqueries
    )  # fmt: skip
    return Derivation(run=run, rows=rows, spark=run.on_demand, lineage=lineage, executor=nobody, read=frozenset(), captured=captured)


def _rows(run: AskedRun, condition: Expression, sketched: bool, at_hand: RowsAtHand, stack: ExitStack) -> tuple[RowSource, SparkOnDemand]:
    """The rows of the run's segments, and who reads them in Spark."""
    from airflow_lineage_provider.spark.rereading.restore import restore
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing
    from airflow_lineage_provider.spark.selected import without_dictionaries

    stored = StoredRows(run, at_hand)
    if not run.recorded.missing:
        return stored, run.on_demand
    strategy = run.record.strategy
    text = f"the run was made under strategy {strategy}: a derivation makes again what it did not store, which needs a Spark session"
    spark = run.on_demand.needed(SparkRequired(text)).spark
    through = own_selections(run, spark.version) if sketched else {}
    for leaf, (column, _) in through.items():
        run.progress(f"reading {run.recorded.sources[leaf].source.relation.name} through the run's own sketch of {column}")
    if through:
        stack.enter_context(without_dictionaries(spark))
    run.progress("computing segments again that were not stored")
    run.session.rest()
    restored = restore(spark, run.store, run.recorded, run.stored, run.udfs, condition, stack, through)
    tracing = SparkTracing(spark, run.store, restored.recorded, run.stored, restored.tables, through)
    return RemadeRows(restored, stored), SparkOnDemand(tracing)
