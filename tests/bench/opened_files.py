"""How often files are opened, by any process, as Linux tells it (inotify)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.threads import LOOKS

_EVERY = 0.02
"""Seconds between two looks: Linux keeps 16,384 events for who does not look, and a file that is read is two."""


class OpenedFiles:
    """Counts, until it ends: what is told is read all along, by a thread, since only so much of it is kept."""

    def __init__(self, events: Any) -> None:
        self._events, self._ended, self._count, self._lost = events, threading.Event(), 0, False
        self.seconds = 0.0
        """Of CPU that the thread took: they are this process's, and not the work's."""
        self._thread = threading.Thread(target=self._look, name=f"{LOOKS} files", daemon=True)
        self._thread.start()

    def count(self) -> int | None:
        """How often files were opened; None where more was told at once than is kept. It counts no longer."""
        self._ended.set()
        self._thread.join()
        self._read()
        return None if self._lost else self._count

    def _look(self) -> None:
        while not self._ended.wait(_EVERY):
            self._read()
            self.seconds = time.thread_time()

    def _read(self) -> None:
        from inotify_simple import flags

        for one in self._events.read(timeout=0):
            self._lost |= bool(one.mask & flags.Q_OVERFLOW)
            self._count += bool(one.mask & flags.OPEN and not one.mask & flags.ISDIR)


class Untold:
    """Where nobody tells it."""

    seconds = 0.0

    def count(self) -> None:
        """Of nothing."""


@contextmanager
def opened_files(folder: Path | None) -> Iterator[OpenedFiles | Untold]:
    """How often files of the folders below this one are opened.

    Folders that are made meanwhile do not count, nor do those of a database server: its files are its own business.
    """
    try:
        from inotify_simple import INotify, flags
    except ImportError:
        folder = None  # another system
    if folder is None:
        yield Untold()
        return
    with INotify() as events:
        for one in _folders(folder):
            # Two equal events that follow each other are told as one: closing a file stands between.
            events.add_watch(one, flags.OPEN | flags.CLOSE_NOWRITE | flags.CLOSE_WRITE)
        found = OpenedFiles(events)
        try:
            yield found
        finally:
            found.count()


def _folders(folder: Path) -> Iterator[str]:
    for where, below, files in os.walk(folder):
        if "PG_VERSION" in files:
            below.clear()
        else:
            yield where
