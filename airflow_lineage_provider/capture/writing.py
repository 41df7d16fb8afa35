"""Captured lineage as it is written: indexes in parts, what stands beside them, and what is recorded of both."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.choosing import choose
from airflow_lineage_provider.capture.encodings.written import from_bytes, to_bytes
from airflow_lineage_provider.capture.looking_up import LookedUpLineage
from airflow_lineage_provider.capture.parts import Parts
from airflow_lineage_provider.capture.recorded import (
    PAIRS_OF_A_PART,
    ROWS_OF_A_PART,
    Direction,
    RecordedClasses,
    RecordedCube,
    RecordedIndex,
    RecordedMap,
    RecordedSpace,
    RecordedWitnesses,
    Side,
)
from airflow_lineage_provider.capture.rids import Listed
from airflow_lineage_provider.capture.shape import shape_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from airflow_lineage_provider.capture.classes import Classes
    from airflow_lineage_provider.capture.csr import Csr
    from airflow_lineage_provider.capture.rids import RidSpace, SpaceKind
    from airflow_lineage_provider.capture.wanted import CaptureTable, Cube
    from airflow_lineage_provider.capture.witnesses import NumberedWitnesses

RowSetKey = tuple[Side, int]
Counts = tuple["SpaceKind", "Sequence[tuple[int, int]]"]
"""How rows of a row set may be numbered without a list of them: the kind, and the parts that have so many rows each."""


@dataclass(frozen=True)
class BuiltIndex:
    """What is to be recorded, and the parts that were written."""

    index: RecordedIndex
    parts: Parts

    @property
    def lineage(self) -> LookedUpLineage:
        """It, asked before it is kept; what it was asked for stays in memory while this is there."""
        part = cache(lambda number, one: from_bytes(self.parts.content(number, one)))
        return LookedUpLineage(self.index, lambda number, wanted: {one: part(number, one) for one in wanted})


@dataclass
class Writer:
    """Indexes as they are written."""

    spaces: list[RecordedSpace] = field(default_factory=list)
    maps: list[RecordedMap] = field(default_factory=list)
    classes: list[RecordedClasses] = field(default_factory=list)
    cubes: list[RecordedCube] = field(default_factory=list)
    parts: Parts = field(default_factory=Parts)
    witnesses: RecordedWitnesses | None = None

    def _beside(self, *parts: pa.Array) -> int:
        """Write what is no index beside them; the number by which it is found."""
        return self.parts.put_beside(map(to_bytes, parts))

    def _rows_beside(self, rows: pa.Table) -> tuple[int, int]:
        """Write rows that are listed; the number by which they are found, and how many parts they are."""
        array = rows.to_struct_array().combine_chunks()
        parts = [array.slice(first, ROWS_OF_A_PART) for first in range(0, max(len(array), 1), ROWS_OF_A_PART)]
        return self._beside(*parts), len(parts)

    def add_space(self, key: RowSetKey, space: RidSpace, counts: Counts | None) -> None:
        """How a row set's rows are numbered; the keys that are listed are written beside the indexes."""
        side, of = key
        if isinstance(space, Listed):
            keys, key_parts = self._rows_beside(space.listed)
            self.spaces.append(RecordedSpace(side=side, number=of, kind="listed", rows=space.rows, keys=keys, key_parts=key_parts))
        else:
            assert counts is not None
            kind, parts = counts
            self.spaces.append(RecordedSpace(side=side, number=of, kind=kind, rows=space.rows, parts=tuple(parts)))

    def add_classes(self, leaf: int, classes: Classes, wanted: CaptureTable) -> None:
        """Which rows of a source leaf are in no index, and the classes of the others; where values are kept in place of rows, these."""
        import pyarrow as pa

        told = classes.classes_left_out if wanted.granularity else classes.left_out
        left_out = None if told is None else self._beside(pa.array(told))
        values, value_parts = (None, 1) if classes.values is None else self._rows_beside(classes.values)
        self.classes.append(
            RecordedClasses(
                leaf=leaf,
                where=wanted.where or "",
                left_out=left_out,
                partition_by=tuple(wanted.partition_by),
                values=values,
                granularity=tuple(wanted.granularity) if wanted.granularity else None,
                bytes=self.parts.bytes_of(values) if values is not None else 0,
                value_parts=value_parts,
            )
        )
        if wanted.granularity and classes.values is not None:
            self.spaces.append(
                RecordedSpace(side="value", number=leaf, kind="listed", rows=classes.values.num_rows, keys=values, key_parts=value_parts)
            )

    def add_cube(self, leaf: int, cube: Cube, edges: Csr, cells: Callable[[Csr], pa.Array]) -> None:
        """Aggregates of the rows of a source leaf behind the result's; ``cells`` gives a list of structs for each row of a part of it."""
        import numpy as np

        starts = _starts(edges)
        found = [cells(edges.part(start, stop - start)) for start, stop in pairwise([*starts, edges.rows])]
        number = self._beside(*found)
        self.cubes.append(
            RecordedCube(
                leaf=leaf,
                by=tuple(cube.by),
                measures=tuple(cube.measures),
                number=number,
                starts=tuple(starts),
                cells=sum(len(one.values) for one in found),
                bytes=self.parts.bytes_of(number),
                disjoint=not len(edges.rids) or int(np.bincount(edges.rids).max()) <= 1,
            )
        )

    def add_witnesses(self, found: NumberedWitnesses) -> None:
        """Which source rows together made each row of the result."""
        starts = _starts(found.edges)
        number = self._beside(*(found.lists(first, stop) for first, stop in pairwise([*starts, found.edges.rows])))
        count, places = int(found.indptr[-1]), tuple(found.rids)
        self.witnesses = RecordedWitnesses(
            number=number, places=places, starts=tuple(starts), count=count, bytes=self.parts.bytes_of(number)
        )

    def add_map(
        self,
        node: RowSetKey,
        to: RowSetKey,
        direction: Direction,
        edges: Csr,
        others: int,
        classes: int = 1,
        because: str = "",
        *,
        whole: bool = False,
    ) -> None:
        """One index, from rows to so many ``others``; ``because``: why it leads to sets of rows, or from end to end (``whole``)."""
        began = time.perf_counter()
        starts, shape = _starts(edges), shape_of(edges, others)
        sliced = [edges.part(start, stop - start) for start, stop in pairwise([*starts, edges.rows])]
        encoding, told = choose(sliced, others, shape)
        number, (side, input), (of, segment) = len(self.maps), to, node
        assert of in ("segment", "set", "control")
        parts = self.parts.put(number, (to_bytes(encoding.encode(part, others)) for part in sliced))
        self.maps.append(
            RecordedMap(
                number=number,
                segment=segment,
                side=side,
                input=input,
                direction=direction,
                encoding=encoding.name,
                because=f"{told}; {because}" if because else told,
                edges=len(edges.rids),
                bytes=self.parts.bytes_of(number),
                parts=parts,
                starts=tuple(starts),
                shape=shape,
                classes=classes,
                of=of,
                seconds=round(time.perf_counter() - began, 6),
                whole=whole,
            )
        )

    def recorded(
        self, captured: datetime, seconds: float, engine: str, met: Mapping[RowSetKey, set[int]], pruned: Mapping[RowSetKey, set[int]]
    ) -> BuiltIndex:
        """All of them. What was ``met`` and ``pruned`` is told of stored segments, and of controls."""
        index = RecordedIndex(
            id=uuid.uuid4().hex,
            captured=captured,
            seconds=seconds,
            engine=engine,
            spaces=tuple(self.spaces),
            maps=tuple(self.maps),
            met=_told(met, "segment"),
            pruned=_told(pruned, "segment"),
            sides_met=_told(met, "control"),
            sides_pruned=_told(pruned, "control"),
            classes=tuple(self.classes),
            cubes=tuple(self.cubes),
            witnesses=self.witnesses,
        )
        return BuiltIndex(index, self.parts)


def _told(numbers: Mapping[RowSetKey, set[int]], side: Side) -> dict[str, tuple[int, ...]]:
    return {str(one): tuple(sorted(own)) for (of, one), own in numbers.items() if of == side}


def _starts(edges: Csr) -> list[int]:
    """The rows that parts begin with: a part ends where it has as many rows or pairs as it should have."""
    import numpy as np

    starts, first = [], 0
    while first < edges.rows:
        starts.append(first)
        full = int(np.searchsorted(edges.indptr, edges.indptr[first] + PAIRS_OF_A_PART, side="left"))
        first = min(first + ROWS_OF_A_PART, max(full, first + 1))
    return starts
