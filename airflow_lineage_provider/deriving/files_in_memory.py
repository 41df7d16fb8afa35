"""Rows of a run's sources of CSV, JSON or ORC files, read in this process from the files that the run read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.recording import RecordedSource
from airflow_lineage_provider.records.versions import FilesVersion
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.whole_files import rows_of_files
from airflow_lineage_provider.tracing.key_index import KeyIndex

if TYPE_CHECKING:
    import pyarrow as pa


_FORMATS = frozenset({"csv", "json", "orc"})


def are_read_here(recorded: RecordedSource) -> bool:
    """Whether a source is one of such files whose rows have a lineage key that stands in the rows."""
    return recorded.source.relation.format in _FORMATS and recorded.identity.kind in ("row_digest", "primary_key")


def all_rows(recorded: RecordedSource, settings: Mapping[str, str]) -> pa.Table:
    """The source's rows with their lineage keys, from the files that are named in the run's record, as they are now.

    ``settings`` are those of the run's session.

    :raises CannotReadHere: it is not certain that this is what Spark reads, or the record names no files.
    """
    version = recorded.version
    if not isinstance(version, FilesVersion) or version.files is None:
        raise CannotReadHere(f"the run's record does not name the files of {recorded.source.relation.name}")
    return rows_of_files(recorded.source, recorded.identity, version.files, settings)


def rows_at(recorded: RecordedSource, keys: pa.Table, settings: Mapping[str, str]) -> pa.Table:
    """Those of `all_rows` with the given keys: ``key_0`` …, then the source's columns as ``c0`` …"""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows, names, width = all_rows(recorded, settings), [column.name for column in recorded.identity.columns], len(recorded.source.columns)
    # Nearly all rows are told apart by the last column of the key alone, which is found fast.
    wanted = keys.column(keys.num_columns - 1).cast(rows.schema.field(names[-1]).type).combine_chunks()
    near = rows.filter(pc.is_in(rows.column(names[-1]), value_set=wanted))
    found = near.filter(pa.array(KeyIndex(keys).has(near.select(names))))
    columns = [found.column(name) for name in (*names, *recorded.source.columns)]
    return pa.table(columns, names=[*(f"key_{i}" for i in range(len(names))), *(f"c{i}" for i in range(width))])
