"""Indexes made of what was found behind all rows of a run's stored segments."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.choosing import choose
from airflow_lineage_provider.capture.csr import Csr, Edges, csr
from airflow_lineage_provider.capture.encodings.written import to_bytes
from airflow_lineage_provider.capture.recorded import (
    PAIRS_OF_A_PART,
    ROWS_OF_A_PART,
    Direction,
    RecordedIndex,
    RecordedMap,
    RecordedSpace,
    Side,
)
from airflow_lineage_provider.capture.rids import Listed, RidSpace, counted
from airflow_lineage_provider.capture.shape import shape_of
from airflow_lineage_provider.errors import IndexTooLarge
from airflow_lineage_provider.tracing.maps import distinct_rows
from airflow_lineage_provider.tracing.reserved import TAG

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.rids import SpaceKind
    from airflow_lineage_provider.tracing.trace import Step
    from airflow_lineage_provider.words import CaptureDirection

RowSetKey = tuple[Side, int]
Counts = tuple["SpaceKind", Sequence[tuple[int, int]]]
"""How rows of a row set may be numbered without a list of them: the kind, and the parts that have so many rows each."""


@dataclass
class Building:
    """What was found so far. ``counts``: of the row sets whose rows are counted by parts; the keys of the others are listed.

    :ivar most: so many pairs of rows there may be. :ivar wanted: the source leaves whose rows are wanted; None: all.
    :ivar leads_to: for each segment the source leaves that stand behind it.
    """

    counts: Mapping[RowSetKey, Counts]
    most: int
    wanted: frozenset[int] | None = None
    leads_to: Mapping[int, frozenset[int]] = field(default_factory=dict)
    _asked: dict[tuple[int, RowSetKey], list[Numbers]] = field(default_factory=dict)
    _keys: dict[tuple[int, RowSetKey], list[pa.Table]] = field(default_factory=dict)
    _outputs: dict[int, pa.Table] = field(default_factory=dict)
    _met: dict[int, set[int]] = field(default_factory=dict)
    _pruned: dict[int, set[int]] = field(default_factory=dict)
    _edges: int = 0

    def begin(self, segment: int, numbers: pa.Table) -> None:
        """All rows of a stored segment, by their numbers (``key_0``), about which the steps that follow are."""
        self._outputs[segment] = numbers
        self._met[segment] = set()

    @property
    def begun(self) -> set[int]:
        return set(self._outputs)

    def add(self, segment: int, first: int, step: Step) -> None:
        """What was found behind some rows of a segment, whose tags count from the row ``first`` on.

        :raises IndexTooLarge: there is more than may be.
        """
        self._met[segment].update(step.met)
        for number, rows in step.sources.items():
            if self._is_wanted(segment, frozenset({number})):
                self._add(segment, ("source", number), first, rows)
        for number, rows in step.segments.items():
            if self._is_wanted(segment, self.leads_to.get(number, frozenset())):
                self._add(segment, ("segment", number), first, rows)
        for number, tags in step.controls.items():
            self._controlled(segment, number, first, tags)
        if self._edges > self.most:
            raise IndexTooLarge(
                f"there are more than {self.most:,} pairs of rows between segment {segment} and what stands behind it: raise "
                "AIRFLOW_LINEAGE_CAPTURE_LIMIT, or leave the lineage to be traced when it is asked for"
            )

    def _is_wanted(self, segment: int, leaves: frozenset[int]) -> bool:
        """Whether any of the source leaves behind an input is; what is left out is remembered."""
        if self.wanted is None or leaves & self.wanted:
            return True
        self._pruned.setdefault(segment, set()).update(leaves)
        return False

    def _add(self, segment: int, to: RowSetKey, first: int, rows: pa.Table) -> None:
        names = [f"key_{at}" for at in range(rows.num_columns - 1)]
        self._asked.setdefault((segment, to), []).append(_numbers(rows, 0) + first)
        self._keys.setdefault((segment, to), []).append(rows.drop_columns([TAG]).rename_columns(names))
        self._edges += rows.num_rows

    def _controlled(self, segment: int, number: int, first: int, tags: Sequence[int]) -> None:
        import numpy as np

        self._asked.setdefault((segment, ("control", number)), []).append(np.array(tags, np.int64) + first)

    def reached(self) -> set[int]:
        """The stored segments whose rows stand behind rows of others."""
        return {number for _, (side, number) in self._keys if side == "segment"}

    def indexes(self, directions: CaptureDirection, captured: datetime, seconds: float, engine: str) -> BuiltIndex:
        """The indexes, and what is to be recorded of them."""
        spaces = {key: self._space(key) for key in self._row_sets()}
        built = _Writer()
        for number, (key, space) in enumerate(spaces.items()):
            built.add_space(key, space, self.counts.get(key), -1 - number)
        for (segment, to), asked in self._asked.items():
            edges, others = self._edges_of(segment, to, asked, spaces)
            if directions != "forward" or to[0] == "control":
                built.add_map(segment, to, "backward", edges, others)
            if directions != "backward" and to[0] != "control":
                built.add_map(segment, to, "forward", edges.inverse(others), edges.rows)
        return built.recorded(captured, seconds, engine, self._met, self._pruned)

    def _row_sets(self) -> list[RowSetKey]:
        outputs: list[RowSetKey] = [("segment", number) for number in self._outputs]
        return list(dict.fromkeys([*outputs, *(to for _, to in self._keys)]))

    def _space(self, key: RowSetKey) -> RidSpace:
        """Rows are counted by parts where that numbers all of them; else they are listed."""
        import pyarrow as pa

        own = [self._outputs[key[1]]] if key[0] == "segment" and key[1] in self._outputs else []
        found = pa.concat_tables([*own, *(part for (_, to), parts in self._keys.items() if to == key for part in parts)])
        if key in self.counts:
            space = counted(*self.counts[key])
            if not (space.rids(found) < 0).any() and (not own or space.rows == own[0].num_rows):
                return space
        return Listed(distinct_rows(found))

    def _edges_of(self, segment: int, to: RowSetKey, asked: list[Numbers], spaces: Mapping[RowSetKey, RidSpace]) -> tuple[Csr, int]:
        import numpy as np
        import pyarrow as pa

        output = spaces["segment", segment]
        rows = output.rids(self._outputs[segment])[np.concatenate(asked)]
        if to[0] == "control":
            return csr(Edges(rows, np.zeros(len(rows), np.int64)), output.rows, 1), 1
        rids = spaces[to].rids(pa.concat_tables(self._keys[segment, to]))
        return csr(Edges(rows, rids), output.rows, spaces[to].rows), spaces[to].rows


@dataclass(frozen=True)
class BuiltIndex:
    """What is to be recorded, and ``parts``: the number of an index, the number of its part, and the part's content."""

    index: RecordedIndex
    parts: list[tuple[int, int, bytes]]


