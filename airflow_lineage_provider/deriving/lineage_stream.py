"""The source rows behind rows of a result as a stream: the result's rows are asked about part by part.

How many rows a part has follows from how many source rows stood behind the last one, so that the links of a part fit the memory of any
driver. One row of the result cannot be divided: what stands behind it is one part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.answers.lineage_stream import LineageStream, Parts
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import check_size, chosen_target, linked, row_set_of, source_reader
from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan.guarantees import weakest
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.recording import empty_rows, named_table, tables_of
from airflow_lineage_provider.tracing.maps import RESULT, Rows, numbered_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.recording import RecordedPlan, RecordedSource

_FIRST_PART = 64
_LARGEST_PART = 10_000
_LINKS = 1_000_000
"""About so many links a part is to have."""
_GROWTH = 8


def stream_behind(recorded: RecordedPlan, asked: str, table: str, parts: Parts) -> LineageStream:
    """The stream of what `parts_behind` gives."""
    name, group = _named(recorded, table)
    return LineageStream(asked=asked, table=name, schema=_schema(group[0]), parts=parts)


def parts_behind(run: AskedRun, target: Any, table: str, *, at: Any, limit: int, batch_rows: int) -> Parts:
    """Batches of at most ``batch_rows`` rows, each with what it is worth; between two of them nothing of the store is held.

    :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored: the rows, or the table, cannot be meant so.
    :raises AnswerTooLarge: more source rows stand behind one row than one answer may have.
    :raises SourceUnavailable: rows are no longer there as they were read. :raises SparkRequired: there is no session.
    """
    _, group = _named(run.recorded, table)
    chosen = chosen_target(run, target, at, limit)
    with derivation(run, chosen.condition()) as made:
        run.progress("finding the target rows")
        numbers, first, size = chosen.numbers(made.rows), 0, _FIRST_PART
        while first < len(numbers):
            run.progress(f"reading what stands behind {first:,} to {min(first + size, len(numbers)):,} of {len(numbers):,} rows")
            behind = _behind(made, group, numbers[first : first + size])
            if size > 1 and behind.each_once().num_rows > settings.source_limit():
                size //= 2
                continue
            for batch in _batches(made, group[0], behind, first, batch_rows):
                run.session.rest()
                yield batch
            first += size
            size = _next_size(size, behind.keys.num_rows)


def _named(recorded: RecordedPlan, table: str) -> tuple[str, Sequence[RecordedSource]]:
    tables = tables_of(recorded)
    name = named_table(table, tables)
    return name, tables[name]


def _behind(made: Derivation, group: Sequence[RecordedSource], numbers: Sequence[int]) -> Rows:
    """What stands behind some of the rows; what was found for the ones before is forgotten."""
    asked = replace(made, lineage=made.lineage.anew())
    return asked.lineage.between(RESULT, row_set_of(group)).backward(numbered_rows(RESULT, numbers))


def _next_size(size: int, links: int) -> int:
    wanted = size * _LINKS // max(links, 1)
    return max(1, min(wanted, size * _GROWTH, _LARGEST_PART))


def _batches(made: Derivation, source: RecordedSource, behind: Rows, first: int, batch_rows: int) -> Parts:
    import pyarrow as pa

    wanted = behind.each_once()
    check_size({source.source.relation.name: wanted}, made.run.most_sources)
    found = source_reader(made).read(source, wanted)
    worth = weakest(found.guarantee, behind.guarantee, made.worth_of(behind))
    if worth.level == "unavailable":
        raise SourceUnavailable(worth.cause)
    tags, places = linked(behind.keys, found)
    order = tags.argsort(kind="stable")
    schema = _schema(source)
    for start in range(0, len(order), batch_rows):
        at = order[start : start + batch_rows]
        columns = [pa.array(tags[at] + first), *found.table.take(pa.array(places[at])).columns]
        yield pa.table(columns, schema=schema).combine_chunks().to_batches()[0], worth


def _schema(source: RecordedSource) -> pa.Schema:
    """``asked``, or a name that the table does not have, and the table's columns."""
    import pyarrow as pa

    fields = list(empty_rows(source).schema)
    return pa.schema([pa.field(free_name("asked", [one.name for one in fields]), pa.int64()), *fields])
