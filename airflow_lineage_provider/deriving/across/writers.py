"""Which recorded runs wrote a table in the very version that another run read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from airflow_lineage_provider.running.output import file_version
from airflow_lineage_provider.spark.local_files import files_version
from airflow_lineage_provider.store.fingerprint import version_text

if TYPE_CHECKING:
    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.store import Store, WrittenPlace


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


def made_by(store: Store, source: RecordedSource, reader: str) -> MadeBy:
    """The runs behind a source table of the run ``reader``; no runs where none is known to have written the version that was read."""
    match source.version.get("kind"):
        case "files":
            return _of_files(store, source, reader)
        case "rows" if "checksum" in source.version:
            return _of_rows(store, source, reader)
    return NOBODY


def _of_files(store: Store, source: RecordedSource, reader: str) -> MadeBy:
    read = source.version.get("files")
    known = store.written(read if read is not None else [file_uri(path) for path in source.files.values()])
    earlier = [one for one in known if one.run_id < reader]
    if read is None:
        return _of_digest(source, earlier)
    versions = {uri: file_version(*status) for uri, status in read.items()}
    same = [one for one in earlier if versions[one.place] == one.version]
    return _made(same, len(read))


def _of_digest(source: RecordedSource, earlier: list[WrittenPlace]) -> MadeBy:
    """A listing too long to be kept: it is told by its digest, which what the runs wrote must give."""
    newest: dict[str, WrittenPlace] = {}
    for one in earlier:
        newest.setdefault(one.place, one)
    sizes = {one.place: tuple(map(int, one.version.split(":"))) for one in newest.values()}
    files = {uri: (status[0], status[1]) for uri, status in sizes.items()}
    same = files_version(files).get("digest") == source.version["digest"]
    return _made(list(newest.values()), len(files)) if same else NOBODY


def _made(places: list[WrittenPlace], read: int) -> MadeBy:
    files: dict[str, str] = {}
    runs: dict[str, WrittenPlace] = {}
    for one in places:
        if one.place not in files:
            files[one.place] = one.run_id
            runs.setdefault(one.run_id, one)
    return MadeBy(runs=runs, files=files, complete=len(files) == read)


def _of_rows(store: Store, source: RecordedSource, reader: str) -> MadeBy:
    """A table that runs append to is what the last one made of the version before it."""
    runs: dict[str, WrittenPlace] = {}
    replaced: set[str] = set()
    written, before = store.written([source.version["place"]]), reader
    version: str | None = version_text(source.version["count"], source.version["checksum"])
    while version is not None and not version.startswith("0:"):
        made = next((one for one in written if one.version == version and one.run_id < before), None)
        if made is None or made.status != "complete":
            return MadeBy(runs=runs | ({made.run_id: made} if made and made.run_id not in replaced else {}), files={}, complete=False)
        if made.run_id not in replaced:  # its rows were there, and are not any more
            runs[made.run_id] = made
        said = store.run(made.run_id).output["version"]
        replaced |= set(said.get("instead_of", ()))
        before, version = made.run_id, said["before"]
    return MadeBy(runs=runs, files={}, complete=bool(runs))


def file_uri(path: str) -> str:
    """A file's path as ``_metadata.file_path`` has it (escaped), as listings have it."""
    return unquote(path) if ":" in path else path
