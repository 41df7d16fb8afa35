"""How often files are opened, by any process, as Linux tells it (inotify)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def opened_files(folder: Path | None) -> Iterator[Callable[[], int | None]]:
    """How often files of the folders below this one were opened since then; None where nobody tells it.

    Folders that are made meanwhile do not count, nor do those of a database server: its files are its own business.
    """
    try:
        from inotify_simple import INotify, flags
    except ImportError:
        folder = None  # another system
    if folder is None:
        yield lambda: None
        return
    with INotify() as events:
        for one in _folders(folder):
            # Two equal events that follow each other are told as one: closing a file stands between.
            events.add_watch(one, flags.OPEN | flags.CLOSE_NOWRITE | flags.CLOSE_WRITE)

        def count() -> int | None:
            found = events.read(timeout=0)
            lost = any(one.mask & flags.Q_OVERFLOW for one in found)
            return None if lost else sum(1 for one in found if one.mask & flags.OPEN and not one.mask & flags.ISDIR)

        yield count


def _folders(folder: Path) -> Iterator[str]:
    for where, below, files in os.walk(folder):
        if "PG_VERSION" in files:
            below.clear()
        else:
            yield where
