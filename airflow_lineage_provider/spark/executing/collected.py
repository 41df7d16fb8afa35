"""What a run has collected of its lineage beside its rows, while Spark keeps both (`tracing.collecting`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.spark.arrow_border import to_arrow
from airflow_lineage_provider.spark.executing.lost_executors import lost_executors
from airflow_lineage_provider.spark.frames import columns_named
from airflow_lineage_provider.tracing.collected import Collected, CollectedLost

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.spark.executing.run import Execution
    from airflow_lineage_provider.tracing.program import Program


def collected(execution: Execution, programs: Sequence[Program]) -> Collected | None:
    """What the rows of a run's programs carry, read when it is asked for, until the run is closed; None where they carry nothing."""
    carried = {one.segment.number: one.carried for one in programs if one.carried is not None}
    carried |= {groups.segment: groups.carried for one in programs for groups in one.groups}

    def fetch(segment: int) -> pa.Table:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            found = to_arrow(columns_named(execution.collected[segment], [ROW, *carried[segment].columns]))
        except (Py4JError, PySparkException, KeyError) as problem:
            raise CollectedLost(f"what was collected could not be read: {first_line(problem)}") from problem
        if lost_executors(execution.spark) - execution.lost_before:
            # Rows that are made again, also while they are read, are numbered anew.
            raise CollectedLost("an executor was lost, and with it what it had collected")
        return found

    return Collected(carried, fetch) if carried else None
