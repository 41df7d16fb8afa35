"""Which recorded runs wrote a table in the very version that another run read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.records.versions import FilesVersion, RowsVersion, WrittenRows
from airflow_lineage_provider.running.output import file_version
from airflow_lineage_provider.spark.local_files import files_version
from airflow_lineage_provider.store.fingerprint import version_text

if TYPE_CHECKING:
    from airflow_lineage_provider.deriving.known_runs import KnownRuns
    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.records.run import RecordedInput
    from airflow_lineage_provider.store import WrittenPlace


@dataclass(frozen=True, kw_only=True)
class MadeBy:
    """The runs that wrote what was read, the newest first.

    ``files`` says which run wrote which file, where the table consists of files. ``complete``: nothing that was read is written by
    anybody else. A run that began after its reader is never among them: versions go back in time, so that a walk through them ends.
    """

    runs: Mapping[str, WrittenPlace]
    files: Mapping[str, str]
    complete: bool


NOBODY = MadeBy(runs={}, files={}, complete=False)


def made_by(known: KnownRuns, source: RecordedSource | RecordedInput, reader: str) -> MadeBy:
    """The runs behind a source table of the run ``reader``; no runs where none is known to have written the version that was read."""
    match source.version:
        case FilesVersion() as version:
            return _of_files(known, source, version, reader)
        case RowsVersion(count=count, place=str(place), checksum=str(checksum)):
            return _of_rows(known, place, version_text(count, checksum), reader)
    return NOBODY


def _of_files(known: KnownRuns, source: RecordedSource | RecordedInput, version: FilesVersion, reader: str) -> MadeBy:
    read = version.files
    written = known.written(read if read is not None else [file_uri(path) for path in source.files.values()])
    earlier = [one for one in written if one.run_id < reader]
    if read is None:
        return _of_digest(version, earlier)
    versions = {uri: file_version(*status) for uri, status in read.items()}
    same = [one for one in earlier if versions[one.place] == one.version]
    return _made(same, len(read))


def _of_digest(version: FilesVersion, earlier: list[WrittenPlace]) -> MadeBy:
    """A listing too long to be kept: it is told by its digest, which what the runs wrote must give."""
    newest: dict[str, WrittenPlace] = {}
    for one in earlier:
        newest.setdefault(one.place, one)
    sizes = {one.place: tuple(map(int, one.version.split(":"))) for one in newest.values()}
    files = {uri: (status[0], status[1]) for uri, status in sizes.items()}
    same = files_version(files).digest == version.digest
    return _made(list(newest.values()), len(files)) if same else NOBODY


def _made(places: list[WrittenPlace], read: int) -> MadeBy:
    files: dict[str, str] = {}
    runs: dict[str, WrittenPlace] = {}
    for one in places:
        if one.place not in files:
            files[one.place] = one.run_id
            runs.setdefault(one.run_id, one)
    return MadeBy(runs=runs, files=files, complete=len(files) == read)


def _of_rows(known: KnownRuns, place: str, read: str, reader: str) -> MadeBy:
    """A table that runs append to is what the last one made of the version before it."""
    runs: dict[str, WrittenPlace] = {}
    replaced: set[str] = set()
    written, before = known.written([place]), reader
    version: str | None = read
    while version is not None and not version.startswith("0:"):
        made = next((one for one in written if one.version == version and one.run_id < before), None)
        if made is None or made.status != "complete":
            return MadeBy(runs=runs | ({made.run_id: made} if made and made.run_id not in replaced else {}), files={}, complete=False)
        if made.run_id not in replaced:  # its rows were there, and are not any more
            runs[made.run_id] = made
        output = known.run(made.run_id).output
        said = output.version if output is not None else None
        if not isinstance(said, WrittenRows):
            raise RecordDamaged(f"the record of run {made.run_id} does not say which rows of {place} it wrote, which the store says it did")
        replaced |= set(said.instead_of)
        before, version = made.run_id, said.before
    return MadeBy(runs=runs, files={}, complete=bool(runs))


def file_uri(path: str) -> str:
    """A file's path as ``_metadata.file_path`` has it (escaped), as listings have it."""
    return unquote(path) if ":" in path else path
