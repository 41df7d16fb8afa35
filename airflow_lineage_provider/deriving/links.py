"""Links between the rows of two tables of an answer, as tables: each once, in order, and made by whole columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.tracing.numbers import each_once, in_order

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
    each = {name: each_once(row, behind) for name, row, behind in parts}
    rows = joined([each[name][0] for name in names])
    behind = joined([each[name][1] for name in names])
    source = np.repeat(np.arange(len(names), dtype=np.int32), [len(each[name][0]) for name in names])
    order = in_order(rows)  # one source's rows follow another's, and each source's are in order
    named = pa.DictionaryArray.from_arrays(pa.array(source[order]), pa.array(names, pa.string()))
    return pa.table({"row": rows[order], "source": named.cast(pa.string()), "source_row": behind[order]})


def pairs(asked: Numbers, row: Numbers) -> pa.Table:
    """``asked``, ``row``: which row answers to which of those that were asked about."""
    import pyarrow as pa

    asked, row = each_once(asked, row)
    return pa.table({"asked": asked, "row": row})


def by_source(links: pa.Table) -> Iterator[tuple[str, Numbers, Numbers]]:
    """What `target_links` makes one table of."""
    import pyarrow.compute as pc

    for name in links.column("source").unique().to_pylist():
        of = links.filter(pc.equal(links.column("source"), name))
        yield name, of.column("row").to_numpy(), of.column("source_row").to_numpy()


def same(left: Numbers, right: Numbers) -> tuple[Numbers, Numbers]:
    """The places at which two have the same number: each pair of them, in the order of the left ones."""
    import numpy as np

    order = in_order(right)
    ordered = right[order]
    first, end = np.searchsorted(ordered, left, "left"), np.searchsorted(ordered, left, "right")
    found = end - first
    one = np.repeat(np.arange(len(left)), found)
    within = np.arange(len(one)) - np.repeat(np.cumsum(found) - found, found)
    return one, order[first[one] + within]


def joined(parts: Sequence[Numbers]) -> Numbers:
    """One after the other."""
    import numpy as np

    return np.concatenate([np.zeros(0, np.int64), *parts])
