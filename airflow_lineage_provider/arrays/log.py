"""Named arrays and the lineage between them, in memory (DSLog, Sec. III.A): the paper's calls, with its names."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider.arrays.boxes import Shape, joined
from airflow_lineage_provider.arrays.cells import Cells
from airflow_lineage_provider.arrays.given import Capture, check_name, check_shape
from airflow_lineage_provider.arrays.graph import outputs_of, paths, reached
from airflow_lineage_provider.arrays.link import GUARANTEES, Link, given_link, weakest
from airflow_lineage_provider.arrays.path import follow
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.registered import Call, Reuse
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.reuse import Signature
from airflow_lineage_provider.arrays.selection import selected
from airflow_lineage_provider.errors import InvalidArray, InvalidRelation, TooManyCells, UnknownArray
from airflow_lineage_provider.shown import shown

MOST_PATHS = 1_000
"""The most paths between two arrays that `Log.trace` follows."""


@dataclass(frozen=True, eq=False)
class TracedPath:
    """One of the paths between two arrays: the names along it, and the cells that it leads to."""

    names: tuple[str, ...]
    cells: Cells


@dataclass(frozen=True, eq=False)
class Traced:
    """What all paths between two arrays lead to.

    :ivar cells: those of all paths together.
    :ivar paths: each path with its own, the one with the fewest cells first.
    """

    cells: Cells
    paths: tuple[TracedPath, ...]


class Log:
    """Arrays and the lineage between them; it lives as long as this object.

    >>> log = Log()
    >>> log.array("A", (3, 2))
    >>> log.array("B", (3,))
    >>> log.lineage("A", "B", [(0, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1), (2, 2, 0), (2, 2, 1)])
    >>> log.prov_query(["B", "A"], [0, 1]).indices().tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """

    def __init__(self, *, confirmations: int = 1) -> None:
        self._shapes: dict[str, Shape] = {}
        self._links: dict[tuple[str, str], Link] = {}
        self._reuse = Reuse(confirmations)

    def array(self, name: str, shape: Sequence[int]) -> None:
        """Name an array. Saying the same again is nothing.

        :param shape: () is an array of one cell; a side may be 0.
        :raises InvalidArray: the name or the shape is none, or the name is known with another shape.
        """
        sides = check_shape(check_name(name), shape)
        known = self._shapes.setdefault(name, sides)
        if known != sides:
            raise InvalidArray(
                f"array {shown(name)} is known with shape {known}, and cannot have {sides}; an array that changed needs a new name"
            )

    def lineage(self, source: str, output: str, pairs: Any = None, *, capture: Capture | None = None, guarantee: str = "exact") -> None:
        """Say which cells of one array stand behind which cells of another. Nothing is kept where this fails.

        :param pairs: integers of shape (n, axes of the output + axes of the source), from 0, in any order; or a compressed `Relation`.
        :param capture: in place of ``pairs``: called with the index of each cell of the output, it gives the cells of the source behind it.
        :param guarantee: ``exact``, ``superset`` or ``unavailable``: what the pairs are worth.
        :raises UnknownArray: one of the two has no name here.
        :raises InvalidRelation: the pairs are not what they can be, there is lineage between the two already, or the source is made from
            the output.
        :raises CaptureFailed: the capture raised, or gave something else than cells.
        """
        own, behind = (output, self._shape(output)), (source, self._shape(source))
        self._check_new(source, output, guarantee)
        if (pairs is None) == (capture is None):
            raise InvalidRelation(f"lineage from {shown(source)} to {shown(output)} needs either pairs or a capture")
        found = given_link(pairs, capture, own, behind, guarantee)
        self._links[source, output] = found

    def register_operation(
        self, operation: str, sources: Sequence[str], outputs: Sequence[str], *, args: Any = None, capture: Any = None, reuse: bool = True
    ) -> bool:
        """Say which operation made arrays of others, with lineage between each two (DSLog, Sec. III.A). Nothing is kept where this fails.

        :param args: what the pattern hangs on besides shapes, as JSON: the axis of a sum, say.
        :param capture: what `lineage` takes as pairs or as a capture; of several arrays a mapping from (source, output). It is not asked
            where earlier calls say what it would give (`arrays.reuse`).
        :param reuse: whether it may be known from earlier calls.
        :returns: whether it was.
        :raises CaptureNeeded: there is no capture, and nothing to reuse.
        :raises UnknownArray: an array has no name here.
        :raises InvalidRelation: as of `lineage`; or two arrays are one, or the arguments are no JSON.
        :raises CaptureFailed: as of `lineage`.
        """
        call = Call.of(operation, args, [(one, self._shape(one)) for one in sources], [(one, self._shape(one)) for one in outputs])
        for source, output in call.pairs:
            self._check_new(source, output, GUARANTEES[0])
        known = self._reuse.predicted(call) if reuse else None
        relations = known if known is not None else call.captured(capture)
        for (source, output), relation in zip(call.pairs, relations, strict=True):
            self._links[source, output] = Link(relation, False, GUARANTEES[0])
        if known is None and reuse:
            self._reuse.observe(call, relations)
        elif known is not None:
            self._reuse.unchecked.append((call, capture, relations))
        return known is not None

    def signatures(self) -> list[Signature]:
        """What is known of the operations that were registered: state, hits, and why it is refused."""
        return self._reuse.signatures()

    def verify(self, sample: int = 10) -> list[str]:
        """Capture anew the last operations whose capture was not asked; those whose lineage is another are told, and no longer reused.

        :raises CaptureFailed: a capture fails.
        """
        return self._reuse.verified(sample)

    def relation(self, source: str, output: str) -> Relation:
        """The compressed relation between two arrays; its rows are boxes of output cells.

        :raises UnknownArray: there is none.
        """
        self._shape(source), self._shape(output)
        if (source, output) not in self._links:
            raise UnknownArray(f"there is no lineage from array {shown(source)} to {shown(output)}; {self._neighbours(source)}")
        return self._links[source, output].by_output()

    def prov_query(self, path: Sequence[str], cells: Any, *, merge: bool = True) -> Cells:
        """The cells of the last array of a path that stand behind cells of the first, or before them, as the path goes.

        :param path: names of arrays; each follows the one before it, or goes back from it.
        :param cells: of the first array: an index, slices, a mask, indices or boxes (`selection.selected`).
        :param merge: whether boxes are merged after each hop; the answer is the same.
        :raises UnknownArray: an array is unknown, or there is no lineage between two neighbours.
        :raises InvalidCells: these are not cells of the first array.
        """
        if isinstance(path, str) or not path:
            raise UnknownArray(f"{shown(path)} is no path; it is a list of names of arrays")
        region = selected(cells, path[0], self._shape(path[0]))
        return self._asked(tuple(path), region, merge)

    def trace(self, array: str, cells: Any, *, to: str) -> Traced:
        """The cells of another array that stand behind cells of this one, or before them, along all paths between the two.

        :raises UnknownArray: an array is unknown, or no path leads from the one to the other.
        :raises InvalidCells: these are not cells of the first array.
        :raises TooManyCells: there are more than `MOST_PATHS` paths.
        """
        region = selected(cells, array, self._shape(array))
        self._shape(to)
        names = self.paths(array, to=to)
        found = sorted((TracedPath(one, self._asked(one, region, True)) for one in names), key=lambda one: (one.cells.count, one.names))
        together = Region(self._shape(to), parts=joined([one.cells.region.boxes for one in found]))
        hops = tuple(hop for one in found for hop in one.cells.hops)
        return Traced(Cells(to, together, weakest(one.cells.guarantee for one in found), hops), tuple(found))

    def _shape(self, name: str) -> Shape:
        if not isinstance(name, str) or name not in self._shapes:
            known = ", ".join(shown(one) for one in list(self._shapes)[:20]) or "none"
            raise UnknownArray(f"there is no array {shown(name)}; known are: {known}")
        return self._shapes[name]

    def _check_new(self, source: str, output: str, guarantee: str) -> None:
        """That lineage between the two can be told, whatever it is."""
        where = f"lineage from {shown(source)} to {shown(output)}"
        if guarantee not in GUARANTEES:
            raise InvalidRelation(f"{where}: guarantee={shown(guarantee)} is not known; it can be {', '.join(GUARANTEES)}")
        if (source, output) in self._links:
            raise InvalidRelation(f"{where} is there already; an array that was made anew needs a new name")
        made = outputs_of(self._links)
        if source in reached(output, lambda name: made.get(name, ())):
            raise InvalidRelation(f"{where} would be a circle: the source is, or is made from, the output; a later state needs a new name")

    def paths(self, start: str, *, to: str) -> list[tuple[str, ...]]:
        """All paths from one array to another, forward or backward: as no array is made from itself, not both.

        :raises UnknownArray: no path leads from the one to the other.
        :raises TooManyCells: there are more than `MOST_PATHS`.
        """
        ahead = itertools.islice(paths(self._links, start, to), MOST_PATHS + 1)
        back = itertools.islice(paths(self._links, to, start), MOST_PATHS + 1) if start != to else ()
        found = [*ahead, *(one[::-1] for one in back)]
        if not found:
            raise UnknownArray(f"no path leads from array {shown(start)} to {shown(to)}; {self._neighbours(start)}")
        if len(found) > MOST_PATHS:
            raise TooManyCells(
                f"more than {MOST_PATHS:,} paths lead from {shown(start)} to {shown(to)}; ask along one of them (prov_query)"
            )
        return found

    def guarantee(self, path: Sequence[str]) -> str:
        """What the relations along a path are worth together.

        :raises UnknownArray: there is no lineage between two neighbours.
        """
        return weakest(self._between(*pair)[0].guarantee for pair in itertools.pairwise(path))

    def _asked(self, names: tuple[str, ...], region: Region, merge: bool) -> Cells:
        links = [self._between(*pair) for pair in itertools.pairwise(names)]
        region, hops = follow([one.step(backward) for one, backward in links], names, region, merge=merge)
        return Cells(names[-1], region, self.guarantee(names), hops)

    def _between(self, start: str, end: str) -> tuple[Link, bool]:
        """The link between two neighbours of a path, and whether it is gone backward."""
        self._shape(start), self._shape(end)
        for pair, backward in (((start, end), False), ((end, start), True)):
            if pair in self._links:
                return self._links[pair], backward
        raise UnknownArray(f"there is no lineage between arrays {shown(start)} and {shown(end)}; {self._neighbours(start)}")

    def _neighbours(self, name: str) -> str:
        linked = [shown(one) for pair in self._links if name in pair for one in pair if one != name]
        return f"{shown(name)} is linked with {', '.join(linked[:20]) or 'none'}"
