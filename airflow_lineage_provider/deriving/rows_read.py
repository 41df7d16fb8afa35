"""The rows of a source table's own files, as a run read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import InvalidOption, SourceUnavailable, SparkRequired
from airflow_lineage_provider.records.versions import FilesVersion
from airflow_lineage_provider.running.files_as_read import differing, files_now, files_read, shown
from airflow_lineage_provider.sources.file_uris import local_path

if TYPE_CHECKING:
    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.sources.view_values import ParquetRows


def rows_read(table: str, group: Sequence[RecordedSource]) -> ParquetRows:
    """The rows of the Parquet files on this machine that a run read as a table.

    :raises SparkRequired: it is none of such files, they are not known one by one, or the run may have read other rows; says which.
    :raises SourceUnavailable: a file is gone, or is another now.
    """
    from airflow_lineage_provider.sources.view_values import ParquetRows

    source, read = group[0], files_read(group[0].version)
    if because := _not_read_here(source):
        raise SparkRequired(f"the rows of {table} are not read here: {because}")
    try:
        if gone := shown(path for path in read if not path.is_file()):
            raise SourceUnavailable(f"{table}: {gone}: gone since the run read it")
        rows = ParquetRows.at(sorted(read))
    except InvalidOption as problem:
        raise SparkRequired(f"the rows of {table} are not read here: {problem}") from problem
    except OSError as problem:  # a folder that this process may not look into, say
        raise SourceUnavailable(f"{table}: its files cannot be read: {problem}") from problem
    if other := differing(read, files_now(rows.versions)):
        raise SourceUnavailable(f"{table}: {other}: not as the run read it")
    return rows


def _not_read_here(source: RecordedSource) -> str:
    version = source.version
    if not isinstance(version, FilesVersion):
        return "the run read them from no files"
    if not version.files:
        return "the run read too many files to know each of them"
    if any(local_path(uri) is None for uri in version.files):
        return "their files are not on this machine"
    if version.kept_rows is not None:
        return "the session that read them had kept rows, which may be others"
    return "the run read some of the rows of its files alone" if source.rows_of is not None else ""
