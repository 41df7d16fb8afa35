"""Rows of a source by what will be asked of them: those that are captured, and in which class each is (Smoke, Sec. 4.1 and 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from airflow_lineage_provider.capture.csr import Csr, Edges, csr

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.rids import RidSpace
    from airflow_lineage_provider.capture.wanted import CaptureTable, Cube


class Divided(Protocol):
    """Tells of the rows of source leaves what is captured of them in parts, or aggregated."""

    @property
    def tables(self) -> Mapping[int, CaptureTable]:
        """Of which leaves, and how."""
        ...

    def classes(self, leaf: int, space: RidSpace, rids: Numbers) -> Classes:
        """The classes of a leaf's rows, of which those with these rids are behind any."""
        ...

    def cells(self, leaf: int, cube: Cube, edges: Csr) -> pa.Array:
        """The cells of a cube of each row, which has edges to rows of the leaf (`recorded.RecordedCube`)."""
        ...


@dataclass(frozen=True, eq=False)
class Classes:
    """The rows of a source leaf, by their rids. ``left_out``: those that no index has; None: none is.

    ``codes`` are the rows' classes, numbered from 0, and ``values`` what each class stands for, column by column; None: there is one class.
    """

    left_out: npt.NDArray[Any] | None = None
    codes: Numbers | None = None
    values: pa.Table | None = None

    @property
    def number(self) -> int:
        """How many classes there are."""
        return 1 if self.values is None else max(1, int(self.values.num_rows))

    def kept(self, edges: Csr) -> Csr:
        """Of edges to rows of the source those that are captured."""
        import numpy as np

        if self.left_out is None or not self.left_out.any():
            return edges
        kept = ~self.left_out[edges.rids]
        ends = np.concatenate([[0], np.cumsum(kept)])
        return Csr(ends[edges.indptr], edges.rids[kept])

    def grouped(self, edges: Csr) -> tuple[Csr, int]:
        """Edges to the classes of the rows in place of the rows, each once, and how many classes there are.

        >>> import numpy as np, pyarrow as pa
        >>> classes = Classes(codes=np.array([1, 0, 1]), values=pa.table({"value_0": ["a", "b"]}))
        >>> made, others = classes.grouped(Csr(np.array([0, 3, 4]), np.array([0, 1, 2, 2])))
        >>> made.indptr.tolist(), made.rids.tolist(), others
        ([0, 2, 3], [0, 1, 1], 2)
        """
        import numpy as np

        assert self.codes is not None
        assert self.values is not None
        rows = np.repeat(np.arange(edges.rows), edges.degrees)
        return csr(Edges(rows, self.codes[edges.rids]), edges.rows, self.values.num_rows), self.values.num_rows

    @property
    def classes_left_out(self) -> npt.NDArray[Any] | None:
        """Of each class whether any of its rows is left out; None: no row is."""
        import numpy as np

        if self.left_out is None or self.codes is None:
            return None
        return np.bincount(self.codes[self.left_out], minlength=self.number) > 0

    def divided(self, edges: Csr) -> Csr:
        """The same edges from so many rows in place of each as there are classes: ``row * number + class``.

        >>> import numpy as np, pyarrow as pa
        >>> classes = Classes(codes=np.array([1, 0, 1]), values=pa.table({"value_0": ["a", "b"]}))
        >>> made = classes.divided(Csr(np.array([0, 3, 4]), np.array([0, 1, 2, 2])))
        >>> made.indptr.tolist(), made.rids.tolist()
        ([0, 1, 3, 3, 4], [1, 0, 2, 2])
        """
        import numpy as np

        if self.codes is None:
            return edges
        rows = np.repeat(np.arange(edges.rows), edges.degrees) * self.number + self.codes[edges.rids]
        return csr(Edges(rows, edges.rids), edges.rows * self.number, len(self.codes))


def classes_of(rids: Numbers, rows: int, kept: pa.ChunkedArray | None, values: pa.Table | None) -> Classes:
    """The classes of the rows with these ``rids``, of ``rows`` that there are: those are captured for which ``kept`` is true, and those are
    in one class that have the same ``values``. Of rows that are not given nothing is captured, and nothing left out.

    >>> import numpy as np, pyarrow as pa
    >>> made = classes_of(np.array([2, 0, 3]), 4, pa.chunked_array([[True, None, True]]), pa.table({"value_0": ["b", "a", "b"]}))
    >>> made.left_out.tolist(), made.codes.tolist(), made.values.to_pydict()
    ([True, False, False, False], [1, 0, 0, 0], {'value_0': ['b', 'a']})
    """
    import numpy as np

    left_out = None
    if kept is not None:
        left_out = np.zeros(rows, bool)
        left_out[rids] = ~kept.fill_null(False).to_numpy().astype(bool)
    if values is None:
        return Classes(left_out)
    joint = np.zeros(len(rids), np.int64)
    for column in values.columns:
        coded = column.combine_chunks().dictionary_encode(null_encoding="encode") if len(column) else column
        own = coded.indices.to_numpy().astype(np.int64) if len(column) else joint
        # Numbered anew after each column, so that the numbers stay small.
        joint = np.unique(joint * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1]
    first = np.unique(joint, return_index=True)[1]
    codes = np.zeros(rows, np.int64)
    codes[rids] = joint
    return Classes(left_out, codes, values.take(first))
