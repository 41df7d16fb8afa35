"""Tables that were read from files, kept in memory for a while: a question reads the same rows several times, and people the same page."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 128 * 2**20


class KeptTables:
    """The tables that were asked for last, up to a number of bytes; larger ones are not kept. For any number of threads."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._tables: OrderedDict[Hashable, pa.Table] = OrderedDict()
        self._reading: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def table(self, key: Hashable, read: Callable[[], pa.Table]) -> pa.Table:
        """The table that ``read`` gives, or gave for this key: the key says all that it depends on. Threads that ask for the same wait for
        the first of them, and read it themselves where that one fails.
        """
        with self._lock:
            found = self._found(key)
            if found is not None:
                return found
            reading = self._reading.setdefault(key, Lock())
        with reading:
            with self._lock:
                found = self._found(key)
            return self._read(key, read) if found is None else found

    def _found(self, key: Hashable) -> pa.Table | None:
        found = self._tables.get(key)
        if found is not None:
            self._tables.move_to_end(key)
        return found

    def _read(self, key: Hashable, read: Callable[[], pa.Table]) -> pa.Table:
        try:
            made = read()
            with self._lock:
                self._tables[key] = made
                while sum(one.nbytes for one in self._tables.values()) > self._most_bytes:
                    self._tables.popitem(last=False)
            return made
        finally:
            with self._lock:
                self._reading.pop(key, None)

    def clear(self) -> None:
        """Forget all; a forked child begins so, since a thread that it does not have may hold the lock."""
        self._lock = Lock()
        self._reading = {}
        self._tables = OrderedDict()


KEPT = KeptTables(MOST_BYTES)
os.register_at_fork(after_in_child=KEPT.clear)
