"""What a run is to capture, checked before anything is computed: the tables, and the expressions over their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.consumed_rows import aggregated
from airflow_lineage_provider.errors import InvalidCapture, InvalidOption, UnsupportedOperator
from airflow_lineage_provider.recording import empty_rows, tables_of, wanted_tables
from airflow_lineage_provider.sources.row_expressions import row_values
from airflow_lineage_provider.sql.measures import kept_parts, measures_of
from airflow_lineage_provider.tracing.witnesses import check_has_witnesses

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.wanted import Capture, CaptureTable
    from airflow_lineage_provider.recording import RecordedPlan


def checked_tables(recorded: RecordedPlan, wanted: Capture) -> Mapping[int, CaptureTable] | None:
    """The source leaves whose lineage is to be captured, and what of each; None: all of all.

    :raises InvalidCapture: a table is not read, an expression cannot be computed for each of its rows, or witnesses are wanted of rows that
        have none.
    :raises EnvironmentProblem: there are expressions, and DuckDB is not installed.
    """
    if wanted.witnesses:
        _check_witnesses(recorded)
    tables = wanted_tables(recorded, wanted)
    for leaf, one in (tables or {}).items():
        _check(recorded.sources[leaf].source.relation.name, one, empty_rows(recorded.sources[leaf]), recorded.zone)
    for name, group in tables_of(recorded).items():
        if len(group) > 1 and tables is not None and group[0].source.leaf in tables and tables[group[0].source.leaf].cube:
            raise InvalidCapture(
                f"capture: cube of {name}: the pipeline reads it at {len(group)} places, and what is behind a row by one of them may be "
                "there by another, too: such rows are not aggregated beforehand; partition_by works"
            )
    return tables


def _check_witnesses(recorded: RecordedPlan) -> None:
    for number in sorted(recorded.plan.traceable):
        try:
            check_has_witnesses(recorded.plan.segments[number])
        except UnsupportedOperator as problem:
            raise InvalidCapture(f"capture: {problem}; capture it without witnesses") from problem


def _check(table: str, wanted: CaptureTable, rows: pa.Table, zone: str) -> None:
    import pyarrow as pa

    for option, one in _expressions(wanted):
        with _told(f"capture: {option} of {table}"):
            values = row_values([one], rows, zone).column(0)
        told = f"capture: {option} of {table}: {one!r} is of type {values.type}"
        if option == "where" and not pa.types.is_boolean(values.type):
            raise InvalidCapture(f"{told}, which is no condition; write one that is true or false")
        if option in ("partition_by", "granularity", "cube: by") and pa.types.is_nested(values.type):
            raise InvalidCapture(f"{told}, of which there are no classes; cast it to a text, say")
    for cube in wanted.cube:
        with _told(f"capture: cube: measures of {table}"):
            aggregated((), list(dict.fromkeys(cube.measures)), rows, zone)
            # What is kept of an average are sums and counts, and there are averages of dates, of which there are no sums.
            parts = dict.fromkeys(f"{one.function}({one.argument})" for one in kept_parts(measures_of(cube.measures)))
            aggregated((), [f"{part} AS part_{at}" for at, part in enumerate(parts)], rows, zone)


def _expressions(wanted: CaptureTable) -> Iterator[tuple[str, str]]:
    """All expressions over single rows, with what each is for."""
    if wanted.where:
        yield "where", wanted.where
    yield from (("partition_by", one) for one in wanted.partition_by)
    yield from (("granularity", one) for one in wanted.granularity or ())
    for cube in wanted.cube:
        yield from (("cube: by", one) for one in cube.by)
        yield from (("cube: measures", one.argument) for one in measures_of(cube.measures) if one.argument != "*")


@contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except InvalidOption as problem:
        raise InvalidCapture(f"{what}: {problem}") from problem
