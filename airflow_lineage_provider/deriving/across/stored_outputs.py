"""Rows of files that are gone or were replaced, from the stored results of the runs that wrote them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from airflow_lineage_provider.deriving.across.file_numbers import FileNumbers, file_numbers
from airflow_lineage_provider.deriving.across.writers import MadeBy, file_uri, made_by
from airflow_lineage_provider.deriving.links import joined, same
from airflow_lineage_provider.deriving.stored_tables import StoredTables
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.recording import read as read_record

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.known_runs import KnownRuns
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
    from airflow_lineage_provider.recording import RecordedSource

UNKNOWN = -1
"""The number of a row in a result, where its place in a file does not tell it."""


class StoredOutputs:
    """`KeptRows` of the sources of one run."""

    def __init__(self, runs: KnownRuns, reader: str, spark: SparkOnDemand, seconds: float | None) -> None:
        self._runs = runs
        self._tables = StoredTables(runs.store, runs.session, spark, seconds)
        self._reader = reader
        self._numbered = cache(partial(file_numbers, runs))

    def read(self, source: RecordedSource, keys: pa.Table) -> pa.Table | None:
        """The rows that the runs behind a Parquet table stored: keys, then the table's columns."""
        import pyarrow as pa

        if source.identity.kind != "file_position" or not keys.num_rows:
            return None
        written = written_rows(source, keys, made_by(self._runs, source, self._reader), self._numbered)
        parts = [self._of_run(source, run_id, keys, places) for run_id, places in written.items()]
        found = [part for part in parts if part is not None]
        return pa.concat_tables(found) if found else None

    def _of_run(self, source: RecordedSource, run_id: str, keys: pa.Table, places: WrittenAt) -> pa.Table | None:
        import pyarrow as pa

        record = self._runs.run(run_id)
        if record.status != "complete":
            return None
        recorded = read_record(record)
        stored = self._runs.stored(run_id).get("result")
        columns = result_columns(recorded, source.source.columns) if stored is not None else None
        if stored is None or columns is None:
            return None
        known = places.number != UNKNOWN
        if not known.any():
            return None
        at, numbers = places.at[known], places.number[known]
        found = self._tables.rows(stored, [ROW, *dict.fromkeys(columns)], numbers)
        read, row = same(found.column(ROW).to_numpy(), numbers)
        found, keys = found.take(read), keys.take(at[row])
        types = [to_arrow(a.type) for a in source.source.output]
        try:
            values = [found.column(name).cast(kind) for name, kind in zip(columns, types, strict=True)]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        names = ["key_0", "key_1", *(f"c{i}" for i in range(len(columns)))]
        return pa.table([*(column.cast(pa.int64()) for column in keys.columns), *values], names=names)


class WrittenAt(NamedTuple):
    """Rows of a table that one run wrote: their places in it, and their numbers in the run's result, or `UNKNOWN`."""

    at: Numbers
    number: Numbers


def written_rows(source: RecordedSource, keys: pa.Table, made: MadeBy, numbered: Callable[[str], FileNumbers]) -> dict[str, WrittenAt]:
    """The runs that wrote rows of a Parquet table, told by their keys; the number in the result is what the file's position tells, as
    ``numbered`` says of each run.
    """
    import numpy as np

    paths = {int(number): file_uri(path) for number, path in source.files.items()}
    files, position = (keys.column(part).to_numpy() for part in (0, 1))
    parts: dict[str, list[tuple[Numbers, Numbers]]] = {}
    order = np.argsort(files, kind="stable")
    each, starts = np.unique(files[order], return_index=True)
    for file, at in zip(each.tolist(), np.split(order, starts[1:]), strict=False):  # of nothing there is one part, and no file
        run_id = made.files.get(paths.get(file, ""))
        if run_id is None:
            continue
        number = numbered(run_id).numbers(paths[file], position[at])
        parts.setdefault(run_id, []).append((at, np.full(len(at), UNKNOWN) if number is None else number))
    return {run_id: WrittenAt(joined([at for at, _ in some]), joined([number for _, number in some])) for run_id, some in parts.items()}


def columns_by_name(recorded: RecordedPlan) -> dict[str, Attribute]:
    """The result's columns by their names, and by their names without regard to case: as Spark finds them in files."""
    named = list(zip(recorded.plan.names, recorded.plan.output, strict=True))
    return {name.lower(): a for name, a in named} | dict(named)


def columns_as_read(recorded: RecordedPlan, source: Source) -> dict[str, Attribute]:
    """The result's columns by the names that a reader of what was written has for them: its own names, without regard to case.

    CSV files have no names that count: Spark gives a reader's names to their columns by place, whatever a header says.
    """
    by_name, relation = columns_by_name(recorded), source.relation
    found = {name: by_name.get(name) or by_name.get(name.lower()) for name in source.columns}
    if relation.format.lower() == "csv":
        options = {key.lower(): value for key, value in relation.options}
        # Partitions are folders, and what could not be read stands in a column of its own.
        elsewhere = {name.lower() for name in (*relation.partition_columns, options.get("columnnameofcorruptrecord", "_corrupt_record"))}
        read = [name for name in source.columns if name.lower() not in elsewhere]
        written = [a for name, a in zip(recorded.plan.names, recorded.plan.output, strict=True) if name.lower() not in elsewhere]
        found |= dict.fromkeys(read) | dict(zip(read, written, strict=False))
    return {name: a for name, a in found.items() if a is not None}


def result_columns(recorded: RecordedPlan, names: tuple[str, ...]) -> list[str] | None:
    """The stored columns behind columns of a run's result; None where one is not there."""
    stored, result = dict(recorded.materialized[0].columns), columns_by_name(recorded)
    found = [result.get(name) or result.get(name.lower()) for name in names]
    return None if None in found else [stored[a.id] for a in found if a is not None]
