"""Captured lineage, asked: the indexes of a run, of which only the parts that a question needs are fetched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.csr import Edges
from airflow_lineage_provider.capture.encodings import ENCODINGS
from airflow_lineage_provider.capture.recorded import ROWS_OF_A_PART, RecordedIndex, RecordedMap, Side
from airflow_lineage_provider.capture.rids import Listed, RidSpace, counted
from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.tracing.maps import Rows, RowSet, distinct_rows
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.trace import Step

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers

Fetch = Callable[[int, Sequence[int]], Mapping[int, "pa.Array"]]
"""Parts of the index of a number, as they were written (`encodings.from_bytes`), by their numbers."""


@dataclass(frozen=True, eq=False)
class LookedUpLineage:
    """The captured lineage of a run (`tracing.lazy.CapturedLineage`)."""

    index: RecordedIndex
    fetch: Fetch
    _spaces: dict[tuple[Side, int], RidSpace] = field(default_factory=dict)

    def step(self, segment: int, target: pa.Table) -> tuple[Step, str] | None:
        """What stands behind rows of a stored segment: a table of tag and row number.

        :raises RecordDamaged: a part is missing, or cannot be what was written.
        """
        maps = [one for one in self.index.maps if (one.segment, one.direction) == (segment, "backward")]
        if str(segment) not in self.index.met or not self._goes(segment, "backward"):
            return None
        rids = self._space("segment", segment).rids(target.select([1]).rename_columns(["key_0"]))
        tags = _numbers(target, 0)
        found: dict[Side, dict[int, pa.Table]] = {"source": {}, "segment": {}}
        controls: dict[int, tuple[int, ...]] = {}
        for one in maps:
            edges = self._edges(one, rids, 1 if one.side == "control" else self._space(one.side, one.input).rows)
            if one.side == "control":
                controls[one.input] = tuple(sorted({*tags[edges.asked].tolist()}))
            elif len(edges.rid):
                found[one.side][one.input] = self._tagged(one.side, one.input, tags, edges)
        controls = {number: own for number, own in controls.items() if own}
        met = self.index.met[str(segment)]
        return Step(sources=found["source"], segments=found["segment"], controls=controls, met=met), _names(maps)

    def descendants(self, rows: Rows, output: RowSet) -> tuple[pa.Table, str] | None:
        """Tag and number of the rows of a stored segment that descend from rows of a source.

        :raises RecordDamaged: as `step`.
        """
        (wanted,) = output.numbers
        if output.kind != "segment" or str(wanted) not in self.index.met or not self._goes(wanted, "forward"):
            return None
        found, used = self._start(rows), []
        for segment in sorted({int(one) for one in self.index.met}, reverse=True):
            for one in (one for one in self.index.maps if (one.segment, one.direction) == (segment, "forward")):
                for tags, rids in found.get((one.side, one.input), ()):
                    edges = self._edges(one, rids, self._space("segment", segment).rows)
                    found.setdefault(("segment", segment), []).append((tags[edges.asked], edges.rid))
                    used.append(one)
        return self._numbered(wanted, found.get(("segment", wanted), [])), _names(used)

    def _goes(self, segment: int, direction: str) -> bool:
        """Whether what stands behind a segment's rows was captured in this direction; a segment may have nothing behind it."""
        own = [one.direction for one in self.index.maps if one.side != "control"]
        return direction in own or not own

    def _start(self, rows: Rows) -> dict[tuple[Side, int], list[tuple[Numbers, Numbers]]]:
        found: dict[tuple[Side, int], list[tuple[Numbers, Numbers]]] = {}
        tags, keys = _numbers(rows.keys, 0), rows.keys.drop_columns([TAG])
        for number in rows.of.numbers:
            if any((one.side, one.input) == (rows.of.kind, number) for one in self.index.maps):
                rids = self._space(rows.of.kind, number).rids(keys)
                found[rows.of.kind, number] = [(tags[rids >= 0], rids[rids >= 0])]
        return found

    def _numbered(self, segment: int, found: list[tuple[Numbers, Numbers]]) -> pa.Table:
        import numpy as np
        import pyarrow as pa

        tags = np.concatenate([np.empty(0, np.int64), *(one for one, _ in found)])
        rids = np.concatenate([np.empty(0, np.int64), *(one for _, one in found)])
        return distinct_rows(self._space("segment", segment).keys(rids).add_column(0, TAG, pa.array(tags)))

    def _tagged(self, side: Side, number: int, tags: Numbers, edges: Edges) -> pa.Table:
        import pyarrow as pa

        return self._space(side, number).keys(edges.rid).add_column(0, TAG, pa.array(tags[edges.asked]))

    def _edges(self, one: RecordedMap, rids: Numbers, others: int) -> Edges:
        """The edges of rows; ``rids`` may be -1, of rows that the index knows nothing of: nothing."""
        import numpy as np

        encoding = ENCODINGS.get(one.encoding)
        if encoding is None:
            raise RecordDamaged(f"captured lineage is written as {one.encoding!r}, which this release does not know: capture it again")
        part, place = np.divmod(rids, ROWS_OF_A_PART)
        wanted = np.unique(part[rids >= 0])
        parts = self._parts(one.number, wanted.tolist())
        asked, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for number, array in parts.items():
            of = np.flatnonzero((part == number) & (rids >= 0))
            if len(array) <= int(place[of].max()):
                raise RecordDamaged(f"part {number} of captured lineage has {len(array):,} rows, and there are more")
            edges = encoding.of(array, place[of], others)
            asked.append(of[edges.asked])
            found.append(edges.rid)
        edges = Edges(np.concatenate(asked), np.concatenate(found))
        if len(edges.rid) and int(edges.rid.max()) >= others:
            raise RecordDamaged(f"captured lineage leads to row {int(edges.rid.max()):,}, and there are {others:,}")
        return edges

    def _parts(self, number: int, wanted: Sequence[int]) -> Mapping[int, pa.Array]:
        found = self.fetch(number, wanted) if wanted else {}
        gone = sorted({*wanted} - {*found})
        if gone:
            raise RecordDamaged(f"part {gone[0]} of captured lineage is gone: capture it again, or forget it")
        return found

    def _space(self, side: Side, number: int) -> RidSpace:
        import pyarrow as pa

        if (side, number) not in self._spaces:
            recorded = self.index.space(side, number)
            if recorded.keys is None:
                made = counted(recorded.kind, recorded.parts)
            else:
                made = Listed(pa.Table.from_struct_array(self._parts(recorded.keys, [0])[0]))
            self._spaces[side, number] = made
        return self._spaces[side, number]


def _names(maps: Sequence[RecordedMap]) -> str:
    return ", ".join(sorted({one.encoding for one in maps})) or "nothing stands behind it"


def _numbers(rows: pa.Table, at: int) -> Numbers:
    import numpy as np

    return np.asarray(rows.column(at).to_numpy(), np.int64)
