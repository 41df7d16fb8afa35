"""Rows of files that are gone or were replaced, from the stored results of the runs that wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.deriving.across.writers import MadeBy, file_uri, made_by
from airflow_lineage_provider.deriving.stored_tables import PARTITION_BITS, StoredTables
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.recording import read as read_record
from airflow_lineage_provider.spark.executing.outputs import partition_of

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.known_runs import KnownRuns
    from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
    from airflow_lineage_provider.recording import RecordedSource


class StoredOutputs:
    """`KeptRows` of the sources of one run."""

    def __init__(self, runs: KnownRuns, reader: str, spark: SparkOnDemand) -> None:
        self._runs = runs
        self._tables = StoredTables(runs.store, runs.session, spark)
        self._reader = reader

    def read(self, source: RecordedSource, keys: pa.Table) -> pa.Table | None:
        """The rows that the runs behind a Parquet table stored: keys, then the table's columns."""
        import pyarrow as pa

        if source.identity.kind != "file_position" or not keys.num_rows:
            return None
        wanted: dict[str, dict[int, tuple[int, int]]] = {}
        for key, made in zip(_pairs(keys), written_rows(source, keys, made_by(self._runs, source, self._reader)), strict=True):
            if made is not None and made[1] is not None:
                wanted.setdefault(made[0], {})[made[1]] = key
        parts = [part for run_id, rows in wanted.items() if (part := self._of_run(source, run_id, rows)) is not None]
        return pa.concat_tables(parts) if parts else None

    def _of_run(self, source: RecordedSource, run_id: str, rows: dict[int, tuple[int, int]]) -> pa.Table | None:
        import pyarrow as pa

        record = self._runs.run(run_id)
        if record.status != "complete":
            return None
        recorded = read_record(record)
        stored = self._runs.stored(run_id).get("result")
        columns = result_columns(recorded, source.source.columns) if stored is not None else None
        if stored is None or columns is None:
            return None
        found = self._tables.rows(stored, [ROW, *dict.fromkeys(columns)], list(rows))
        keys = [rows[number] for number in found.column(ROW).to_pylist()]
        types = [to_arrow(a.type) for a in source.source.output]
        try:
            values = [found.column(name).cast(kind) for name, kind in zip(columns, types, strict=True)]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        names = ["key_0", "key_1", *(f"c{i}" for i in range(len(columns)))]
        return pa.table([pa.array([k for k, _ in keys], pa.int64()), pa.array([k for _, k in keys], pa.int64()), *values], names=names)


def written_rows(source: RecordedSource, keys: pa.Table, made: MadeBy) -> list[tuple[str, int | None] | None]:
    """For each key of a Parquet table the run that wrote the row, and the row's number in its result where the file's position tells it."""
    owners = {int(number): (path, made.files.get(path)) for number, path in _uris(source).items()}
    found: list[tuple[str, int | None] | None] = []
    for file, position in _pairs(keys):
        uri, run_id = owners.get(file, ("", None))
        partition = partition_of(uri)
        number = None if partition is None else (partition << PARTITION_BITS) + position
        found.append(None if run_id is None else (run_id, number))
    return found


def _uris(source: RecordedSource) -> dict[str, str]:
    return {number: file_uri(path) for number, path in source.files.items()}


def _pairs(keys: pa.Table) -> list[tuple[Any, Any]]:
    return list(zip(keys.column(0).to_pylist(), keys.column(1).to_pylist(), strict=True))


def columns_by_name(recorded: RecordedPlan) -> dict[str, Attribute]:
    """The result's columns by their names, and by their names without regard to case: as Spark finds them in files."""
    named = list(zip(recorded.plan.names, recorded.plan.output, strict=True))
    return {name.casefold(): a for name, a in named} | dict(named)


def result_columns(recorded: RecordedPlan, names: tuple[str, ...]) -> list[str] | None:
    """The stored columns behind columns of a run's result; None where one is not there."""
    stored, result = dict(recorded.materialized[0].columns), columns_by_name(recorded)
    found = [result.get(name) or result.get(name.casefold()) for name in names]
    return None if None in found else [stored[a.id] for a in found if a is not None]
