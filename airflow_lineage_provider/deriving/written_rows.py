"""Rows of a result that the run did not store, read from the files that it wrote: for questions that captured lineage answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving.inverted import found_here, keys_asked
from airflow_lineage_provider.deriving.output_files import OutputFiles, output_files
from airflow_lineage_provider.deriving.sources import SourceReader
from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
from airflow_lineage_provider.deriving.why_not.question import Asked
from airflow_lineage_provider.errors import EmptyTarget, SourceUnavailable, SparkRequired
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.recording import with_missing

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.plan.expressions import Expression
    from airflow_lineage_provider.plan.lineage_keys import AnyNumbers
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing


@dataclass(frozen=True)
class WrittenRows:
    """Rows of the result, and of nothing else (`RowSource`). ``run`` has the files among its sources, and ``recorded`` the segments among
    the materialized ones that were made again to be captured: their rows are numbers of the index alone."""

    run: AskedRun
    output: OutputFiles
    recorded: RecordedPlan

    @staticmethod
    def of(run: AskedRun, *, lazy: bool) -> WrittenRows | None:
        """Where the files are what the run wrote; None where they are not, and what is asked can be traced.

        :raises SourceUnavailable: they are not, and without ``lazy`` nothing is traced.
        :raises SparkRequired: only Spark can tell, and there is no session.
        """
        files = output_files(run.record, run.recorded)
        try:
            run.session.rest()
            try:
                files.check_unchanged(run.record.id, run.on_demand.session)
            except SparkRequired as needed:
                files.check_unchanged(run.record.id, run.on_demand.needed(needed).spark)
        except SourceUnavailable:
            if lazy:
                return None
            raise
        read = replace(run.recorded, sources={**run.recorded.sources, files.source.source.leaf: files.source})

        def reading(one: SparkTracing | None) -> SparkTracing | None:
            return None if one is None else type(one)(one.spark, run.store, read, run.stored)

        spark = SparkOnDemand(reading(run.on_demand.now), lambda why: reading(run.on_demand.needed(SparkRequired(why))))
        return WrittenRows(replace(run, recorded=read, on_demand=spark), files, with_missing(run.recorded))

    @property
    def numbered_by_run(self) -> bool:
        return True

    def read(self, segment: int, columns: Sequence[str], numbers: AnyNumbers) -> pa.Table:
        """As `RowSource.read`.

        :raises SourceUnavailable: a row is not there any more.
        """
        import pyarrow as pa

        assert segment == 0, "of other segments there are no rows"
        source, run = self.output.source, self.run
        reader = SourceReader(run.tables, run.stored, dict(run.recorded.plan.conf), run.on_demand)
        wanted = self.output.keys(numbers)
        found = reader.read(source, wanted)
        if found.guarantee.level != "exact" or found.table.num_rows != wanted.num_rows:
            raise SourceUnavailable(f"rows of {source.source.relation.name} cannot be read: {found.guarantee.cause or 'some are gone'}")
        own = self.output.numbers(found.keys.keys)
        ids = {name: id_ for id_, name in self.recorded.materialized[0].columns}
        by_id = {a.id: found.table.column(at) for at, a in enumerate(source.source.output)}
        read = [pa.chunked_array([own]) if name == ROW else by_id[ids[name]] for name in columns]
        return pa.table(read, names=[*map(str, range(len(read)))]).take(pa.array(own.argsort())).rename_columns([*columns])

    def matching(self, condition: Expression, limit: int) -> Numbers:
        """As `RowSource.matching`, of fewer than ``limit`` rows.

        :raises TargetTooLarge: so many meet the condition.
        """
        import numpy as np

        name = self.output.source.source.relation.name
        asked = Asked(table=name, leaves=(self.output.source,), text=expression_text(condition), condition=condition)
        try:
            # (So many are refused there, as they are where it is asked for one more than there may be.)
            found = found_here(self.run, asked, limit - 1) or keys_asked(self.run, asked, limit - 1)
        except EmptyTarget:
            return np.empty(0, np.int64)
        return np.sort(self.output.numbers(found.keys))
