"""The number of the fragment that a row is in by several columns, as Spark finds it: by a search for each column, which tells the value's
ordinal, and one for the code that these make (`composite`). A search among the cuts themselves would make a struct of every row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.sketches.composite import Composite
from airflow_lineage_provider.sketches.constants import constant, type_of
from airflow_lineage_provider.sketches.grid import Grid, grid
from airflow_lineage_provider.sketches.kinds import kind_of
from airflow_lineage_provider.sketches.partition import Partition


@dataclass(frozen=True, kw_only=True)
class Ordinals:
    """The values of one column whose ordinals are even: 2, 4, … in their order.

    :ivar type: what values are compared as. :ivar values: texts that Spark casts to it, ascending, each once.
    """

    type: str
    values: tuple[str, ...]

    @property
    def width(self) -> int:
        """How many ordinals there are: from 0, which is NULL's."""
        return 2 * len(self.values) + 2


@dataclass(frozen=True, kw_only=True)
class CompositeNumbering:
    """How rows are numbered: by the place of their code among those of the cuts, which go up."""

    parts: tuple[Ordinals, ...]
    codes: tuple[int, ...]


def composite_numbering(partition: Composite) -> CompositeNumbering:
    """How the rows of a partition's columns are numbered.

    >>> composite_numbering(Composite(types=("string", "boolean"), cuts=(("a", None), ("a", True), ("b", False))))
    ... # doctest: +NORMALIZE_WHITESPACE
    CompositeNumbering(parts=(Ordinals(type='string', values=('a', 'b')), Ordinals(type='int', values=('0', '1'))),
                       codes=(12, 16, 26))
    """
    return CompositeNumbering(parts=ordinals_of(partition), codes=partition.codes)


def ordinals_of(partition: Composite) -> tuple[Ordinals, ...]:
    """The same of each column alone."""
    return tuple(map(_ordinals, partition.places))


def _ordinals(place: Partition) -> Ordinals:
    constants = [constant(cut, place.type) for cut in place.cuts]
    texts = tuple(one.value or "" for one in constants)
    if kind_of(place.type) == "boolean":  # Spark searches no array of these
        return Ordinals(type="int", values=tuple(str(int(text == "true")) for text in texts))
    return Ordinals(type=type_of(constants, place.type), values=texts)


@dataclass(frozen=True, kw_only=True)
class CodeMembership:
    """Whether a row is in one of several intervals of tuples, told by the place of its code among their bounds, which open and close
    intervals in turn. It is never NULL.

    :ivar bounds: codes, ascending. :ivar before: whether rows below all bounds are inside; then the first bound closes an interval.
    """

    columns: tuple[Attribute, ...]
    parts: tuple[Ordinals, ...]
    bounds: tuple[int, ...]
    before: bool

    @cached_property
    def grid(self) -> Grid | None:
        """What spares most codes the search."""
        return grid(self.bounds, before=self.before)
