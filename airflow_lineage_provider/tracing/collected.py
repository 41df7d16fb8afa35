"""What was collected while a run was made (`tracing.collecting`), in place of tracing queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.tracing.collecting import Carried
from airflow_lineage_provider.tracing.reserved import TAG

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Numbers: TypeAlias = npt.NDArray[np.int64]

Fetch = Callable[[int], "pa.Table"]
"""The rows that the run keeps of a segment: their numbers, and then the columns of what they carry."""


class CollectedLost(Exception):
    """What was collected cannot be had any more, or is not of the rows that were stored: the lineage is to be traced."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """Behind the row of ``numbers[i]``, which ascend, are the identities from ``indptr[i]`` on, to ``indptr[i + 1]``."""

    numbers: Numbers
    indptr: Numbers
    identities: pa.Table


@dataclass(frozen=True, eq=False)
class Collected:
    """What rows that the run keeps carry, by segment: of stored ones, and of groups above which stored ones stand."""

    carried: Mapping[int, Carried]
    fetch: Fetch
    _rows: dict[int, _Rows] = field(default_factory=dict)

    def behind(self, segment: int, target: pa.Table) -> pa.Table:
        """The identities behind rows of a segment: the tag of each row that is asked about, and then the attributes of what they carry.

        ``target`` is tag and row number.

        :raises CollectedLost: the run does not have one of the rows, or none any more.
        """
        import numpy as np
        import pyarrow as pa

        if segment not in self._rows:
            fetched = self.fetch(segment)
            try:
                self._rows[segment] = _laid_out(self.carried[segment], fetched)
            except pa.ArrowException as problem:  # lists of more than 2³¹ rows, say
                raise CollectedLost(f"what was collected of segment {segment} cannot be laid out: {problem}") from problem
        rows, asked = self._rows[segment], np.asarray(target.column(1).to_numpy(), np.int64)
        at = np.searchsorted(rows.numbers, asked)
        if len(asked) and (not len(rows.numbers) or (rows.numbers[np.minimum(at, len(rows.numbers) - 1)] != asked).any()):
            raise CollectedLost(f"rows of segment {segment} that were stored are not among those that the run has kept")
        starts, counts = rows.indptr[at], rows.indptr[at + 1] - rows.indptr[at]
        place = np.repeat(np.arange(len(asked)), counts)
        within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
        found = rows.identities.take(pa.array(starts[place] + within))
        names = [TAG, *(f"key_{i}" for i in range(found.num_columns))]
        return pa.table([target.column(0).take(pa.array(place)), *found.columns], names=names)

    def size(self, segment: int) -> int:
        """How many identities were collected for rows of a segment that was asked about."""
        return int(self._rows[segment].identities.num_rows)


def _laid_out(carried: Carried, kept: pa.Table) -> _Rows:
    import numpy as np

    numbers = np.asarray(kept.column(0).to_numpy(), np.int64)
    order = np.argsort(numbers)
    if len(order) and (np.diff(numbers[order]) == 0).any():
        raise CollectedLost("two rows that the run has kept have one number")
    rows = kept.take(order)
    if carried.sets is None:
        return _Rows(numbers[order], np.arange(len(order) + 1), _typed(rows.columns[1:], carried))
    indptr, structs = _flattened(rows.column(1), carried.depth)
    return _Rows(numbers[order], indptr, _typed(structs.flatten(), carried))


def _flattened(lists: pa.ChunkedArray, depth: int) -> tuple[Numbers, pa.StructArray]:
    """Where the structs of each list begin and end, and all of them; lists may be of lists, of so many."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pa.concat_arrays(lists.chunks) if lists.num_chunks else pa.array([], lists.type)
    indptr = np.arange(len(values) + 1)
    for _ in range(depth):
        lengths = np.asarray(pc.fill_null(pc.list_value_length(values), 0), np.int64)
        indptr = np.concatenate([[0], np.cumsum(lengths)])[indptr]
        values = values.flatten()
    return indptr, values


def _typed(columns: list[pa.Array], carried: Carried) -> pa.Table:
    """In the types that lineage keys have in all answers."""
    import pyarrow as pa

    types = [to_arrow(attribute.type) for attribute in carried.attributes]
    return pa.table([column.cast(one) for column, one in zip(columns, types, strict=True)], names=[f"a{i}" for i in range(len(types))])
