"""A folder on this machine with parts of captured lineage that were fetched from index files, uncompressed, to be mapped into memory.

A file is an array as one batch of Arrow's stream format, and a trailer: a magic text, the length and the CRC-32 of what is before it. It
is written under another name and moved into its place, so that nobody sees half of one; of what is no such file, or is damaged, there is
none, and it is fetched again. Any process of the user's may remove any file at any time: a map keeps what it has.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import struct
import tempfile
import time
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider import settings
from airflow_lineage_provider.capture.encodings.written import from_bytes, to_map
from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.store.home_files import make_home

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

_MAGIC = b"ALPC"
_TRAILER = struct.Struct("<4sQI")
_LOOKED = 60.0
"""Seconds: so often the folder is looked through for what is too much, or when an eighth of what there may be was written."""
_TOUCHED = 3600.0
"""Seconds: that a file is used is written down so often, at most."""

_ID = re.compile(r"[0-9a-f]{32}")

PartKey = tuple[str, int, int]
"""The id of an index of a run, the number of a map in it, and that of a part: what they name is never written anew."""


@dataclass
class PartCache:
    """Parts below a folder, which take so many bytes at ``most``, about; those that were used last. Nothing that goes wrong is an error."""

    folder: Path
    most: int
    _looked: float = float("-inf")
    _written: int = 0
    _is_told: bool = False

    @staticmethod
    def of_settings() -> PartCache | None:
        """That of the settings; None where there is to be none."""
        most = settings.cache_bytes()
        return _made(settings.cache_folder() / "parts", most) if most else None

    def get(self, key: PartKey) -> pa.Array | None:
        """A part whose values stand in a map of its file, which cannot be written; None where there is none."""
        import pyarrow as pa

        path = self._path(key)
        if path is None:
            return None
        try:
            with pa.memory_map(str(path)) as file:
                whole = file.read_buffer()
            body = _body(whole)
            array = None if body is None else from_bytes(body)
            if array is not None:
                self._touch(path)
                return array
        except FileNotFoundError:
            return None
        except (OSError, pa.ArrowException, RecordDamaged) as problem:
            log.debug("%s cannot be used: %s", path, problem)
        log.info("%s is not what was written, and is fetched again", path)
        with contextlib.suppress(OSError):
            path.unlink()
        return None

    def put(self, key: PartKey, array: pa.Array) -> pa.Array:
        """Keep a part; it as `get` gives it from now on, or as it is, where it cannot be kept."""
        path = self._path(key)
        if path is None:
            return array
        try:
            make_home(self.folder.parent)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(path, array)
        except OSError as problem:
            self._tell(problem)
            return array
        self._make_room()
        mapped = self.get(key)
        return array if mapped is None else mapped

    def _path(self, key: PartKey) -> Path | None:
        """Where a part stands; None of an index whose id is none: it may be any path."""
        index, number, part = key
        return self.folder / index / f"{number}-{part}" if _ID.fullmatch(index) else None

    def _write(self, path: Path, array: pa.Array) -> None:
        body = to_map(array)
        descriptor, name = tempfile.mkstemp(prefix=".", dir=path.parent)
        try:
            with open(descriptor, "wb") as file:
                file.write(body)
                file.write(_TRAILER.pack(_MAGIC, len(body), zlib.crc32(body)))
            os.replace(name, path)
            self._written += len(body)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise

    def _touch(self, path: Path) -> None:
        """Write down that a part is used: by the times of its file the others go first."""
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _TOUCHED:
                os.utime(path)

    def _tell(self, problem: OSError) -> None:
        """Once: it is the same for every part."""
        if not self._is_told:
            log.warning("parts of captured lineage are not kept in %s: %s", self.folder, problem)
        self._is_told = True

    def _make_room(self) -> None:
        """Where there is too much, remove what was used the longest ago."""
        if time.monotonic() - self._looked < _LOOKED and self._written < self.most // 8:
            return
        self._looked, self._written = time.monotonic(), 0
        found = sorted(_files(self.folder))
        total = sum(size for _, size, _ in found)
        for _, size, path in found:
            if total <= self.most:
                break
            total -= size
            with contextlib.suppress(OSError):
                path.unlink()
                path.parent.rmdir()  # (with the last in it)


@lru_cache(maxsize=4)
def _made(folder: Path, most: int) -> PartCache:
    """One for all questions of this process."""
    return PartCache(folder, most)


def _body(whole: pa.Buffer) -> pa.Buffer | None:
    """What stands before the trailer; None where it is not what was written."""
    end = whole.size - _TRAILER.size
    if end < 0:
        return None
    magic, length, crc = _TRAILER.unpack(whole.slice(end).to_pybytes())
    body = whole.slice(0, end)
    return body if (magic, length, crc) == (_MAGIC, end, zlib.crc32(body)) else None


def _files(folder: Path) -> list[tuple[float, int, Path]]:
    """All files two levels down: when each was used, its bytes, and where it is."""
    found = []
    for path in folder.glob("*/*"):
        with contextlib.suppress(OSError):
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    return found
