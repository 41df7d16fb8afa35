"""Files as a run read them, and as they are: by path, each with its size and time of change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.records.versions import FilesVersion
from airflow_lineage_provider.sources.file_uris import local_path

if TYPE_CHECKING:
    from airflow_lineage_provider.records.versions import FileStatus, SourceVersion
    from airflow_lineage_provider.sources.view_values import Version

_SHOWN = 5


def files_read(version: SourceVersion) -> dict[Path, FileStatus]:
    """The files that a run read of a source; none where they are not known one by one."""
    files = version.files or {} if isinstance(version, FilesVersion) else {}
    return {Path(local_path(uri) or uri).resolve(): (size, changed) for uri, (size, changed) in files.items()}


def files_now(versions: Iterable[Version]) -> dict[Path, FileStatus]:
    """The same of files as they were when they were looked at."""
    return {Path(path).resolve(): (size, changed // 1_000_000) for path, size, changed in versions}


def differing(read: Mapping[Path, FileStatus], now: Mapping[Path, FileStatus]) -> str:
    """The first files that are not the same in both, for a message."""
    return shown(path for path in sorted({*read, *now}) if read.get(path) != now.get(path))


def shown(paths: Iterable[Path]) -> str:
    """The first of some files, for a message."""
    return ", ".join([str(path) for path in paths][:_SHOWN])
