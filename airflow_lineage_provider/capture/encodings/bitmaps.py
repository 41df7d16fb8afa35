"""Edges as compressed bitmaps: roaring, in the portable format (https://roaringbitmap.org)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_lineage_provider.capture.csr import Edges
from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.extras import require
from airflow_lineage_provider.tracing.numbers import different, in_order, in_order_of_both

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Csr, Numbers
    from airflow_lineage_provider.capture.shape import Shape

_LARGE = 64
"""Of smaller sets a bitmap's header is as large as their numbers."""


class RoaringBitmaps:
    """A bitmap of the rows behind each. Needs the extra ``capture``: without it no index is written, nor read, like this."""

    name: ClassVar[str] = "roaring bitmaps"
    because: ClassVar[str] = "many rows stand behind one, in no order"
    plain: ClassVar[bool] = False
    shares: ClassVar[bool] = False

    def holds(self, edges: Csr, others: int) -> bool:
        return others <= 1 << 32

    def promises(self, shape: Shape) -> bool:
        if shape.size < _LARGE:
            return False
        try:
            import pyroaring  # noqa: F401  # whether it is there
        except ImportError:
            return False
        return True

    def encode(self, edges: Csr, others: int) -> pa.Array:
        import pyarrow as pa

        roaring, rids, ends = _library(), edges.rids.astype("uint32"), edges.indptr.tolist()
        written = []
        for start, stop in pairwise(ends):
            bitmap = roaring.BitMap(rids[start:stop].data)
            bitmap.run_optimize()
            written.append(bitmap.serialize())
        return pa.array(written, pa.large_binary())

    def of(self, array: pa.Array, asked: Numbers, others: int) -> Edges:
        import numpy as np

        found = [np.asarray(_read(one).to_array(), np.int64) for one in array.take(asked).to_pylist()]
        places = np.repeat(np.arange(len(asked)), [len(one) for one in found])
        return Edges(places, np.concatenate([np.empty(0, np.int64), *found]))

    def having(self, array: pa.Array, wanted: Numbers, others: int) -> Edges:
        import numpy as np

        roaring = _library()
        order = in_order(wanted)
        ascending = wanted[order]
        sought = roaring.BitMap(different(ascending[(ascending >= 0) & (ascending < others)]).astype("uint32").data)
        places, rows = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for row, one in enumerate(array.to_pylist()):
            met = np.asarray((_read(one) & sought).to_array(), np.int64)
            if len(met):
                place = order[np.isin(ascending, met)]
                places.append(place)
                rows.append(np.full(len(place), row))
        place, row_of = np.concatenate(places), np.concatenate(rows)
        by_place = in_order_of_both(place, row_of)
        return Edges(place[by_place], row_of[by_place])


def _library() -> Any:
    return require("pyroaring", "capture", "captured lineage that is written as roaring bitmaps")


def _read(written: bytes) -> Any:
    try:
        return _library().BitMap.deserialize(written)
    except ValueError as problem:
        raise RecordDamaged(f"a bitmap of captured lineage cannot be read: {problem}") from problem
