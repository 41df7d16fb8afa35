"""The parts of captured lineage that questions of this process have needed, as long as there is room for them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.encodings.written import from_bytes
from airflow_lineage_provider.capture.looking_up import LookedUpLineage
from airflow_lineage_provider.store.captured import parts

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun

_MOST_BYTES = 256 << 20
_Key = tuple[str, int, int]


class KeptParts:
    """The parts that were used last, up to so many bytes. Their keys have the id of an index, which no other has: none is ever stale."""

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self.most = most
        self._kept: OrderedDict[_Key, pa.Array] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: _Key) -> pa.Array | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, key: _Key, array: pa.Array) -> None:
        with self._lock:
            if array.nbytes > self.most or key in self._kept:
                return
            self._kept[key] = array
            self._bytes += array.nbytes
            while self._bytes > self.most:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes


_parts = KeptParts()


def looked_up(run: AskedRun) -> LookedUpLineage | None:
    """The captured lineage of a run; None where none was, or the rows of subqueries were something else to it than to the question.

    What it is asked raises `IndexReplaced` where the run's lineage was captured anew since its record was read (`Asking.lasting`).
    """
    index = run.record.captured
    if index is None or index.problem or not index.is_of(run.subqueries, run.recorded.plan):
        return None

    def fetch(number: int, wanted: Sequence[int]) -> Mapping[int, pa.Array]:
        found = {part: array for part in wanted if (array := _parts.get((index.id, number, part))) is not None}
        missing = [part for part in wanted if part not in found]
        for part, content in (parts(run.session, run.record.id, index.id, number, missing) if missing else {}).items():
            found[part] = from_bytes(content)
            _parts.keep((index.id, number, part), found[part])
        return found

    return LookedUpLineage(index, fetch)
