"""Links between the rows of two tables of an answer, as tables: each once, in order, and made by whole columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Numbers = npt.NDArray[np.int64]


def target_links(parts: Sequence[tuple[str, Numbers, Numbers]]) -> pa.Table:
    """``row``, ``source``, ``source_row``: for each source its name, and row by row a row that is asked about and one behind it."""
    import numpy as np
    import pyarrow as pa

    names = sorted(name for name, _, _ in parts)
    each = {name: _each_once(row, behind) for name, row, behind in parts}
    rows = _joined([each[name][0] for name in names])
    behind = _joined([each[name][1] for name in names])
    source = np.repeat(np.arange(len(names), dtype=np.int32), [len(each[name][0]) for name in names])
    order = np.lexsort((behind, source, rows))
    named = pa.DictionaryArray.from_arrays(pa.array(source[order]), pa.array(names, pa.string()))
    return pa.table({"row": rows[order], "source": named.cast(pa.string()), "source_row": behind[order]})


def pairs(asked: Numbers, row: Numbers) -> pa.Table:
    """``asked``, ``row``: which row answers to which of those that were asked about."""
    import pyarrow as pa

    asked, row = _each_once(asked, row)
    return pa.table({"asked": asked, "row": row})


def _each_once(left: Numbers, right: Numbers) -> tuple[Numbers, Numbers]:
    """Pairs of numbers from 0, each once, in order."""
    import numpy as np

    if not len(left):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    new = np.ones(len(left), np.bool_)
    new[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    return left[new].astype(np.int64, copy=False), right[new].astype(np.int64, copy=False)


def _joined(parts: Sequence[Numbers]) -> Numbers:
    import numpy as np

    return np.concatenate([np.zeros(0, np.int64), *parts])
