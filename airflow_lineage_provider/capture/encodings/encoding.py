"""What every way to write edges can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from airflow_lineage_provider.capture.csr import Csr, Edges
from airflow_lineage_provider.tracing.numbers import in_order, in_order_of_both

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.shape import Shape


class Encoding(Protocol):
    """A way to write edges; ``others`` is the number of rows on the other side."""

    name: ClassVar[str]
    because: ClassVar[str]
    plain: ClassVar[bool]
    """Whether one row is read as fast as arrays are."""
    shares: ClassVar[bool]
    """Whether what rows have in common is written once: then some of the rows take more than their share."""

    def holds(self, edges: Csr, others: int) -> bool:
        """Whether it can hold these edges."""
        ...

    def promises(self, shape: Shape) -> bool:
        """Whether edges of this shape may be smaller like this than as arrays: where they cannot, it is not tried."""
        ...

    def encode(self, edges: Csr, others: int) -> pa.Array: ...

    def of(self, array: pa.Array, asked: Numbers, others: int) -> Edges:
        """The edges of the rows at these places: the place in ``asked``, and the number of a row on the other side, ascending."""
        ...

    def having(self, array: pa.Array, wanted: Numbers, others: int) -> Edges:
        """The same edges from the other side: the place in ``wanted`` (numbers of rows there), and the place of the row that has it."""
        ...


class AsArrays:
    """What encodings have in common."""

    plain: ClassVar[bool] = True
    shares: ClassVar[bool] = False

    def promises(self, shape: Shape) -> bool:
        return True

    def of(self, array: pa.Array, asked: Numbers, others: int) -> Edges:
        raise NotImplementedError

    def having(self, array: pa.Array, wanted: Numbers, others: int) -> Edges:
        import numpy as np

        return turned(self.of(array, np.arange(len(array)), others), wanted)


def turned(edges: Edges, wanted: Numbers) -> Edges:
    """Of edges those that lead to the wanted numbers: the place of the number, and the row.

    >>> import numpy as np
    >>> turned(Edges(np.array([0, 0, 1]), np.array([4, 7, 4])), np.array([7, 4, 9]))
    Edges(asked=array([0, 1, 1]), rid=array([0, 0, 1]))
    """
    import numpy as np

    order = in_order(wanted)
    ascending = wanted[order]
    first = np.searchsorted(ascending, edges.rid, side="left")
    counts = np.searchsorted(ascending, edges.rid, side="right") - first
    edge = np.repeat(np.arange(len(edges.rid)), counts)
    place = order[first[edge] + np.arange(len(edge)) - np.repeat(np.cumsum(counts) - counts, counts)]
    by_place = in_order_of_both(place, edges.asked[edge])
    return Edges(place[by_place], edges.asked[edge][by_place])


def number_type(others: int) -> str:
    """The smallest type that holds the numbers of so many rows.

    >>> [number_type(rows) for rows in (0, 256, 257, 1 << 32, (1 << 32) + 1)]
    ['uint8', 'uint8', 'uint16', 'uint32', 'uint64']
    """
    return next(f"uint{bits}" for bits in (8, 16, 32, 64) if others <= 1 << bits)


def numbers(values: Numbers, others: int) -> pa.Array:
    """Numbers of rows, of which there are so many, in the smallest type that holds them."""
    import pyarrow as pa

    return pa.array(values.astype(number_type(others)))


def lists(indptr: Numbers, values: pa.Array) -> pa.Array:
    """An array of lists, of values that stand one after another."""
    import pyarrow as pa

    return pa.LargeListArray.from_arrays(pa.array(indptr, pa.int64()), values)


def offsets(array: pa.Array) -> Numbers:
    """Where each list begins, and where the last ends."""
    import numpy as np

    return np.asarray(array.offsets.to_numpy(), np.int64)
