"""Lineage as a relation between the rows of two row sets, whatever stands behind it.

A map answers two questions, for many rows at once: which rows of its input stand behind rows of its output (`LineageMap.backward`), and
which rows of its output rows of its input stand behind (`LineageMap.forward`, the inverse and nothing else).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from typing import Literal as OneOf

from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from airflow_lineage_provider.tracing.numbers import is_ascending
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.value_codes import packed_numbers, same_bits

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.plan.lineage_keys import AnyNumbers
    from airflow_lineage_provider.tracing.trace import Trace


@dataclass(frozen=True)
class RowSet:
    """Rows that lineage leads from or to: a segment's, whose ``numbers`` is its own (0 is the result), or a source table's.

    A table that the plan reads at several places is one row set: ``numbers`` are its leaves.
    """

    kind: OneOf["segment", "source"]
    numbers: tuple[int, ...]


RESULT = RowSet("segment", (0,))


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Rows of a row set, as a question has them and as an answer has them.

    ``keys`` has a column of tags and then the columns that tell the set's rows apart: the row number of a segment, the lineage key of a
    source. A tag is the number of a row that is asked about: an answer tells its rows apart by what they answer to. Each combination
    stands there once. ``engine`` says who answered; ``leaves`` are the sources that tracing queries have read on the way, whoever ran them.
    """

    of: RowSet
    keys: pa.Table
    guarantee: Guarantee = EXACT
    engine: str = ""
    leaves: frozenset[int] = frozenset()

    def each_once(self) -> pa.Table:
        """The keys alone, each once, whatever they answer to."""
        return distinct_rows(self.keys.drop_columns([TAG]))


def numbered_rows(of: RowSet, numbers: AnyNumbers) -> Rows:
    """Rows of a segment by their numbers, tagged from 0 in the order in which they are given."""
    import numpy as np
    import pyarrow as pa

    tags = pa.array(np.arange(len(numbers)))
    return Rows(of=of, keys=pa.table({TAG: tags, "key_0": pa.array(numbers, pa.int64())}))


def tagged_rows(of: RowSet, keys: pa.Table) -> Rows:
    """Rows of a source by their lineage keys (``key_0`` …), tagged from 0 in the order in which they are given."""
    import numpy as np
    import pyarrow as pa

    return Rows(of=of, keys=keys.add_column(0, TAG, pa.array(np.arange(keys.num_rows))))


class LineageMap(Protocol):
    """The lineage between the rows of two row sets."""

    @property
    def output(self) -> RowSet: ...

    @property
    def input(self) -> RowSet: ...

    @property
    def guarantee(self) -> Guarantee:
        """What the map is worth at least; an answer may be worth more."""
        ...

    def backward(self, rows: Rows) -> Rows:
        """The input's rows that stand behind these of the output."""
        ...

    def forward(self, rows: Rows) -> Rows:
        """The output's rows that these of the input stand behind."""
        ...


class RunLineage(Protocol):
    """The lineage of one run: the maps between its row sets."""

    def between(self, output: RowSet, input: RowSet) -> LineageMap: ...

    def behind(self, rows: Rows, *, differences: bool = False) -> Trace:
        """Everything that stands behind rows of a segment; ``differences``: the right sides of differences row by row, too."""
        ...

    def anew(self) -> RunLineage:
        """The same lineage without what answers have left in memory."""
        ...


def distinct_rows(table: pa.Table) -> pa.Table:
    """The table's rows, each once, in no order that anybody could rely on."""
    import pyarrow as pa

    if _surely_different(table):
        return table
    if not any(pa.types.is_nested(column.type) for column in table.schema):
        return table.group_by(table.column_names, use_threads=False).aggregate([])
    # Arrow does not group by arrays or structs.
    return table.take(pa.array(same_bits(table.columns, table.num_rows)[1]))


_MANY = 10_000


def _surely_different(table: pa.Table) -> bool:
    """Whether the rows are seen to be different: one row is, and of a large table of numbers nearly always they are, and sorting one number
    a row tells it in a fraction of the time in which Arrow groups them."""
    if table.num_rows < 2:
        return True
    packed = packed_numbers(table.columns) if table.num_rows >= _MANY else None
    if packed is None:
        return False
    if not is_ascending(packed):  # as captured lineage and the rows of one file come, they are
        packed.sort()
    return is_ascending(packed)
