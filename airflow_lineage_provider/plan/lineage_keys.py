"""Row identity: what tells one row of a segment's input from another.

A source table's rows are known by their lineage key; a materialized segment's rows by their row number; the rows of an
aggregation that is not materialized by their grouping keys (equal keys are one row). This is ours: the paper traces by
value, which cannot tell duplicates apart and has to join again what the run has joined already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from typing import Literal as OneOf

from airflow_lineage_provider.plan.expressions import Attribute

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ROW = "lineage_row_number"
"""The row-number column of every materialization."""

PARTITION_BITS = 33
"""Spark numbers the rows of partition p from p · 2³³ (`monotonically_increasing_id`)."""

AnyNumbers: TypeAlias = "Sequence[int] | npt.NDArray[np.int64]"
"""Numbers of rows: an array, where there may be many."""


@dataclass(frozen=True, kw_only=True)
class KeyColumn:
    """A column of a lineage key, as the source's view or the materialization names it."""

    name: str
    type: str


@dataclass(frozen=True, kw_only=True)
class SourceIdentity:
    """How the rows of a source table are told apart.

    ``file_position``: hash of the file's path, and the row's position in the file. ``primary_key``: columns that the user
    named. ``row_digest``: a digest of all columns; identical rows share it. ``snapshot``: the row's number in the copy that
    the run stored, for data that only the run's session held.
    """

    kind: OneOf["file_position", "primary_key", "row_digest", "snapshot"]
    columns: tuple[KeyColumn, ...]


@dataclass(frozen=True, kw_only=True)
class InputIdentity:
    """The attributes that name, in each row of an annotated plan, what one input gave to it.

    ``kind`` and ``number`` tell the input: ``source`` and its leaf; ``segment`` and the number of a materialized segment, whose row
    it is; ``link`` and the number of a segment whose rows go back to *sets* of rows (a group, a frame, the partners of a
    semi-join): the attributes are what the set is found by (`tracing.row_sets`). The first attribute is never NULL where the row
    has such a partner: NULL means that it has none (an outer join, another branch of a union). A ``domain`` (`operators.Aggregate`) is
    nobody's input: its values tell rows apart, and are not traced.
    """

    kind: OneOf["source", "segment", "link", "domain"]
    number: int
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, kw_only=True)
class MaterializedSegment:
    """What a run stored of a segment: the columns by attribute id, and for segments without aggregation the lineage keys.

    ``position``: for windows, the column with the row's position in its partition.
    """

    segment: int
    name: str
    columns: tuple[tuple[int, str], ...]
    inputs: tuple[InputIdentity, ...]
    position: Attribute | None = None

    def column(self, attribute: Attribute) -> str:
        """The stored column of an attribute; KeyError when the run did not store it."""
        return dict(self.columns)[attribute.id]
