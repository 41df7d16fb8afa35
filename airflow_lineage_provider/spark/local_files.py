"""Files on this machine: which a directory's table consists of, and whether they are what they were. No PySpark, no JVM."""

from __future__ import annotations

import fnmatch
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from airflow_lineage_provider.records.versions import FileStatus, FilesVersion
from airflow_lineage_provider.sources.file_uris import local_path

# More files than this are told by a digest: a version is stored with every run.
LISTED_FILES = 1000
_SHOWN = 5

Files = Mapping[str, FileStatus]


def is_local(uris: Sequence[str]) -> bool:
    """Whether all of these are on this machine."""
    return bool(uris) and all(local_path(uri) is not None for uri in uris)


def list_local(roots: Sequence[str], *, nested: bool, pattern: str | None = None) -> dict[str, tuple[int, int]]:
    """The data files under roots: URI to size in bytes and modification time in milliseconds.

    As Spark does, hidden files (``_SUCCESS``, ``.part.crc``) are left out, and directories inside a root are read only
    when the table is partitioned (``nested``).
    """
    found: dict[str, tuple[int, int]] = {}
    for root in map(local_path, roots):
        assert root is not None
        for path in _files(root, nested, pattern):
            status = path.stat()
            found[f"file:{path}"] = (status.st_size, status.st_mtime_ns // 1_000_000)
    return found


def _files(root: Path, nested: bool, pattern: str | None) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in sorted(folders) if nested and not hidden(name)]
        for name in sorted(names):
            if not hidden(name) and (pattern is None or fnmatch.fnmatchcase(name, pattern)):
                yield Path(folder) / name


def hidden(name: str) -> bool:
    """Whether Spark leaves out a file or directory of this name."""
    if name.startswith(("_metadata", "_common_metadata")):
        return False
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def files_version(files: Files, *, complete: bool = True) -> FilesVersion:
    """What to keep of a listing: the files themselves, or their number, size and digest when there are too many.

    ``complete`` says whether the roots hold these files only, so that another one is a new one.
    """
    version = FilesVersion(count=len(files), bytes=sum(size for size, _ in files.values()), complete=complete)
    if len(files) <= LISTED_FILES or not complete:
        return replace(version, files=dict(sorted(files.items())))
    return replace(version, digest=files_digest(files))


def file_differences(version: FilesVersion, now: Files) -> tuple[str, ...]:
    """How the files differ from a recorded version, for people; empty when they do not."""
    then = version.files
    if then is None:
        return _digest_differences(version, now)
    gone = [f"{uri} is gone" for uri in then if uri not in now]
    new = [f"{uri} is new" for uri in now if uri not in then] if version.complete else []
    changed = [_change(uri, then[uri], now[uri]) for uri in then if uri in now and then[uri] != now[uri]]
    return _shortened([*gone, *changed, *new])


def _digest_differences(version: FilesVersion, now: Files) -> tuple[str, ...]:
    if version.digest == files_digest(now):
        return ()
    size = sum(size for size, _ in now.values())
    if (len(now), size) == (version.count, version.bytes):
        return (f"some of the {len(now):,} files were written again",)
    return (f"{len(now):,} files with {size:,} bytes; there were {version.count:,} with {version.bytes:,}",)


def _change(uri: str, then: tuple[int, int], now: tuple[int, int]) -> str:
    return f"{uri} has {now[0]:,} bytes; it had {then[0]:,}" if then[0] != now[0] else f"{uri} was written again"


def _shortened(differences: list[str]) -> tuple[str, ...]:
    if len(differences) <= _SHOWN:
        return tuple(differences)
    return (*differences[:_SHOWN], f"and {len(differences) - _SHOWN:,} more")


def files_digest(files: Files) -> str:
    """One text for files with their sizes and times, which is another one where any of these is."""
    lines = "".join(f"{uri}\t{size}\t{modified}\n" for uri, (size, modified) in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
