"""Places as Hadoop writes them: which of them are on this machine."""

from __future__ import annotations

import re
from pathlib import Path


def local_path(uri: str) -> Path | None:
    """The path of a ``file:/…`` or ``file:///…`` URI, in which nothing is escaped; None for other file systems."""
    return Path("/" + uri.removeprefix("file:").lstrip("/")) if uri.startswith("file:") else None


def escaped(uri: str) -> str:
    """A place in which nothing is escaped as Spark's ``_metadata.file_path`` has it: as ``java.net.URI`` writes a path.

    >>> escaped("file:/tmp/a b/k=%/\u00e4.parquet")
    'file:/tmp/a%20b/k=%25/\u00e4.parquet'
    """
    return _QUOTED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), uri)


_QUOTED = re.compile(r"[^\w\-!.~'()*,;:$&+=@/\x80-\U0010ffff]|[\x80-\x9f]|\s")
