"""The number of the fragment that a value is in, as Spark finds it (the paper's r0): by arithmetic where all fragments are as wide, else by
a search among the cuts, which most values are spared (`grid`). (A tree of CASE, which the paper has, Spark compiles for seconds where it
has a thousand leaves.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from airflow_lineage_provider.sketches.composite import AnyPartition, Composite
from airflow_lineage_provider.sketches.constants import MOST_BIGINT, constant, type_of
from airflow_lineage_provider.sketches.grid import Starts, places, starts
from airflow_lineage_provider.sketches.kinds import is_whole, kind_of
from airflow_lineage_provider.sketches.ordinals import CompositeNumbering, composite_numbering
from airflow_lineage_provider.sketches.partition import Partition


@dataclass(frozen=True, kw_only=True)
class Widths:
    """Cuts at ``first``, and from there every ``step``, up to ``last``."""

    first: int
    last: int
    step: int


@dataclass(frozen=True, kw_only=True)
class Numbering:
    """How values are numbered.

    :ivar type: the type of the ``cuts``, which are texts that Spark casts to it, ascending, each once; values are compared as this.
    :ivar numbers: the number of the fragment before each cut, and behind the last, where cuts that are one constant make it another one
        than how many come before (no value of the column's type is between them).
    :ivar widths: where all fragments between the first and the last cut are as wide.
    :ivar null, nan: the numbers of what is no value; None where nothing is NaN.
    """

    type: str
    cuts: tuple[str, ...]
    null: int
    numbers: tuple[int, ...] = ()
    nan: int | None = None
    widths: Widths | None = None

    @cached_property
    def starts(self) -> Starts | None:
        """What spares most values the search among the cuts; None of types that have no places among whole numbers."""
        found = places(self.cuts, self.type)
        return None if found is None else starts(found)


AnyNumbering: TypeAlias = Numbering | CompositeNumbering


def numbering(partition: AnyPartition) -> AnyNumbering:
    """How the values of a partition's column, or columns, are numbered.

    :raises SketchError: Spark has no such constants.
    """
    return composite_numbering(partition) if isinstance(partition, Composite) else numbering_of_column(partition)


def numbering_of_column(partition: Partition) -> Numbering:
    """The same of one column.

    >>> numbering_of_column(Partition(type="int", cuts=(10, 20, 30))).widths
    Widths(first=10, last=30, step=10)
    >>> numbering_of_column(Partition(type="boolean", cuts=(False, True))).cuts
    ('0', '1')
    >>> from decimal import Decimal
    >>> numbering_of_column(Partition(type="int", cuts=(1, Decimal("1.5"), 2))).numbers
    (0, 1, 3)

    :raises SketchError: Spark has no such constants.
    """
    constants = [constant(cut, partition.type) for cut in partition.cuts]
    behind = {one.value or "": at + 1 for at, one in enumerate(constants)}
    texts, type_ = tuple(behind), type_of(constants, partition.type)
    if kind_of(partition.type) == "boolean":  # Spark searches no array of these
        type_, texts = "int", tuple(str(int(text == "true")) for text in texts)
    told = Numbering(type=type_, cuts=texts, null=partition.null_fragment, nan=partition.nan_fragment)
    if len(texts) < len(constants):
        return replace(told, numbers=(0, *behind.values()))
    return replace(told, widths=_widths(partition, texts))


def _widths(partition: Partition, texts: tuple[str, ...]) -> Widths | None:
    if not is_whole(partition.type) or len(texts) < 2:
        return None
    cuts = [int(text) for text in texts]
    step = cuts[1] - cuts[0]
    even = all(after - before == step for before, after in pairwise(cuts))
    inside = cuts[0] >= -MOST_BIGINT and cuts[-1] <= MOST_BIGINT and cuts[-1] - cuts[0] <= MOST_BIGINT  # so nothing overflows
    return Widths(first=cuts[0], last=cuts[-1], step=step) if even and inside else None
