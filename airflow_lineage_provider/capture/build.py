"""Indexes made of what was found behind all rows of a run's stored segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.classes import Classes
from airflow_lineage_provider.capture.csr import Csr, Edges, csr
from airflow_lineage_provider.capture.ends import Ends
from airflow_lineage_provider.capture.parts import Parts
from airflow_lineage_provider.capture.rids import Listed, RidSpace, counted, in_order
from airflow_lineage_provider.capture.sets import FoundEdges
from airflow_lineage_provider.capture.spooled import ROOM, Room, Spool, fits, inverted
from airflow_lineage_provider.capture.witnesses import BuildingWitnesses
from airflow_lineage_provider.capture.writing import BuiltIndex, Counts, RowSetKey, Writer
from airflow_lineage_provider.errors import IndexTooLarge
from airflow_lineage_provider.tracing.maps import distinct_rows
from airflow_lineage_provider.tracing.reserved import TAG

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from airflow_lineage_provider.capture.classes import Divided
    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.recorded import Side
    from airflow_lineage_provider.capture.sets import Pair, SetTargets
    from airflow_lineage_provider.plan.lineage_keys import InputIdentity
    from airflow_lineage_provider.tracing.trace import Step, StepOf
    from airflow_lineage_provider.tracing.witnesses import FoundWitnesses
    from airflow_lineage_provider.words import CaptureDirection, Difference


_NODES: Mapping[StepOf, Side] = {"rows": "segment", "sets": "set", "groups": "set", "side": "control"}


def too_large(most: int, where: str, counted: int | None = None, what: str = "pairs") -> IndexTooLarge:
    """There are more than ``most`` pairs of rows, or combinations of rows that make pairs; ``counted``: so many, before any was fetched."""
    told = "" if counted is None else f", {counted:,} by counting them"
    return IndexTooLarge(
        f"there are more than {most:,} {what} of rows {where}{told}: raise AIRFLOW_LINEAGE_CAPTURE_LIMIT, or leave the lineage to be "
        "traced when it is asked for"
    )


@dataclass
class Building:
    """What was found so far. ``counts``: of the row sets whose rows are counted by parts; the keys of the others are listed.

    Pairs of rows that are counted on both sides are numbers at once, in bounded memory (`spooled`). Those that lead to sets, or to listed
    keys, wait as they were found: how these are numbered hangs on all of them.

    :ivar most: so many pairs of rows there may be. :ivar wanted: the source leaves whose rows are wanted; None: all.
    :ivar leads_to: for each segment the source leaves that stand behind it. :ivar room: what pairs that are numbers may take.
    :ivar difference: what is kept of the right sides of differences (`recorded.RecordedIndex`).
    """

    counts: Mapping[RowSetKey, Counts]
    most: int
    wanted: frozenset[int] | None = None
    leads_to: Mapping[int, frozenset[int]] = field(default_factory=dict)
    room: Room = field(default_factory=lambda: Room(ROOM))
    difference: Difference = "control"
    _spools: dict[Pair, Spool] = field(default_factory=dict)
    _counted: dict[RowSetKey, RidSpace | None] = field(default_factory=dict)
    _own_rids: dict[RowSetKey, Numbers | None] = field(default_factory=dict)
    _found: FoundEdges = field(default_factory=FoundEdges)
    _outputs: dict[int, pa.Table] = field(default_factory=dict)
    _met: dict[RowSetKey, set[int]] = field(default_factory=dict)
    _pruned: dict[RowSetKey, set[int]] = field(default_factory=dict)
    _above: dict[int, set[RowSetKey]] = field(default_factory=dict)
    _witnesses: BuildingWitnesses | None = None
    _edges: int = 0

    def begin(self, segment: int, numbers: pa.Table) -> None:
        """All rows of a stored segment, by their numbers (``key_0``), about which the steps that follow are."""
        self._outputs[segment] = numbers
        self._met["segment", segment] = set()

    def begin_sets(self, segment: int) -> Iterator[SetTargets]:
        """The sets of a segment that rows of others go back to, about which the steps that follow are."""
        return self._found.begin(segment)

    def sets_once(self, segment: int) -> pa.Table:
        """Those sets, each once: a tag, and what it is found by."""
        return self._found.once(segment)

    def rows_above(self, segment: int) -> list[tuple[RowSetKey, pa.Table]]:
        """The rows that go back to those sets: of each row set tags, which are their places, and what their sets are found by."""
        return self._found.above(segment)

    def leave_sets(self, segment: int) -> None:
        """Do not number them: the steps that follow are about the rows above."""
        self._edges -= self.links_to(segment)
        self._found.leave(segment)

    def links_to(self, segment: int) -> int:
        """How many of the pairs lead from rows to sets of a segment that were not asked about yet."""
        return self._found.links_to(segment) if self._leads_to_wanted(segment) else 0

    def begin_side(self, segment: int) -> None:
        """All rows of the right side of a difference that rows of others passed, about which the steps that follow are."""
        self._met["control", segment] = set()

    @property
    def sides(self) -> set[int]:
        """The segments whose right sides have a say in rows, and whose rows are wanted, and were not asked about yet."""
        met = {number for _, (side, number) in self._found.asked if side == "control"} if self.difference == "rows" else set()
        return {number for number in met if ("control", number) not in self._met}

    @property
    def pending(self) -> set[int]:
        """The segments to whose sets rows go back that were not asked about yet."""
        return self._found.pending

    def rows(self, segment: int) -> pa.Table:
        """All rows of a segment that was begun, by their numbers."""
        return self._outputs[segment]

    @property
    def begun(self) -> set[int]:
        return set(self._outputs)

    def add(self, segment: int, first: int, step: Step, of: StepOf = "rows") -> None:
        """What was found behind some rows of a segment (or sets of one), whose tags count from the row ``first`` on.

        :raises IndexTooLarge: there is more than may be.
        """
        node: RowSetKey = (_NODES[of], segment)
        self._meet(node, step.met)
        for number, rows in step.sources.items():
            if self._is_wanted(node, frozenset({number})):
                self._add(node, ("source", number), first, rows)
        for number, rows in step.segments.items():
            if self._is_wanted(node, self.leads_to.get(number, frozenset())):
                self._add(node, ("segment", number), first, rows)
        own: tuple[tuple[StepOf, Mapping[int, pa.Table]], ...] = (("sets", step.links), ("groups", step.groups))
        for found_by, tables in own:
            for number, rows in tables.items():
                self._go_on(node, number, found_by, first, rows)
        for number, tags in step.controls.items():
            self._controlled(node, number, first, tags)
        self._check_size(f"between segment {segment} and what stands behind it")

    def add_witnesses(self, first: int, found: FoundWitnesses) -> None:
        """Which source rows together made some rows of the result, whose tags count from the row ``first`` on.

        :raises IndexTooLarge: there is more than may be.
        """
        self._witnesses = self._witnesses or BuildingWitnesses()
        self._edges += self._witnesses.add(first, found)
        self._check_size("in the witnesses of the result's rows and what was captured before")

    def _check_size(self, where: str) -> None:
        if self._edges > self.most:
            raise too_large(self.most, where)

    @property
    def edges(self) -> int:
        """So many pairs were found so far."""
        return self._edges

    def wants(self, inputs: Sequence[InputIdentity]) -> bool:
        """Whether rows of any of these inputs lead to source leaves that are wanted."""
        leaves = [frozenset({one.number}) if one.kind == "source" else self.leads_to.get(one.number, frozenset()) for one in inputs]
        return self.wanted is None or any(one & self.wanted for one in leaves)

    def known_rows(self, kind: str, number: int) -> int | None:
        """How many rows a stored segment or a source has, where they are counted by parts."""
        found = next((counts for key, counts in self.counts.items() if key == (kind, number)), None)
        return None if found is None else sum(rows for _, rows in found[1])

    def _stored(self, node: RowSetKey) -> set[RowSetKey]:
        """The stored segments, and controls, whose rows go back to a row set: itself, or those above sets."""
        return self._above.get(node[1], set()) if node[0] == "set" else {node}

    def _meet(self, node: RowSetKey, met: Sequence[int]) -> None:
        for one in self._stored(node):
            self._met[one].update(met)

    def _is_wanted(self, node: RowSetKey, leaves: frozenset[int]) -> bool:
        """Whether any of the source leaves behind an input is; what is left out is remembered."""
        if self.wanted is None or leaves & self.wanted:
            return True
        for one in self._stored(node):
            self._pruned.setdefault(one, set()).update(leaves)
        return False

    def _leads_to_wanted(self, segment: int) -> bool:
        """Whether sets of a segment lead to any source leaf that is wanted."""
        return self.wanted is None or bool(self.leads_to.get(segment, frozenset()) & self.wanted)

    def _add(self, node: RowSetKey, to: RowSetKey, first: int, rows: pa.Table) -> None:
        names = [f"key_{at}" for at in range(rows.num_columns - 1)]
        asked, keys = _numbers(rows, 0) + first, rows.drop_columns([TAG]).rename_columns(names)
        if not self._spooled(node, to, asked, keys):
            self._found.add((node, to), asked, keys)
        self._edges += rows.num_rows

    # --- pairs as numbers -------------------------------------------------------------------------------------------------

    def _spooled(self, node: RowSetKey, to: RowSetKey, asked: Numbers, keys: pa.Table) -> bool:
        """Whether these pairs are numbers from now on: the rows of both sides are counted."""
        own, space = self._rids_of(node), self._counted_space(to)
        if own is None or space is None or not fits(len(own), space.rows):
            return False
        rids = space.rids(keys)
        if (rids < 0).any():
            self._list(to)
            return False
        if (node, to) not in self._spools:
            self._spools[node, to] = self.room.spool(len(own), space.rows)
            self._found.expect((node, to))
        self._spools[node, to].add(own[asked], rids)
        return True

    def _rids_of(self, node: RowSetKey) -> Numbers | None:
        """The rids of the rows of a stored segment that was begun, in their order; None where these are not counted."""
        import numpy as np

        if node[0] == "control":
            return np.zeros(1, np.int64)
        if node not in self._own_rids:
            space, own = self._counted_space(node), self._outputs.get(node[1]) if node[0] == "segment" else None
            rids = None if space is None or own is None or space.rows != own.num_rows else space.rids(own)
            self._own_rids[node] = None if rids is None or (rids < 0).any() else rids
        return self._own_rids[node]

    def _counted_space(self, key: RowSetKey) -> RidSpace | None:
        """How rows are numbered that are counted by parts; None where they are not, or that does not number all of them."""
        if key not in self._counted:
            counts = None if key[0] == "set" else self._counts(key)
            self._counted[key] = None if counts is None else counted(*counts)
        return self._counted[key]

    def _list(self, key: RowSetKey) -> None:
        """The rows of a row set are not all counted: its pairs have keys in place of numbers."""
        import numpy as np

        for node, to in [pair for pair in self._spools if key in pair]:
            spool, own, space = self._spools.pop((node, to)), self._rids_of(node), self._counted_space(to)
            assert own is not None
            assert space is not None
            asked = np.argsort(own)
            for rows, rids in spool.blocks():
                self._found.add((node, to), asked[rows], space.keys(rids))
            self._found.add((node, to), np.empty(0, np.int64), space.keys(np.empty(0, np.int64)))
            self.room.left(spool)
        self._counted[key] = self._own_rids[key] = None

    # --- what is written --------------------------------------------------------------------------------------------------

    def _go_on(self, node: RowSetKey, number: int, of: StepOf, first: int, rows: pa.Table) -> None:
        """Rows go back to sets of a segment, which are found by these."""
        if not rows.num_rows:
            return
        self._above.setdefault(number, set()).update(self._stored(node))
        self._found.met(number, of, node, _numbers(rows, 0) + first, rows.drop_columns([rows.column_names[0]]))
        self._edges += rows.num_rows if self._leads_to_wanted(number) else 0

    def _controlled(self, node: RowSetKey, number: int, first: int, tags: Sequence[int]) -> None:
        import numpy as np

        if self.difference != "data":
            self._found.add((node, ("control", number)), np.array(tags, np.int64) + first)

    def reached(self) -> set[int]:
        """The stored segments whose rows stand behind rows of others."""
        return {number for _, (side, number) in self._found.keys if side == "segment"}

    def indexes(
        self,
        directions: CaptureDirection,
        captured: datetime,
        seconds: float,
        engine: str,
        divided: Divided | None = None,
        parts: Parts | None = None,
    ) -> BuiltIndex:
        """The indexes, whose ``parts`` are written there, and what is to be recorded of them; ``divided`` where not all of all source
        leaves is captured in one.

        :raises IndexTooLarge: the rows behind a segment's are in more classes than there may be pairs.
        """
        self._found.compose()
        for key in self._row_sets():
            if self._counted_space(key) is not None and not self._are_counted(key):
                self._list(key)
        spaces = {key: self._space(key) for key in self._row_sets()}
        self._found.order(spaces)
        built = Writer(parts=parts or Parts())
        by_value = _by_value(divided)
        for key, space in spaces.items():
            if key not in by_value:
                built.add_space(key, space, self._counts(key))
        ends = Ends(self._found.asked, partial(self._csr_of, spaces), lambda key: spaces[key].rows)
        classes = self._divide(divided, spaces, built, ends) if divided is not None else {}
        for (node, to), asked in self._found.asked.items():
            edges, others = self._edges_of(node, to, asked, spaces)
            one = classes.get(to[1], Classes()) if to[0] == "source" else Classes()
            kept, because = one.kept(edges), self._found.kept.get(to[1], "") if to[0] == "set" else ""
            if to in by_value:
                # Of its rows it is as if nothing had been captured.
                for stored in self._stored(node):
                    self._pruned.setdefault(stored, set()).add(to[1])
                kept, others = one.grouped(kept)
                to, one = ("value", to[1]), Classes()
            if directions != "forward" or to[0] == "control":
                self._check_classes(node, kept.rows, one.number)
                built.add_map(node, to, "backward", one.divided(kept), others, one.number, because)
            if directions != "backward" and to[0] != "control":
                built.add_map(node, to, "forward", inverted(kept, others, self.room), kept.rows, because=because)
        # (Of a stored segment that was not asked about the store knows what is behind it.)
        is_whole = directions != "forward" and self.reached() <= self.begun
        whole = [number for side, number in spaces if side == "source" and number not in classes] if is_whole else []
        for leaf, edges, because in ends.slow(self._told(built, captured, seconds, engine).lineage, whole, self.most):
            built.add_map(("segment", 0), ("source", leaf), "backward", edges, spaces["source", leaf].rows, because=because, whole=True)
        if self._witnesses is not None:
            result, sources = spaces["segment", 0], {number: one for (side, number), one in spaces.items() if side == "source"}
            built.add_witnesses(self._witnesses.numbered(result.rids(self._outputs[0]), result.rows, sources))
        return self._told(built, captured, seconds, engine)

    def _told(self, built: Writer, captured: datetime, seconds: float, engine: str) -> BuiltIndex:
        """What was written so far."""
        told = built.recorded(captured, seconds, engine, self._met, self._pruned)
        return replace(told, index=replace(told.index, difference=self.difference))

    def _divide(self, divided: Divided, spaces: Mapping[RowSetKey, RidSpace], built: Writer, ends: Ends) -> dict[int, Classes]:
        """The classes of source leaves' rows, and the cubes of them."""
        classes = {}
        for leaf, table in divided.tables.items():
            if ("source", leaf) not in spaces:
                continue
            classes[leaf] = divided.classes(leaf, spaces["source", leaf], self._behind_any(leaf, spaces))
            built.add_classes(leaf, classes[leaf], table)
            if table.cube:
                edges = classes[leaf].kept(ends.between(("segment", 0), leaf))
                for cube in table.cube:
                    built.add_cube(leaf, cube, edges, partial(divided.cells, leaf, cube))
        return classes

    def _check_classes(self, node: RowSetKey, rows: int, classes: int) -> None:
        if rows * classes > max(self.most, rows):
            raise IndexTooLarge(
                f"the rows of segment {node[1]} times the values of partition_by are {rows * classes:,}, more than {self.most:,}: "
                "partition by fewer values (a year in place of a day), or raise AIRFLOW_LINEAGE_CAPTURE_LIMIT"
            )

    def _behind_any(self, leaf: int, spaces: Mapping[RowSetKey, RidSpace]) -> Numbers:
        """The rids of a source leaf's rows that are behind rows of any segment, ascending."""
        import numpy as np

        space = spaces["source", leaf]
        there = np.zeros(space.rows, bool)
        for (node, to), parts in self._found.keys.items():
            for part in parts if to == ("source", leaf) else ():
                there[space.rids(part)] = True
            for _, rids in self._spools[node, to].blocks() if to == ("source", leaf) and (node, to) in self._spools else ():
                there[rids] = True
        return np.flatnonzero(there)

    def _row_sets(self) -> list[RowSetKey]:
        outputs: list[RowSetKey] = [("segment", number) for number in self._outputs]
        sides = (node for node, _ in self._found.keys if node[0] == "control")
        return list(dict.fromkeys([*outputs, *sides, *(to for _, to in self._found.keys)]))

    def _counts(self, key: RowSetKey) -> Counts | None:
        if key[0] == "control":
            return "numbered", [(0, 1)]
        return ("numbered", [(0, self._found.sets[key[1]])]) if key[0] == "set" else self.counts.get(key)

    def _space(self, key: RowSetKey) -> RidSpace:
        """Rows are counted by parts where that numbers all of them; else they are listed."""
        import pyarrow as pa

        counts = self._counts(key)
        if key[0] == "set" and counts is not None:
            return counted(*counts)
        own = [self._outputs[key[1]]] if key[0] == "segment" and key[1] in self._outputs else []
        return self._counted_space(key) or Listed(in_order(distinct_rows(pa.concat_tables([*own, *self._keys(key)]))))

    def _keys(self, key: RowSetKey) -> list[pa.Table]:
        """The keys of rows of a row set that something leads to, and that are no numbers yet."""
        return [part for (_, to), parts in self._found.keys.items() if to == key for part in parts]

    def _are_counted(self, key: RowSetKey) -> bool:
        """Whether counting by parts numbers all rows of a row set."""
        space = self._counted_space(key)
        if space is None or (key[0] == "segment" and key[1] in self._outputs and self._rids_of(key) is None):
            return False
        return not any((space.rids(part) < 0).any() for part in self._keys(key))

    def _csr_of(self, spaces: Mapping[RowSetKey, RidSpace], node: RowSetKey, to: RowSetKey) -> Csr:
        return self._edges_of(node, to, self._found.asked[node, to], spaces)[0]

    def _edges_of(self, node: RowSetKey, to: RowSetKey, asked: list[Numbers], spaces: Mapping[RowSetKey, RidSpace]) -> tuple[Csr, int]:
        import numpy as np
        import pyarrow as pa

        output, rows = spaces[node], np.concatenate([np.empty(0, np.int64), *asked])
        if node[0] == "segment":
            rows = output.rids(self._outputs[node[1]])[rows]
        if to[0] == "control":
            return csr(Edges(rows, np.zeros(len(rows), np.int64)), output.rows, 1), 1
        parts = self._found.keys[node, to]
        rids = spaces[to].rids(pa.concat_tables(parts)) if parts else np.empty(0, np.int64)
        if (node, to) in self._spools:
            self._spools[node, to].add(rows, rids)  # from end to end, in place of sets
            self._found.expect((node, to))
            return self._spools[node, to].csr(), spaces[to].rows
        return csr(Edges(rows, rids), output.rows, spaces[to].rows), spaces[to].rows


def _by_value(divided: Divided | None) -> frozenset[RowSetKey]:
    """The sources whose values are kept in place of their rows."""
    return frozenset(("source", leaf) for leaf, one in divided.tables.items() if one.granularity) if divided is not None else frozenset()


def _numbers(rows: pa.Table, at: int) -> Numbers:
    import numpy as np

    return np.asarray(rows.column(at).to_numpy(), np.int64)
