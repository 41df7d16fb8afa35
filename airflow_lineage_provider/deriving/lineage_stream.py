"""The source rows behind rows of a result as a stream: the result's rows are asked about part by part (`deriving.part_sizes`).

One row of the result cannot be divided: what stands behind it is one part, whose source rows are read some at a time where they are many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.lineage_stream import LineageStream, Parts
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import check_size, chosen_target, linked, row_set_of, source_reader
from airflow_lineage_provider.deriving.part_sizes import BYTES, PartSize, give_back
from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan.guarantees import weakest
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.recording import empty_rows, named_table, tables_of
from airflow_lineage_provider.tracing.maps import RESULT, Rows, numbered_rows
from airflow_lineage_provider.tracing.reserved import TAG

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.deriving.sources import SourceRows
    from airflow_lineage_provider.recording import RecordedPlan, RecordedSource


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
        numbers, first, size = chosen.numbers(made.rows), 0, PartSize()
        while first < len(numbers):
            some = numbers[first : first + size.rows]
            run.progress(f"reading what stands behind {first:,} to {first + len(some):,} of {len(numbers):,} rows")
            behind = _behind(made, group, some)
            if len(some) > 1 and behind.each_once().num_rows > size.most_sources:
                size.halve(len(some))
                continue
            for batch in _Reading(made, group[0], behind, first, size).batches(batch_rows):
                run.session.rest()
                yield batch
            first += len(some)
            give_back()


def _named(recorded: RecordedPlan, table: str) -> tuple[str, Sequence[RecordedSource]]:
    tables = tables_of(recorded)
    name = named_table(table, tables)
    return name, tables[name]


def _behind(made: Derivation, group: Sequence[RecordedSource], numbers: Numbers) -> Rows:
    """What stands behind some of the rows; what was found for the ones before is forgotten."""
    asked = replace(made, lineage=made.lineage.anew())
    return asked.lineage.between(RESULT, row_set_of(group)).backward(numbered_rows(RESULT, numbers))


@dataclass(frozen=True)
class _Reading:
    """The source rows of a part, whose first row is so many after the first one that is asked about; ``size`` learns how large they are."""

    made: Derivation
    source: RecordedSource
    behind: Rows
    first: int
    size: PartSize

    def batches(self, batch_rows: int) -> Parts:
        wanted = self.behind.each_once()
        check_size({self.source.source.relation.name: wanted}, self.made.run.most_sources)
        reader, size = source_reader(self.made), 0
        for keys, tagged in _some_at_a_time(wanted, self.behind.keys, self.size.at_once):
            found = reader.read(self.source, keys)
            worth = weakest(found.guarantee, self.behind.guarantee, self.made.worth_of(self.behind))
            if worth.level == "unavailable":
                raise SourceUnavailable(worth.cause)
            size += found.table.nbytes
            yield from ((batch, worth) for batch in self._linked(tagged, found, batch_rows))
        self.size.learn(self.behind.keys.num_rows, wanted.num_rows, size)

    def _linked(self, tagged: pa.Table, found: SourceRows, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """A row for each link, in the order of what is asked about."""
        import pyarrow as pa

        tags, places = linked(tagged, found)
        order, schema = tags.argsort(kind="stable"), _schema(self.source)
        rows = min(batch_rows, max(1, BYTES * max(found.table.num_rows, 1) // max(found.table.nbytes, 1)))
        for start in range(0, len(order), rows):
            at = order[start : start + rows]
            columns = [pa.array(tags[at] + self.first), *found.table.take(pa.array(places[at])).columns]
            yield pa.table(columns, schema=schema).combine_chunks().to_batches()[0]


def _some_at_a_time(wanted: pa.Table, tagged: pa.Table, at_once: int) -> Iterator[tuple[pa.Table, pa.Table]]:
    """The keys, and the keys with their tags. Those of one row of the result that are too many to be read at once come some at a time, in
    their order, so that a file is read through once.
    """
    import numpy as np

    if wanted.num_rows <= at_once:
        yield wanted, tagged
        return
    ordered = wanted.sort_by([(name, "ascending") for name in wanted.column_names])
    for first in range(0, ordered.num_rows, at_once):
        some = ordered.slice(first, at_once)
        yield some, some.add_column(0, TAG, [np.zeros(some.num_rows, np.int64)])


def _schema(source: RecordedSource) -> pa.Schema:
    """``asked``, or a name that the table does not have, and the table's columns."""
    import pyarrow as pa

    fields = list(empty_rows(source).schema)
    return pa.schema([pa.field(free_name("asked", [one.name for one in fields]), pa.int64()), *fields])
