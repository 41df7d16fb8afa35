"""How the rows behind rows are written: each an Arrow array with an entry for every row that may be asked about.

==============  ===========================================================  =========================================================
rid array       at most one row stands behind a row; NULL: none              Smoke, Sec. 3.1
rid index       the numbers of the rows, ascending                           Smoke, Sec. 3.1
intervals       the ranges that the numbers make: ``start``, ``stop``        frames, prefixes, groups of neighbours
whole           nothing: every row has all rows of the other side            a control (forward lineage, Sec. 3.4), a cross join
==============  ===========================================================  =========================================================

An encoding never changes an answer: `choose` takes the smallest that can hold the edges.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

from airflow_lineage_provider.capture.csr import Csr, Edges
from airflow_lineage_provider.errors import RecordDamaged

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers


class Encoding(Protocol):
    """A way to write edges; ``others`` is the number of rows on the other side."""

    name: ClassVar[str]
    because: ClassVar[str]

    def holds(self, edges: Csr, others: int) -> bool:
        """Whether it can hold these edges."""
        ...

    def encode(self, edges: Csr, others: int) -> pa.Array: ...

    def of(self, array: pa.Array, asked: Numbers, others: int) -> Edges:
        """The edges of the rows at these places."""
        ...


class RidArray:
    """At most one row behind each."""

    name: ClassVar[str] = "rid array"
    because: ClassVar[str] = "at most one row stands behind each"

    def holds(self, edges: Csr, others: int) -> bool:
        return not edges.rows or int(edges.degrees.max()) <= 1

    def encode(self, edges: Csr, others: int) -> pa.Array:
        import numpy as np
        import pyarrow as pa

        there = edges.degrees > 0
        rids = np.zeros(edges.rows, _type(others))
        rids[there] = edges.rids
        return pa.array(rids, mask=~there)

    def of(self, array: pa.Array, asked: Numbers, others: int) -> Edges:
        import numpy as np
        import pyarrow as pa

        found = array.take(pa.array(asked))
        there = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
        return Edges(there, found.drop_null().to_numpy().astype(np.int64))


class RidIndex:
    """The numbers of the rows behind each."""

    name: ClassVar[str] = "rid index"
    because: ClassVar[str] = "several rows stand behind one, here and there"

    def holds(self, edges: Csr, others: int) -> bool:
        return True

    def encode(self, edges: Csr, others: int) -> pa.Array:
        return _lists(edges.indptr, _rids(edges.rids, others))

    def of(self, array: pa.Array, asked: Numbers, others: int) -> Edges:
        return Csr(_offsets(array), array.values.to_numpy()).of(asked)


class Intervals:
    """The ranges of numbers behind each, from ``start`` to before ``stop``."""

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
        ranges = [_rids(edges.rids[first], others), _rids(edges.rids[last] + 1, others + 1)]
        return _lists(np.concatenate([[0], np.cumsum(starts)])[edges.indptr], pa.StructArray.from_arrays(ranges, ["start", "stop"]))

    def of(self, array: pa.Array, asked: Numbers, others: int) -> Edges:
        import numpy as np

        ranges = Csr(_offsets(array), np.arange(len(array.values))).of(asked)
        start, stop = (array.values.field(name).to_numpy()[ranges.rid].astype(np.int64) for name in ("start", "stop"))
        lengths = stop - start
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return Edges(np.repeat(ranges.asked, lengths), np.repeat(start, lengths) + within)


class Whole:
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


ENCODINGS: Mapping[str, Encoding] = {one.name: one for one in (Whole(), RidArray(), Intervals(), RidIndex())}
"""By name; of those that are equally small the first is taken."""

_SAMPLED = 3


def choose(parts: list[Csr], others: int) -> Encoding:
    """The encoding that is smallest, as it is written, for the first, the last and the middle of the parts, and can hold all."""
    sample = [parts[at] for at in sorted({0, len(parts) // 2, len(parts) - 1})] if parts else []
    able = [one for one in ENCODINGS.values() if all(one.holds(part, others) for part in parts)]
    return min(able, key=lambda one: sum(len(to_bytes(one.encode(part, others))) for part in sample))


def to_bytes(array: pa.Array) -> bytes:
    """An array as it is written: one batch of Arrow's stream format, compressed."""
    import pyarrow as pa

    out = pa.BufferOutputStream()
    batch = pa.record_batch([array], ["rows"])
    with pa.ipc.new_stream(out, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    return bytes(out.getvalue().to_pybytes())


def from_bytes(written: bytes) -> pa.Array:
    """What `to_bytes` wrote.

    :raises RecordDamaged: it is something else.
    """
    import pyarrow as pa

    try:
        batch = pa.ipc.open_stream(written).read_next_batch()
        batch.validate(full=True)
        return batch.column("rows")
    except (pa.ArrowException, KeyError, OSError, StopIteration) as problem:
        raise RecordDamaged(f"a part of captured lineage cannot be read: {problem}") from problem


def _type(others: int) -> str:
    """The smallest type that holds the numbers of so many rows.

    >>> [_type(rows) for rows in (0, 256, 257, 1 << 32, (1 << 32) + 1)]
    ['uint8', 'uint8', 'uint16', 'uint32', 'uint64']
    """
    return next(f"uint{bits}" for bits in (8, 16, 32, 64) if others <= 1 << bits)


def _rids(rids: Numbers, others: int) -> pa.Array:
    import pyarrow as pa

    return pa.array(rids.astype(_type(others)))


def _lists(indptr: Numbers, values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.LargeListArray.from_arrays(pa.array(indptr, pa.int64()), values)


def _offsets(array: pa.Array) -> Numbers:
    import numpy as np

    return np.asarray(array.offsets.to_numpy(), np.int64)
