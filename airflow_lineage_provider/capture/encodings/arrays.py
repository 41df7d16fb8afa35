"""Edges as plain arrays: of numbers, of differences of numbers, of ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from airflow_lineage_provider.capture.csr import Csr, Edges
from airflow_lineage_provider.capture.encodings.encoding import AsArrays, lists, number_type, numbers, offsets

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers


class RidArray(AsArrays):
    """At most one row behind each."""

    name: ClassVar[str] = "rid array"
    because: ClassVar[str] = "at most one row stands behind each"

    def holds(self, edges: Csr, others: int) -> bool:
        return not edges.rows or int(edges.degrees.max()) <= 1

    def encode(self, edges: Csr, others: int) -> pa.Array:
        import numpy as np
        import pyarrow as pa

        there = edges.degrees > 0
        rids = np.zeros(edges.rows, number_type(others))
        rids[there] = edges.rids
        return pa.array(rids, mask=~there)

    def of(self, array: pa.Array, asked: Numbers, others: int) -> Edges:
        import numpy as np
        import pyarrow as pa

        found = array.take(pa.array(asked))
        there = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
        return Edges(there, found.drop_null().to_numpy().astype(np.int64))


class RidIndex(AsArrays):
    """The numbers of the rows behind each."""

    name: ClassVar[str] = "rid index"
    because: ClassVar[str] = "several rows stand behind one, here and there"

    def holds(self, edges: Csr, others: int) -> bool:
        return True

    def encode(self, edges: Csr, others: int) -> pa.Array:
        return lists(edges.indptr, numbers(edges.rids, others))

    def of(self, array: pa.Array, asked: Numbers, others: int) -> Edges:
        return Csr(offsets(array), array.values.to_numpy()).of(asked)


class Differences(AsArrays):
    """The first number behind each, and of each further one how far it is from the one before."""

    name: ClassVar[str] = "differences"
    because: ClassVar[str] = "the rows behind one stand near each other"

    def holds(self, edges: Csr, others: int) -> bool:
        return True

    def encode(self, edges: Csr, others: int) -> pa.Array:
        import numpy as np
        import pyarrow as pa

        steps = np.diff(edges.rids, prepend=0)
        full = edges.degrees > 0
        begin = edges.indptr[:-1][full]
        first = np.zeros(edges.rows, np.int64)
        first[full] = edges.rids[begin]
        kept = np.ones(len(steps), bool)
        kept[begin] = False
        further = steps[kept]
        ends = np.concatenate([[0], np.cumsum(np.maximum(edges.degrees - 1, 0))])
        largest = int(further.max()) + 1 if len(further) else 0
        return pa.StructArray.from_arrays(
            [pa.array(first.astype(number_type(others)), mask=~full), lists(ends, numbers(further, largest))], ["first", "further"]
        )

    def of(self, array: pa.Array, asked: Numbers, others: int) -> Edges:
        import numpy as np
        import pyarrow as pa

        first, further = array.field("first").take(pa.array(asked)), array.field("further")
        there = np.flatnonzero(first.is_valid().to_numpy(zero_copy_only=False))
        steps = Csr(offsets(further), further.values.to_numpy()).of(asked[there])
        counts = 1 + np.bincount(steps.asked, minlength=len(there))
        begin = np.cumsum(counts) - counts
        found = np.empty(int(counts.sum()), np.int64)
        kept = np.ones(len(found), bool)
        kept[begin] = False
        found[kept] = steps.rid
        begins = first.drop_null().to_numpy().astype(np.int64)
        found[begin] = begins
        # One running sum over all lists: at the beginning of each it starts anew.
        found[begin[1:]] -= np.add.reduceat(found, begin)[:-1] if len(begin) else found[:0]
        return Edges(np.repeat(there, counts), np.cumsum(found))


class Intervals(AsArrays):
    """The ranges of numbers behind each, from ``start`` on ``length`` numbers."""

    name: ClassVar[str] = "intervals"
    because: ClassVar[str] = "the rows behind one are neighbours"

    def holds(self, edges: Csr, others: int) -> bool:
        return True

    def encode(self, edges: Csr, others: int) -> pa.Array:
        import numpy as np
        import pyarrow as pa

        starts = np.ones(len(edges.rids), bool)
        starts[1:] = np.diff(edges.rids) != 1
        firsts = edges.indptr[:-1]
        starts[firsts[firsts < edges.indptr[1:]]] = True  # another row's begin anew, even where they go on
        first = np.flatnonzero(starts)
        last = np.append(first[1:], len(edges.rids)) - 1 if len(first) else first
        length = edges.rids[last] + 1 - edges.rids[first]
        ranges = [numbers(edges.rids[first], others), numbers(length, int(length.max(initial=0)) + 1)]
        return lists(np.concatenate([[0], np.cumsum(starts)])[edges.indptr], pa.StructArray.from_arrays(ranges, ["start", "length"]))

    def of(self, array: pa.Array, asked: Numbers, others: int) -> Edges:
        import numpy as np

        ranges = Csr(offsets(array), np.arange(len(array.values))).of(asked)
        start, lengths = (array.values.field(name).to_numpy()[ranges.rid].astype(np.int64) for name in ("start", "length"))
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return Edges(np.repeat(ranges.asked, lengths), np.repeat(start, lengths) + within)


class Whole(AsArrays):
    """All rows of the other side behind each: nothing is written but how many rows there are."""

    name: ClassVar[str] = "whole"
    because: ClassVar[str] = "all rows stand behind each"

    def holds(self, edges: Csr, others: int) -> bool:
        return len(edges.rids) == edges.rows * others

    def encode(self, edges: Csr, others: int) -> pa.Array:
        import pyarrow as pa

        return pa.nulls(edges.rows)

    def of(self, array: pa.Array, asked: Numbers, others: int) -> Edges:
        import numpy as np

        return Edges(np.repeat(np.arange(len(asked)), others), np.tile(np.arange(others), len(asked)))

    def having(self, array: pa.Array, wanted: Numbers, others: int) -> Edges:
        import numpy as np

        there = np.flatnonzero((wanted >= 0) & (wanted < others))
        return Edges(np.repeat(there, len(array)), np.tile(np.arange(len(array)), len(there)))
