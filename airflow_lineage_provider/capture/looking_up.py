"""Captured lineage, asked: the indexes of a run, of which only the parts that a question needs are fetched."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from airflow_lineage_provider.capture.csr import Edges
from airflow_lineage_provider.capture.encodings import ENCODINGS
from airflow_lineage_provider.capture.recorded import Direction, RecordedClasses, RecordedCube, RecordedIndex, RecordedMap, Side
from airflow_lineage_provider.capture.rids import Listed, RidSpace, counted
from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.tracing.maps import RESULT, Rows, RowSet, distinct_rows
from airflow_lineage_provider.tracing.numbers import different
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.trace import Step

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.encodings.encoding import Encoding

Fetch = Callable[[int, Sequence[int]], Mapping[int, "pa.Array"]]
"""Parts of the index of a number, as they were written (`encodings.written.from_bytes`), by their numbers."""
Tagged: TypeAlias = "tuple[Numbers, Numbers]"
"""Tags, and for each the number of a row that answers to it."""
Node: TypeAlias = tuple[Side, int]
"""A row set: a stored segment's, a source leaf's, the sets of a segment (`capture.sets`), or a control: all rows of the right side of a
difference, as one."""


@dataclass(frozen=True, eq=False)
class LookedUpLineage:
    """The captured lineage of a run (`tracing.lazy.CapturedLineage`).

    ``within``: the source leaves of which only rows are asked for that were captured (`recorded.RecordedClasses`), and of each the classes
    that are (None: all). ``meeting``: those of them of which all rows of these classes, and no others, are asked for.
    """

    index: RecordedIndex
    fetch: Fetch
    within: Mapping[int, Numbers | None] = field(default_factory=dict)
    meeting: frozenset[int] = frozenset()
    _spaces: dict[Node, RidSpace] = field(default_factory=dict)

    @property
    def pruned(self) -> frozenset[int]:
        """The source leaves that were not captured, of any segment, or of which not all rows were that are asked for."""
        return self._left_out | self.index.pruned_leaves

    @property
    def _left_out(self) -> frozenset[int]:
        """The source leaves of which rows that may be asked for were not captured."""
        return frozenset(one.leaf for one in self.index.classes if one.where and one.leaf not in self.within)

    def asked_for(self, within: Mapping[int, Numbers | None], meeting: Collection[int] = ()) -> LookedUpLineage:
        """The same of which only some rows of source leaves are asked for, of those of ``meeting`` all of their classes."""
        return replace(self, within=within, meeting=frozenset(meeting))

    def gives_what_is_asked_for(self, leaf: int) -> bool:
        """Whether the rows of a source leaf that are looked up behind others are those that are asked for, and none besides: the indexes
        that lead to them are divided into classes, of which the others are not looked up."""
        own = [one for one in self.index.maps if (one.side, one.input) == ("source", leaf)]
        led = {one.node for one in own if one.direction == "backward" and (one.classes > 1 or self.within.get(leaf) is None)}
        return leaf in self.meeting and led == {one.node for one in own} and not any(one.whole for one in own)

    def values(self, classes: RecordedClasses) -> pa.Table | None:
        """What the classes of a leaf's rows stand for, class by class; None where they are one class.

        :raises RecordDamaged: as `step`.
        """
        return None if classes.values is None else self._listed(classes.values, classes.value_parts)

    def flags(self, number: int) -> npt.NDArray[Any]:
        """What is written of each row, or class, of a leaf, beside the indexes: true or false.

        :raises RecordDamaged: as `step`.
        """
        found: npt.NDArray[Any] = self.parts(number, [0])[0].to_numpy(zero_copy_only=False)
        return found

    def cells(self, cube: RecordedCube, numbers: Sequence[int]) -> pa.Table:
        """The cells of a cube that rows of the result have, by their numbers.

        :raises RecordDamaged: as `step`.
        """
        import numpy as np
        import pyarrow as pa

        rids = self.space("segment", 0).rids(pa.table({"key_0": pa.array(numbers, pa.int64())}))
        part = np.searchsorted(np.array(cube.starts, np.int64), rids, side="right") - 1
        arrays = self.parts(cube.number, sorted({0, *part.tolist()}))
        found = [array.take(pa.array(rids[part == number] - cube.starts[number])).flatten() for number, array in arrays.items()]
        return pa.Table.from_struct_array(pa.chunked_array(found))

    def step(
        self, segment: int, target: pa.Table, wanted: frozenset[int] | None = None, *, differences: bool = False
    ) -> tuple[Step, str] | None:
        """What stands behind rows of a stored segment: a table of tag and row number. ``wanted``: the source leaves that are asked for.
        ``differences``: with all rows of the right sides of those that they passed.

        :raises RecordDamaged: a part is missing, or cannot be what was written.
        """
        left_out = {*self.index.pruned.get(str(segment), ()), *(self._leads_to(("segment", segment), differences) & self._left_out)}
        if differences:
            left_out.update(leaf for own in self.index.sides_pruned.values() for leaf in own)
        if str(segment) not in self.index.met or (left_out and (wanted is None or not wanted.isdisjoint(left_out))):
            return None
        if differences and self.index.difference != "rows":
            return None
        rids = self.space("segment", segment).rids(target.select([1]).rename_columns(["key_0"]))
        found, used = self._behind(("segment", segment), _numbers(target, 0), rids, differences)
        controls = {number: tuple(sorted({*tags.tolist()})) for (side, number), (tags, _) in found.items() if side == "control"}
        sources, segments = (
            {number: self._tagged(side, number, *pairs) for (side, number), pairs in found.items() if side == kind}
            for kind in ("source", "segment")
        )
        sides = controls if differences else ()
        met = tuple(sorted({*self.index.met[str(segment)]}.union(*(self.index.sides_met.get(str(one), ()) for one in sides))))
        return Step(sources=sources, segments=segments, controls=controls, met=met), self.names(used, "backward")

    def _behind(self, start: Node, tags: Numbers, rids: Numbers, differences: bool) -> tuple[dict[Node, Tagged], list[RecordedMap]]:
        """What stands behind rows, down to stored segments and sources, by way of sets of rows, and of right sides of ``differences``; and
        the indexes that were asked."""
        ways = ("set", "control") if differences else ("set",)
        found: dict[Node, list[Tagged]] = {}
        waiting, used = {start: [(tags, rids)]}, list[RecordedMap]()
        while waiting:
            # What stands behind a set has greater numbers, but for its segment's control.
            node = min(waiting, key=place)
            asked = waiting.pop(node)
            tags, rids = asked[0] if node == start else _once(asked)
            for one in (each for each in self.maps(node, "backward") if each.side != "value"):
                edges, to = self.edges(one, rids, "backward"), (one.side, one.input)
                used.append(one)
                if not len(edges.rid):
                    continue
                pairs = (tags[edges.asked], edges.rid)
                if one.side in ways:
                    waiting.setdefault(to, []).append(pairs)
                if one.side != "set":
                    found.setdefault(to, []).append(pairs)
        is_direct = not any(one.side in ways for one in used)
        return {to: pairs[0] if is_direct else _once(pairs) for to, pairs in found.items()}, used

    def from_end_to_end(self, rows: Rows, leaves: Sequence[int]) -> tuple[dict[int, pa.Table], str] | None:
        """Tag and lineage key of the rows of source leaves that stand behind rows of the result, and what they were looked up in; None
        where it is not kept of each of the leaves from end to end (`capture.ends`). It is what `step` after `step` says.

        :raises RecordDamaged: as `step`.
        """
        kept = {one.input: one for one in self.index.maps if one.whole}
        if rows.of != RESULT or not kept.keys() >= {*leaves}:
            return None
        tags, rids = _numbers(rows.keys, 0), self.space("segment", 0).rids(rows.keys.drop_columns([TAG]))
        found = {leaf: self.edges(kept[leaf], rids, "backward") for leaf in leaves}
        tables = {leaf: self._tagged("source", leaf, tags[edges.asked], edges.rid) for leaf, edges in found.items()}
        return tables, f"{self.names([kept[leaf] for leaf in leaves], 'backward')}, from end to end"

    def rids_behind(self, rids: Numbers, leaf: int) -> Numbers:
        """The rids of a source leaf's rows behind rows of the result, given by theirs, by way of all that stands between; ascending.

        :raises RecordDamaged: as `step`.
        """
        import numpy as np

        waiting: dict[Node, list[Tagged]] = {("segment", 0): [(np.zeros(len(rids), np.int64), rids)]}
        found = [np.empty(0, np.int64)]
        while waiting:
            # What stands behind a segment has greater numbers.
            node = min(waiting, key=place)
            for (side, number), pairs in self._behind(node, *_once(waiting.pop(node)), False)[0].items():
                if (side, number) == ("source", leaf):
                    found.append(pairs[1])
                elif side == "segment":
                    waiting.setdefault((side, number), []).append(pairs)
        return different(np.concatenate(found))

    def _leads_to(self, node: Node, differences: bool) -> set[int]:
        """The source leaves behind a row set, down to stored segments."""
        own = [one for one in self.index.maps if one.node == node]
        ways = ("set", "control") if differences else ("set",)
        below = (self._leads_to(to, differences) for to in {(one.side, one.input) for one in own if one.side in ways})
        return {one.input for one in own if one.side == "source"}.union(*below)

    def descendants(self, rows: Rows, output: RowSet, *, differences: bool = False) -> tuple[pa.Table, str] | None:
        """Tag and number of the rows of a stored segment that descend from rows of a source; ``differences``: on their right sides, too.

        :raises RecordDamaged: as `step`.
        """
        (wanted,) = output.numbers
        if output.kind != "segment" or str(wanted) not in self.index.met or not self.is_complete:
            return None
        if differences and self.index.difference != "rows":
            return None
        pruned = self.index.pruned_leaves
        if pruned and (rows.of.kind == "segment" or not pruned.isdisjoint(rows.of.numbers)):
            return None
        if rows.of.kind == "source" and self._are_left_out(rows):
            return None
        return self.down(self._start(rows), wanted, differences)

    def down(self, found: dict[Node, list[Tagged]], wanted: int, differences: bool = False) -> tuple[pa.Table, str]:
        """Tag and number of the rows of a stored segment that descend from rows (or values) whose tags and rids were found.
        ``differences``: by way of their right sides, too.

        :raises RecordDamaged: as `step`.
        """
        used = []
        # The greatest number first, and its control and its sets before its rows, which go back to them.
        for node in sorted({one.node for one in self.index.maps}, key=place, reverse=True):
            for one in (each for each in self.maps(node, "forward") if differences or "control" not in (each.side, each.of)):
                for tags, rids in found.get((one.side, one.input), ()):
                    edges = self.edges(one, rids, "forward")
                    found.setdefault(node, []).append((tags[edges.asked], edges.rid))
                    used.append(one)
            if node[0] != "segment" and node in found:
                found[node] = [_once(found[node])]  # that many ways lead to
        return self._numbered(wanted, found.get(("segment", wanted), [])), self.names(used, "forward")

    def _are_left_out(self, rows: Rows) -> bool:
        """Whether any of a source's rows is in no index though something may descend from it."""
        for one in self.index.classes:
            if one.left_out is not None and one.leaf in rows.of.numbers:
                rids = self.space("source", one.leaf).rids(rows.keys.drop_columns([TAG]))
                if self.flags(one.left_out)[rids[rids >= 0]].any():
                    return True
        return False

    def maps(self, node: Node, direction: Direction) -> list[RecordedMap]:
        """One index for each input of a segment, or of sets: that of this direction, or the one of the other, which has the same pairs."""
        own = [one for one in self.index.maps if one.node == node and not one.whole]
        by_input = {(one.side, one.input): one for one in sorted(own, key=lambda each: each.direction == direction)}
        return list(by_input.values())

    @property
    def is_complete(self) -> bool:
        """Whether what stands behind is captured down to the sources."""
        return {one.input for one in self.index.maps if one.side == "segment"} <= {int(one) for one in self.index.met}

    def _start(self, rows: Rows) -> dict[Node, list[Tagged]]:
        found: dict[Node, list[Tagged]] = {}
        tags, keys = _numbers(rows.keys, 0), rows.keys.drop_columns([TAG])
        for number in rows.of.numbers:
            if any((one.side, one.input) == (rows.of.kind, number) for one in self.index.maps):
                rids = self.space(rows.of.kind, number).rids(keys)
                found[rows.of.kind, number] = [(tags[rids >= 0], rids[rids >= 0])]
        return found

    def _numbered(self, segment: int, found: list[Tagged]) -> pa.Table:
        import numpy as np
        import pyarrow as pa

        tags = np.concatenate([np.empty(0, np.int64), *(one for one, _ in found)])
        rids = np.concatenate([np.empty(0, np.int64), *(one for _, one in found)])
        return distinct_rows(self.space("segment", segment).keys(rids).add_column(0, TAG, pa.array(tags)))

    def _tagged(self, side: Side, number: int, tags: Numbers, rids: Numbers) -> pa.Table:
        import pyarrow as pa

        return self.space(side, number).keys(rids).add_column(0, TAG, pa.array(tags))

    def edges(self, one: RecordedMap, rids: Numbers, direction: Direction) -> Edges:
        """The edges of rows; ``rids`` may be -1, of rows that the index knows nothing of: nothing."""
        encoding = ENCODINGS.get(one.encoding)
        if encoding is None:
            raise RecordDamaged(f"captured lineage is written as {one.encoding!r}, which this release does not know: capture it again")
        ends = [self.space(*one.node).rows, 1 if one.side == "control" else self.space(one.side, one.input).rows]
        rows, others = ends if one.direction == "backward" else reversed(ends)
        if one.direction != direction:
            edges, most = self._turned(one, encoding, rids, others), rows
        elif one.classes > 1:
            edges, most = self._of_classes(one, encoding, rids, others), others
        else:
            edges, most = self._read(one, encoding, rids, others), others
        if len(edges.rid) and int(edges.rid.max()) >= most:
            raise RecordDamaged(f"captured lineage leads to row {int(edges.rid.max()):,}, and there are {most:,}")
        return edges

    def _read(self, one: RecordedMap, encoding: Encoding, rids: Numbers, others: int) -> Edges:
        """Of an index that leads the way that is asked: the parts that the rows are in."""
        import numpy as np

        begins = np.array(one.begins, np.int64)
        part = np.searchsorted(begins, rids, side="right") - 1
        wanted = np.unique(part[rids >= 0])
        asked, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for number, array in self.parts(one.number, wanted.tolist()).items():
            of = np.flatnonzero((part == number) & (rids >= 0))
            place = rids[of] - begins[number]
            if len(array) <= int(place.max()):
                raise RecordDamaged(f"part {number} of captured lineage has {len(array):,} rows, and there are more")
            edges = encoding.of(array, place, others)
            asked.append(of[edges.asked])
            found.append(edges.rid)
        return Edges(np.concatenate(asked), np.concatenate(found))

    def _of_classes(self, one: RecordedMap, encoding: Encoding, rids: Numbers, others: int) -> Edges:
        """Of an index that is divided into classes: those that are asked for."""
        import numpy as np

        asked_for = self.within.get(one.input)
        classes = np.arange(one.classes) if asked_for is None else asked_for
        rows = np.where(rids[:, None] < 0, -1, rids[:, None] * one.classes + classes).ravel()
        edges = self._read(one, encoding, rows, others)
        return Edges(edges.asked // max(len(classes), 1), edges.rid)

    def _turned(self, one: RecordedMap, encoding: Encoding, rids: Numbers, others: int) -> Edges:
        """Of an index that leads the other way: all its parts are searched."""
        import numpy as np

        asked, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        if (rids >= 0).any():
            for number, array in self.parts(one.number, range(one.parts)).items():
                edges = encoding.having(array, rids, others)
                asked.append(edges.asked)
                found.append((edges.rid + one.begins[number]) // one.classes)
        return Edges(np.concatenate(asked), np.concatenate(found))

    def names(self, maps: Sequence[RecordedMap], direction: Direction) -> str:
        """How the indexes are written that were asked; those of the other direction were searched."""
        return ", ".join(sorted({self._name(one, direction) for one in maps})) or "nothing stands behind it"

    def _name(self, one: RecordedMap, direction: Direction) -> str:
        if one.direction != direction and one.side != "control":
            return f"{one.encoding}, searched"
        asked_for = self.within.get(one.input) if one.side == "source" and one.classes > 1 and direction == "backward" else None
        return one.encoding if asked_for is None else f"{one.encoding}, {len(asked_for):,} of {one.classes:,} partitions"

    def parts(self, number: int, wanted: Sequence[int]) -> Mapping[int, pa.Array]:
        """Parts of the index of a number.

        :raises RecordDamaged: one is gone.
        """
        found = self.fetch(number, wanted) if wanted else {}
        gone = sorted({*wanted} - {*found})
        if gone:
            raise RecordDamaged(f"part {gone[0]} of captured lineage is gone: capture it again, or forget it")
        return found

    def space(self, side: Side, number: int) -> RidSpace:
        if (side, number) not in self._spaces:
            recorded = self.index.space(side, number)
            if recorded.keys is None:
                made = counted(recorded.kind, recorded.parts)
            else:
                made = Listed(self._listed(recorded.keys, recorded.key_parts))
            self._spaces[side, number] = made
        return self._spaces[side, number]

    def _listed(self, number: int, parts: int) -> pa.Table:
        """Rows that are written beside the indexes."""
        import pyarrow as pa

        found = self.parts(number, range(parts))
        return pa.Table.from_struct_array(pa.chunked_array([found[part] for part in range(parts)]))


def place(node: Node) -> tuple[int, int]:
    """Where a row set stands on the way down: a segment's rows, what sets they go back to, and what side of it decided as a whole."""
    return node[1], ("segment", "set", "control").index(node[0])


def _once(found: Sequence[Tagged]) -> Tagged:
    """Each pair of tag and number once, in their order.

    >>> import numpy as np
    >>> [one.tolist() for one in _once([(np.array([1, 0]), np.array([5, 7])), (np.array([1]), np.array([5]))])]
    [[0, 1], [7, 5]]
    """
    import numpy as np

    tags, rids = (np.concatenate(each) for each in zip(*found, strict=True))
    each, places = np.unique(tags, return_inverse=True)
    room = int(rids.max(initial=0)) + 1
    both = different(places * room + rids)  # (as many tags as rows: no product is too large)
    return each[both // room], both % room


def _numbers(rows: pa.Table, at: int) -> Numbers:
    import numpy as np

    return np.asarray(rows.column(at).to_numpy(), np.int64)
