"""What the rows of a captured result are numbered by: the rows that the run stores, or those of the files that it writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.wanted import CaptureTable
from airflow_lineage_provider.errors import InvalidCapture
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.walk import all_operators
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.running.run import Request

NUMBERED_OUTPUT = (
    "an index has numbers of the result's rows, which are those of the rows that the run stores, or, where it stores none, of Parquet "
    "files that it writes them to; write it to output='/some/path', or take function_materialization, full_materialization or auto"
)


def check_numbered(request: Request, recorded: RecordedPlan) -> None:
    """See that the lineage which a run is to capture can be: its result is stored, or it is written to Parquet files, and no function is
    called once more where it is made again for that.

    :raises InvalidCapture: it is not; says what would work.
    """
    if request.capture is None or 0 in recorded.materialized:
        return
    told, output = f"capture={shown(request.capture)} under strategy {request.strategy!r}", request.output
    if not isinstance(output, Output) or (output.kind, output.format) != ("path", "parquet"):
        raise InvalidCapture(f"{told} needs a result whose rows can be numbered: {NUMBERED_OUTPUT}")
    check_whole(told, request.capture.each.values())
    if called := sorted(set(_called(recorded))):
        raise InvalidCapture(
            f"{told} makes the result again to find what stands behind its rows, and would call {', '.join(called)} once more: capture it "
            "later (Run.capture), which may, or take function_materialization, full_materialization or auto"
        )


def check_whole(told: str, tables: Iterable[CaptureTable]) -> None:
    """:raises InvalidCapture: of a table some rows are to be captured, or rows by values, where the result is in files alone."""
    if any(one != CaptureTable() and not one.is_off for one in tables):
        raise InvalidCapture(
            f"{told}: of a result that the run does not store whole tables are captured, tables=[…]; for where, partition_by, cube or "
            "granularity take function_materialization, full_materialization or auto"
        )


def _called(recorded: RecordedPlan) -> Iterator[str]:
    """The functions that are called where segments are made again that the run does not store."""
    for segment in recorded.plan.segments:
        if segment.number not in recorded.materialized:
            yield from (one.udf for one in segment.functions)
            yield from (node.udf for node in all_operators(segment.plan) if isinstance(node, o.PythonMap))