@dataclass
class _Writer:
    """Indexes as they are written."""

    spaces: list[RecordedSpace] = field(default_factory=list)
    maps: list[RecordedMap] = field(default_factory=list)
    parts: list[tuple[int, int, bytes]] = field(default_factory=list)

    def add_space(self, key: RowSetKey, space: RidSpace, counts: Counts | None, number: int) -> None:
        """How a row set's rows are numbered; the keys that are listed are written as an index of this number."""
        side, of = key
        if isinstance(space, Listed):
            self.parts.append((number, 0, to_bytes(space.listed.to_struct_array().combine_chunks())))
            self.spaces.append(RecordedSpace(side=side, number=of, kind="listed", rows=space.rows, keys=number))
        else:
            assert counts is not None
            kind, parts = counts
            self.spaces.append(RecordedSpace(side=side, number=of, kind=kind, rows=space.rows, parts=tuple(parts)))

    def add_map(self, segment: int, to: RowSetKey, direction: Direction, edges: Csr, others: int) -> None:
        """One index, from rows to so many ``others``."""
        starts, shape = _starts(edges), shape_of(edges, others)
        sliced = [edges.part(start, stop - start) for start, stop in pairwise([*starts, edges.rows])]
        encoding, because = choose(sliced, others, shape)
        number, (side, of) = len(self.maps), to
        written = [to_bytes(encoding.encode(part, others)) for part in sliced]
        self.parts += [(number, part, content) for part, content in enumerate(written)]
        self.maps.append(
            RecordedMap(
                number=number,
                segment=segment,
                side=side,
                input=of,
                direction=direction,
                encoding=encoding.name,
                because=because,
                edges=len(edges.rids),
                bytes=sum(map(len, written)),
                parts=len(written),
                starts=tuple(starts),
                shape=shape,
            )
        )

    def recorded(
        self, captured: datetime, seconds: float, engine: str, met: Mapping[int, set[int]], pruned: Mapping[int, set[int]]
    ) -> BuiltIndex:
        """All of them."""
        index = RecordedIndex(
            id=uuid.uuid4().hex,
            captured=captured,
            seconds=seconds,
            engine=engine,
            spaces=tuple(self.spaces),
            maps=tuple(self.maps),
            met={str(segment): tuple(sorted(numbers)) for segment, numbers in met.items()},
            pruned={str(segment): tuple(sorted(leaves)) for segment, leaves in pruned.items()},
        )
        return BuiltIndex(index, self.parts)


def _starts(edges: Csr) -> list[int]:
    """The rows that parts begin with: a part ends where it has as many rows or pairs as it should have."""
    import numpy as np

    starts, first = [], 0
    while first < edges.rows:
        starts.append(first)
        full = int(np.searchsorted(edges.indptr, edges.indptr[first] + PAIRS_OF_A_PART, side="left"))
        first = min(first + ROWS_OF_A_PART, max(full, first + 1))
    return starts


def _numbers(rows: pa.Table, at: int) -> Numbers:
    import numpy as np

    return np.asarray(rows.column(at).to_numpy(), np.int64)
