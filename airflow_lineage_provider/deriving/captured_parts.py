"""The parts of captured lineage that questions of this process have needed, as long as there is room for them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.encodings.written import from_bytes
from airflow_lineage_provider.capture.looking_up import LookedUpLineage
from airflow_lineage_provider.deriving.index_files import contents
from airflow_lineage_provider.deriving.part_cache import PartCache, PartKey
from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.store.captured import PartInFile, parts

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.recorded import RecordedIndex
    from airflow_lineage_provider.deriving.asked_run import AskedRun

_MOST_BYTES = 256 << 20
_OF_A_MAP = 1 << 14
"""Bytes that a part that is mapped counts for: a process may have some 65,000 maps."""


class KeptParts:
    """The parts that were used last, up to so many bytes. Their keys have the id of an index, which no other has: none is ever stale."""

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self.most = most
        self._kept: OrderedDict[PartKey, tuple[pa.Array, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: PartKey) -> pa.Array | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def keep(self, key: PartKey, array: pa.Array, *, is_mapped: bool = False) -> None:
        """Keep a part; one that is mapped takes little: the memory is the file's."""
        size = _OF_A_MAP if is_mapped else array.nbytes
        with self._lock:
            if size > self.most or key in self._kept:
                return
            self._kept[key] = array, size
            self._bytes += size
            while self._bytes > self.most:
                self._bytes -= self._kept.popitem(last=False)[1][1]


_parts = KeptParts()


def looked_up(run: AskedRun) -> LookedUpLineage | None:
    """The captured lineage of a run; None where none was, or the rows of subqueries were something else to it than to the question, or it
    does not know of right sides of differences what is asked.

    What it is asked raises `IndexReplaced` where the run's lineage was captured anew since its record was read (`Asking.lasting`).
    """
    index = run.record.captured
    if index is None or index.problem or not index.is_of(run.subqueries, run.difference, run.recorded.plan):
        return None

    def fetch(number: int, wanted: Sequence[int]) -> Mapping[int, pa.Array]:
        found = {part: array for part in wanted if (array := _parts.get((index.id, number, part))) is not None}
        found |= _on_disk(index, number, [part for part in wanted if part not in found])
        missing = [part for part in wanted if part not in found]
        return found | (_fetched(run, index, number, missing) if missing else {})

    return LookedUpLineage(index, fetch)


def _on_disk(index: RecordedIndex, number: int, wanted: Sequence[int]) -> dict[int, pa.Array]:
    """The parts that this host has of an index in a file."""
    cache = PartCache.of_settings() if index.in_files and wanted else None
    found = {part: array for part in wanted if cache is not None and (array := cache.get((index.id, number, part))) is not None}
    for part, array in found.items():
        _parts.keep((index.id, number, part), array, is_mapped=True)
    return found


def _fetched(run: AskedRun, index: RecordedIndex, number: int, wanted: Sequence[int]) -> dict[int, pa.Array]:
    """Parts out of the store, or of the file that it tells of: these are kept on disk, and mapped."""
    kept, cache = parts(run.session, run.record.id, index.id, number, wanted), PartCache.of_settings() if index.in_files else None
    placed = {part: one for part, one in kept.items() if isinstance(one, PartInFile)}
    read = _read(run, index, number, placed) if placed else {}
    found = {}
    for part, one in kept.items():
        key, array = (index.id, number, part), from_bytes(one if isinstance(one, bytes) else read[part])
        found[part] = cache.put(key, array) if cache is not None and part in placed else array
        _parts.keep(key, found[part], is_mapped=found[part] is not array)
    return found


def _read(run: AskedRun, index: RecordedIndex, number: int, placed: Mapping[int, PartInFile]) -> Mapping[int, bytes]:
    try:
        return contents(run, number, placed)
    except RecordDamaged:
        # It was removed if the lineage was captured anew since the store was asked: then that is what is said.
        parts(run.session, run.record.id, index.id, number, [*placed])
        raise
