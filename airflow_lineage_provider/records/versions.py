"""The version of what a run read, so that a later change shows, and of what it wrote, so that its readers are known by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal as OneOf

FileStatus = tuple[int, int]
"""Size in bytes, and modification time in milliseconds."""


@dataclass(frozen=True, kw_only=True)
class _Read:
    """``kept_rows``: the session kept rows of the source (a cache), which may be others than those that were read."""

    kept_rows: OneOf["doubtful"] | None = None


@dataclass(frozen=True, kw_only=True)
class FilesVersion(_Read):
    """Files: their number and bytes, and each file's status or, where there are too many to be kept, one ``digest`` of them all.

    ``complete``: the roots held these files only, so that another one is a new one. ``partitions``: of a catalog's table whose partitions
    are not in the folders that say their values, a digest of which is where; None of any other, and in records of earlier releases.
    """

    kind: OneOf["files"] = "files"
    count: int
    bytes: int
    complete: bool = True
    files: Mapping[str, FileStatus] | None = None
    digest: str | None = None
    partitions: str | None = None


@dataclass(frozen=True, kw_only=True)
class RowsVersion(_Read):
    """Rows of a database's table, which the database counts; ``place`` and ``checksum`` where the table may be a run's output."""

    kind: OneOf["rows"] = "rows"
    count: int
    place: str | None = None
    checksum: str | None = None


@dataclass(frozen=True, kw_only=True)
class SnapshotVersion(_Read):
    """A table of a format that numbers its own versions; None where this one does not.

    ``table``: the table itself, apart from its name (Spark's ``Table.id``). Some formats number the versions of each table from 0, so a
    table that was dropped and made anew comes to the same numbers with other rows. None where the format does not tell.
    """

    kind: OneOf["snapshot"] = "snapshot"
    snapshot: str | None = None
    table: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether an equal version is sure to be of the same rows."""
        return self.snapshot is not None and self.table is not None


@dataclass(frozen=True, kw_only=True)
class NoVersion(_Read):
    """Nothing that could be compared: ranges, and data of the session."""

    kind: OneOf["none"] = "none"


SourceVersion = FilesVersion | RowsVersion | SnapshotVersion | NoVersion


@dataclass(frozen=True, kw_only=True)
class WrittenRows:
    """A table of PostgreSQL by its place, and its versions (`store.fingerprint.version_text`) after the run and, of an append, before.

    ``instead_of``: the runs whose rows the append has replaced.
    """

    kind: OneOf["rows"] = "rows"
    place: str
    version: str
    before: str | None = None
    instead_of: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class UnknownVersion:
    """What was written cannot be told from what others wrote; ``cause`` says why. Its readers are not traced through it."""

    kind: OneOf["none"] = "none"
    cause: str = ""


OutputVersion = FilesVersion | WrittenRows | UnknownVersion
