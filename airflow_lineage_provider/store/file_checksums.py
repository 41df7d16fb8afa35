"""Checksums of files with stored rows: of what a run wrote, and whether it is that still.

Neither Parquet nor a file system tells of every bit that is another: DuckDB reads a damaged page as other values, and the footer, by which
row groups are left out, has no checksum at all.
"""

from __future__ import annotations

import os
import zlib
from collections import OrderedDict
from pathlib import Path
from threading import Lock

_CHUNK = 2**20
_MOST = 20_000
"""Files of which it is known that they were looked through: some 300 bytes each."""


def checksum(path: Path) -> int:
    """The CRC-32 of a file's content: of 2 GB a second.

    :raises OSError: it cannot be read.
    """
    found = 0
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            found = zlib.crc32(chunk, found)
    return found


class Seen:
    """Checksums of files that this process has looked through, by what a file system tells of a file that is replaced or written to.

    For any number of threads: two may look through the same.
    """

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[str, int, int, int], int] = OrderedDict()
        self._lock = Lock()

    def checksum(self, path: Path, now: os.stat_result) -> int:
        """As `checksum`, once for each state of a file.

        :raises OSError: it cannot be read.
        """
        state = (str(path), now.st_ino, now.st_size, now.st_mtime_ns)
        with self._lock:
            known = self._found.get(state)
        if known is not None:
            return known
        found = checksum(path)
        with self._lock:
            self._found[state] = found
            while len(self._found) > _MOST:
                self._found.popitem(last=False)
        return found

    def forget(self) -> None:
        """A forked child begins so, since a thread that it does not have may hold the lock."""
        self._found, self._lock = OrderedDict(), Lock()


SEEN = Seen()
os.register_at_fork(after_in_child=SEEN.forget)
