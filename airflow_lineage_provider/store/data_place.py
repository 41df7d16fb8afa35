"""Where stored rows stand that are too many for a database: a folder of any file system that Spark reaches."""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.shown import shown

IN_STORE = "store"
"""The place that is none: all rows are in PostgreSQL."""
_PATTERNS = frozenset("*?[]{}\\")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


@dataclass(frozen=True)
class DataPlace:
    """A folder, a path or a URI as Spark takes it, and from how many rows, or from how many bytes, on a table's rows go there rather than
    into PostgreSQL, and from how many bytes on captured lineage."""

    folder: str
    rows: int
    bytes: int
    index_bytes: int

    def takes(self, rows: int, size: int) -> bool:
        """Whether a table of so many rows, which are about so many bytes, goes there."""
        return rows >= self.rows or size >= self.bytes

    @staticmethod
    def of(given: str | None) -> DataPlace | None:
        """The place that was given, else that of the settings; None where there is none, or where it is the store itself (`IN_STORE`).

        :raises InvalidOption: it is no absolute path and no URI. :raises InvalidSetting: the number of rows, or of bytes, is none.
        """
        folder = settings.data() if given is None else given
        if folder is None or folder == IN_STORE:
            return None
        if not isinstance(folder, str) or not (folder.startswith("/") or _SCHEME.match(folder)) or not folder.strip("/ "):
            raise InvalidOption(
                f"data={shown(folder)}: stored rows go to a folder that driver, executors and those who ask reach, as an absolute path or "
                "as a URI of a file system of Spark's (/shared/lineage, s3a://bucket/lineage, hdfs://host/lineage), or all into the store: "
                f"{IN_STORE}"
            )
        if not _PATTERNS.isdisjoint(folder):
            raise InvalidOption(f"data={shown(folder)}: Spark takes a path with one of {' '.join(sorted(_PATTERNS))} for a pattern")
        return DataPlace(folder.rstrip("/"), settings.data_rows(), settings.data_bytes(), settings.index_bytes())
