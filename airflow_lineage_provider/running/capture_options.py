"""What a run is to capture, checked before anything is computed: the tables, and the expressions over their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import InvalidCapture, InvalidOption
from airflow_lineage_provider.recording import empty_rows, wanted_tables
from airflow_lineage_provider.sources.row_expressions import row_values

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.wanted import Capture, CaptureTable
    from airflow_lineage_provider.recording import RecordedPlan


def checked_tables(recorded: RecordedPlan, wanted: Capture) -> Mapping[int, CaptureTable] | None:
    """The source leaves whose lineage is to be captured, and what of each; None: all of all.

    :raises InvalidCapture: a table is not read, or an expression cannot be computed for each of its rows.
    :raises EnvironmentProblem: there are expressions, and DuckDB is not installed.
    """
    tables = wanted_tables(recorded, wanted)
    for leaf, one in (tables or {}).items():
        _check(recorded.sources[leaf].source.relation.name, one, empty_rows(recorded.sources[leaf]))
    return tables


def _check(table: str, wanted: CaptureTable, rows: pa.Table) -> None:
    import pyarrow as pa

    for option, expressions in {"where": [wanted.where] if wanted.where else [], "partition_by": wanted.partition_by}.items():
        for one in expressions:
            try:
                values = row_values([one], rows).column(0)
            except InvalidOption as problem:
                raise InvalidCapture(f"capture: {option} of {table}: {problem}") from problem
            told = f"capture: {option} of {table}: {one!r} is of type {values.type}"
            if option == "where" and not pa.types.is_boolean(values.type):
                raise InvalidCapture(f"{told}, which is no condition; write one that is true or false")
            if option == "partition_by" and pa.types.is_nested(values.type):
                raise InvalidCapture(f"{told}, of which there are no classes; cast it to a text, say")
