"""What was read from files, or made of them, kept in memory for a while: a question reads the same rows several times, and people the same
page."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from airflow_lineage_provider.sources.time_limits import NO_LIMIT, TimeLimit

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 128 * 2**20


class _Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=_Sized)


class Kept(Generic[T]):
    """What was asked for last, up to a number of bytes; what is larger is not kept. For any number of threads."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def found(self, key: Hashable, make: Callable[[], T], within: TimeLimit = NO_LIMIT) -> T:
        """What ``make`` gives, or gave for this key: the key says all that it depends on. Threads that ask for the same wait for the first
        of them, ``within`` their own time, and make it themselves where that one fails.

        :raises QueryTooSlow: the time is over before the first of them has made it.
        """
        with self._lock:
            found = self._found(key)
            if found is not None:
                return found
            making = self._making.setdefault(key, Lock())
        while not making.acquire(timeout=-1 if (left := within.left()) is None else left):
            pass  # the time is over, which `left` says, or its clock is not the lock's
        try:
            with self._lock:
                found = self._found(key)
            return self._made(key, make) if found is None else found
        finally:
            making.release()

    def there(self, key: Hashable) -> T | None:
        """What is kept for this key; None: nothing is."""
        with self._lock:
            return self._found(key)

    def _found(self, key: Hashable) -> T | None:
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def _made(self, key: Hashable, make: Callable[[], T]) -> T:
        try:
            made = make()
            with self._lock:
                if made.nbytes > self.most_bytes:  # it would push all others out, and go itself
                    return made
                self._kept[key] = made
                while sum(one.nbytes for one in self._kept.values()) > self.most_bytes:
                    self._kept.popitem(last=False)
            return made
        finally:
            with self._lock:
                self._making.pop(key, None)

    def clear(self) -> None:
        """Forget all; a forked child begins so, since a thread that it does not have may hold the lock."""
        self._lock = Lock()
        self._making = {}
        self._kept = OrderedDict()


KEPT: Kept[pa.Table] = Kept(MOST_BYTES)
os.register_at_fork(after_in_child=KEPT.clear)
