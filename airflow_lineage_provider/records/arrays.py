"""Arrays and the relations between them, as the store keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class StoredRelation:
    """How an array in the store hangs on another.

    :ivar source, output: their names.
    :ivar operation: what made the output, with its arguments, as JSON; empty where that was not said.
    :ivar rows, bytes: of the compressed relation.
    """

    source: str
    output: str
    guarantee: str
    operation: str
    rows: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class StoredArray:
    """An array in the store.

    :ivar labels: of positions, by the axis; of those axes that have some.
    :ivar owner: how the names of its owner's arrays begin, ``task:etl/load/manual__2026-01-01/``; empty where it has none.
    :ivar relations: those with the arrays that it is made from, and that are made from it.
    """

    name: str
    shape: tuple[int, ...]
    labels: Mapping[int, tuple[str, ...]]
    owner: str
    created: datetime
    relations: tuple[StoredRelation, ...]

    @property
    def bytes(self) -> int:
        """Those of the relations with what it is made from."""
        return sum(one.bytes for one in self.relations if one.output == self.name)
