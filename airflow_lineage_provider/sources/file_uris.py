"""Places as Hadoop writes them: which of them are on this machine."""

from __future__ import annotations

from pathlib import Path


def local_path(uri: str) -> Path | None:
    """The path of a ``file:/…`` or ``file:///…`` URI, in which nothing is escaped; None for other file systems."""
    return Path("/" + uri.removeprefix("file:").lstrip("/")) if uri.startswith("file:") else None
