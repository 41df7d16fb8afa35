"""Dense row numbers, *rids*, from 0, for the rows of a row set: what arrays can be indexed by (Smoke, Sec. 3.1).

How rids are made of lineage keys, and keys of rids, is written down with the index. Two runs that read the same files number their rows
alike: a rid belongs to a version of a table, not to a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

from airflow_lineage_provider.plan.lineage_keys import PARTITION_BITS
from airflow_lineage_provider.tracing.key_index import KeyIndex

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers

SpaceKind = Literal["numbered", "in_files", "listed"]


class RidSpace(Protocol):
    """The rids of a row set: ``rows`` numbers from 0."""

    @property
    def rows(self) -> int: ...

    def rids(self, keys: pa.Table) -> Numbers:
        """The rids of rows with these keys (``key_0`` …), in their order; -1 where there is no such row."""
        ...

    def keys(self, rids: Numbers) -> pa.Table:
        """The keys of these rows, in their order."""
        ...


class _Counted:
    """Rows that stand one after another in parts, of each of which is known how many it has."""

    def __init__(self, parts: Sequence[tuple[int, int]]) -> None:
        self.parts = tuple(parts)

    @property
    def rows(self) -> int:
        return int(self._ends[-1]) if self.parts else 0

    @cached_property
    def _ends(self) -> Numbers:
        import numpy as np

        return np.cumsum([rows for _, rows in self.parts], dtype=np.int64)

    @cached_property
    def _names(self) -> Numbers:
        import numpy as np

        return np.array([name for name, _ in self.parts], np.int64)

    def _to(self, names: Numbers, places: Numbers) -> Numbers:
        import numpy as np

        if not self.parts:
            return np.full(len(names), -1, np.int64)
        order = np.argsort(self._names)
        at = order[np.minimum(np.searchsorted(self._names[order], names), len(order) - 1)]
        rows = np.array([rows for _, rows in self.parts], np.int64)
        there = (self._names[at] == names) & (places >= 0) & (places < rows[at])
        return np.where(there, self._ends[at] - rows[at] + places, -1)

    def _from(self, rids: Numbers) -> tuple[Numbers, Numbers]:
        import numpy as np

        at = np.searchsorted(self._ends, rids, side="right")
        rows = np.array([rows for _, rows in self.parts], np.int64)
        return self._names[at], rids - (self._ends[at] - rows[at])


class Numbered(_Counted):
    """Stored rows, and rows that the run kept: by partition, and place in it."""

    def rids(self, keys: pa.Table) -> Numbers:
        numbers = _column(keys, 0)
        return self._to(numbers >> PARTITION_BITS, numbers & ((1 << PARTITION_BITS) - 1))

    def keys(self, rids: Numbers) -> pa.Table:
        import pyarrow as pa

        partitions, places = self._from(rids)
        return pa.table({"key_0": (partitions << PARTITION_BITS) + places})


class InFiles(_Counted):
    """Rows of Parquet files: by the hash of the file's path, and the row's position in the file."""

    def rids(self, keys: pa.Table) -> Numbers:
        return self._to(_column(keys, 0), _column(keys, 1))

    def keys(self, rids: Numbers) -> pa.Table:
        import pyarrow as pa

        hashes, positions = self._from(rids)
        return pa.table({"key_0": hashes, "key_1": positions})


@dataclass(frozen=True, eq=False)
class Listed:
    """Rows that are told apart by other keys (a primary key, a digest): ``listed`` has those that lineage leads to, each once."""

    listed: pa.Table

    @property
    def rows(self) -> int:
        return int(self.listed.num_rows)

    @cached_property
    def _index(self) -> KeyIndex:
        return KeyIndex(self.listed)

    def rids(self, keys: pa.Table) -> Numbers:
        import numpy as np

        places = self._index.places(keys)
        found = np.full(keys.num_rows, -1, np.int64)
        found[places.asked] = places.row
        return found

    def keys(self, rids: Numbers) -> pa.Table:
        import pyarrow as pa

        return self.listed.take(pa.array(rids))


def in_order(keys: pa.Table) -> pa.Table:
    """The keys in the order of their columns, NULL and NaN last, so that the same keys have the same numbers in whatever order they were
    found; as they come where Arrow has no order for a type.

    >>> import pyarrow as pa
    >>> in_order(pa.table({"key_0": [2, None, 1], "key_1": ["a", "b", "c"]})).column(1).to_pylist()
    ['c', 'a', 'b']
    """
    import pyarrow as pa

    if any(pa.types.is_nested(column.type) or pa.types.is_interval(column.type) for column in keys.columns):
        return keys
    return keys.sort_by([(name, "ascending") for name in keys.column_names])


def counted(kind: SpaceKind, parts: Sequence[tuple[int, int]]) -> RidSpace:
    """The rids of rows that are counted by parts.

    >>> files = counted("in_files", [(-7, 2), (5, 3)])
    >>> import numpy as np, pyarrow as pa
    >>> files.rids(pa.table({"key_0": [5, -7, 5, 9], "key_1": [0, 1, 3, 0]})).tolist()
    [2, 1, -1, -1]
    >>> files.keys(np.array([4, 0])).to_pylist()
    [{'key_0': 5, 'key_1': 2}, {'key_0': -7, 'key_1': 0}]
    """
    return Numbered(parts) if kind == "numbered" else InFiles(parts)


def _column(keys: pa.Table, at: int) -> npt.NDArray[np.int64]:
    import numpy as np

    return np.asarray(keys.column(at).to_numpy(), np.int64)
