"""Named arrays and the lineage between them (DSLog, Sec. III.A): the paper's calls, with its names."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider.arrays.boxes import Shape, joined
from airflow_lineage_provider.arrays.cells import Cells
from airflow_lineage_provider.arrays.given import Capture, check_name, check_shape, is_name
from airflow_lineage_provider.arrays.graph import paths
from airflow_lineage_provider.arrays.keeping import (
    InParts,
    Keeping,
    Known,
    Memory,
    Said,
    between,
    check_no_circle,
    check_shape_is,
    said_already,
)
from airflow_lineage_provider.arrays.labels import NO_LABELS, check_labels, check_labels_are
from airflow_lineage_provider.arrays.link import GUARANTEES, Link, given_link, kept, weakest, worth
from airflow_lineage_provider.arrays.owner import Owner
from airflow_lineage_provider.arrays.path import follow
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.registered import Call, Unchecked
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.reuse import Signature
from airflow_lineage_provider.arrays.selection import in_parts, selected
from airflow_lineage_provider.errors import InvalidOption, InvalidRelation, TooManyCells, UnknownArray
from airflow_lineage_provider.settings import confirmations
from airflow_lineage_provider.shown import shown

MOST_PATHS = 1_000
"""The most paths between two arrays that `Log.trace` follows."""
_TOLD = 20
"""So many names stand in a message."""


def _confirmations(given: int | None) -> int:
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 0):
        raise InvalidOption(f"confirmations={shown(given)} is no number of captures; it can be a whole number, 0 or more")
    return confirmations() if given is None else given


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
    """Arrays and the lineage between them; in memory they live as long as this object.

    :param confirmations: how many further captures have to give the same before an operation's lineage is reused; by default
        ``AIRFLOW_LINEAGE_CONFIRMATIONS``. :raises InvalidOption: it is no such number.
    :param kept: where they are kept; in memory without.
    :param owner: whose arrays are named here: a name is one of its own, unless it is another owner's, in full.

    >>> log = Log()
    >>> log.array("A", (3, 2))
    >>> log.array("B", (3,))
    >>> log.lineage("A", "B", [(0, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1), (2, 2, 0), (2, 2, 1)])
    >>> log.prov_query(["B", "A"], [0, 1]).indices().tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """

    def __init__(self, *, confirmations: int | None = None, kept: Keeping | None = None, owner: Owner | None = None) -> None:
        self._kept: Keeping = Memory(_confirmations(confirmations)) if kept is None else kept
        self._owner = owner
        self._unchecked = Unchecked()

    def array(self, name: str, shape: Sequence[int], *, labels: Mapping[int, Iterable[str]] | None = None) -> None:
        """Name an array. Saying the same again is nothing.

        :param shape: () is an array of one cell; a side may be 0.
        :param labels: texts by the axis, one for each position along it: of a table its columns, ``{1: ["client", "price"]}``. Cells can be
            asked for by them, and answers tell them (`Cells.labels`).
        :raises InvalidArray: the name, the shape or the labels are none, or the name is known with others.
        """
        sides = check_shape(check_name(name), shape)
        said = check_labels(name, sides, labels)
        full = self._full(name)
        known = self._known(full)
        check_shape_is(full, sides, known.shapes.get(full))
        if full not in known.shapes:
            self._kept.enter(Said({full: sides}, labels={full: said} if said else {}))
        else:
            check_labels_are(full, said, known.labels.get(full, NO_LABELS))

    def labels(self, name: str) -> dict[int, tuple[str, ...]]:
        """The labels of an array, by the axis; of those axes that have some.

        :raises UnknownArray: there is no such array.
        """
        full = self._full(name)
        known = self._known(full)
        self._shape(full, known)
        return dict(known.labels.get(full, NO_LABELS))

    def lineage(self, source: str, output: str, pairs: Any = None, *, capture: Capture | None = None, guarantee: str | None = None) -> None:
        """Say which cells of one array stand behind which cells of another. Nothing is kept where this fails.

        :param pairs: integers of shape (n, axes of the output + axes of the source), from 0, in any order; or a compressed `Relation`.
        :param capture: in place of ``pairs``: called with the index of each cell of the output, it gives the cells of the source behind it.
        :param guarantee: ``exact``, ``superset`` or ``unavailable``: what the pairs are worth; exact by default, but of estimates
            (`arrays.by_lime`, say), which are ``unavailable``.
        :raises UnknownArray: one of the two has no name here.
        :raises InvalidRelation: the pairs are not what they can be, there is lineage between the two already, or the source is made from
            the output.
        :raises CaptureFailed: the capture raised, or gave something else than cells.
        """
        source, output = self._full(source), self._full(output)
        known = self._known(source, output)
        own, behind = (output, self._shape(output, known)), (source, self._shape(source, known))
        guarantee = worth(guarantee, [capture])
        self._check_new(source, output, guarantee)
        if (pairs is None) == (capture is None):
            raise InvalidRelation(f"{between((source, output))} needs either pairs or a capture")
        self._kept.enter(Said(links={(source, output): given_link(pairs, capture, own, behind, guarantee)}))

    def register_operation(
        self,
        operation: str,
        sources: Sequence[str],
        outputs: Sequence[str],
        *,
        args: Any = None,
        capture: Any = None,
        reuse: bool = True,
        guarantee: str | None = None,
        contents: Mapping[str, Any] | None = None,
    ) -> bool:
        """Say which operation made arrays of others, with lineage between each two (DSLog, Sec. III.A). Nothing is kept where this fails.

        :param args: all that the pattern hangs on besides shapes, as JSON: the axis of a sum, say; {} where it is nothing. Where it is not
            said, no shapes are known but such as lie between others (`arrays.reach`).
        :param capture: what `lineage` takes as pairs or as a capture; of several arrays a mapping from (source, output). It is not asked
            where earlier calls say what it would give (`arrays.reuse`).
        :param reuse: whether it may be known from earlier calls.
        :param guarantee: what the captures are worth, as of `lineage`; what is known is reused where the same is said.
        :param contents: of each source its array, or the digest of one (`contents.digest`): what hangs on values is known for the same.
        :returns: whether it was.
        :raises CaptureNeeded: there is no capture, and nothing to reuse.
        :raises UnknownArray: an array has no name here.
        :raises InvalidRelation: as of `lineage`; or two arrays are one, the arguments are no JSON, or contents not the sources'.
        :raises CaptureFailed: as of `lineage`.
        """
        full = [list(map(self._full, names)) for names in (sources, outputs)]
        there = self._known(*(one for names in full for one in names))
        ends = ([(one, self._shape(one, there)) for one in names] for names in full)
        told = None if contents is None else {self._full(name): one for name, one in contents.items()}
        guarantee = worth(guarantee, capture.values() if isinstance(capture, Mapping) else [capture])
        call = Call.of(operation, args, *ends, guarantee=guarantee, contents=told)
        for source, output in call.pairs:
            self._check_new(source, output, guarantee)
        capture = self._captures(capture)
        known = self._kept.operation(call.operation).predicted(*call.shapes, call.contents) if reuse else None
        relations = known if known is not None else call.captured(capture)
        links = {pair: kept(one, guarantee, call.operation) for pair, one in zip(call.pairs, relations, strict=True)}
        lesson = call.reused(known) if known is not None else call.observed(relations)
        self._kept.enter(Said(links=links, lessons=[lesson] if reuse else []))
        if known is not None:
            self._unchecked.add(call, capture, relations)
        return known is not None

    def signatures(self) -> list[Signature]:
        """What is known of the operations that were registered: state, hits, and why it is refused."""
        return [one for operation in self._kept.operations() for one in operation.signatures()]

    def verify(self, sample: int = 10) -> list[str]:
        """Capture anew the last operations whose capture this object did not ask; those whose lineage is another are told, and no longer
        reused.

        :raises CaptureFailed: a capture fails.
        """
        wrong = []
        for call in self._unchecked.wrong(sample):
            self._kept.enter(Said(lessons=[call.refused()]))
            wrong.append(str(call))
        return wrong

    def relation(self, source: str, output: str) -> Relation:
        """The compressed relation between two arrays; its rows are boxes of output cells.

        :raises UnknownArray: there is none.
        """
        source, output = self._full(source), self._full(output)
        known = self._along([(source, output)])
        self._shape(source, known), self._shape(output, known)
        found = known.links.get((source, output))
        if found is None:
            raise UnknownArray(f"there is no lineage from array {shown(source)} to {shown(output)}; {self._neighbours(source)}")
        return found.by_output()

    def prov_query(self, path: Sequence[str], cells: Any, *, merge: bool = True) -> Cells:
        """The cells of the last array of a path that stand behind cells of the first, or before them, as the path goes.

        :param path: names of arrays; each follows the one before it, or goes back from it.
        :param cells: of the first array: an index, slices, labels, a mask, indices or boxes (`selection.selected`).
        :param merge: whether boxes are merged after each hop; the answer is the same.
        :raises UnknownArray: an array is unknown, or there is no lineage between two neighbours.
        :raises InvalidCells: these are not cells of the first array.
        """
        if isinstance(path, str) or not path:
            raise UnknownArray(f"{shown(path)} is no path; it is a list of names of arrays")
        names = tuple(map(self._full, path))
        known = self._along([names], in_parts(cells))
        region = self._selected(cells, names[0], known)
        return self._asked(names, region, merge, known)

    def trace(self, array: str, cells: Any, *, to: str) -> Traced:
        """The cells of another array that stand behind cells of this one, or before them, along all paths between the two.

        :raises UnknownArray: an array is unknown, or no path leads from the one to the other.
        :raises InvalidCells: these are not cells of the first array.
        :raises TooManyCells: there are more than `MOST_PATHS` paths.
        """
        array, to = self._full(array), self._full(to)
        ends = self._known(array, to)
        region, shape = self._selected(cells, array, ends), self._shape(to, ends)
        names = self.paths(array, to=to)
        known = self._along(names, in_parts(cells))
        answers = (TracedPath(one, self._asked(one, region, True, known)) for one in names)
        found = sorted(answers, key=lambda one: (one.cells.count, one.names))
        together = Region(shape, parts=joined([one.cells.region.boxes for one in found]))
        hops = tuple(hop for one in found for hop in one.cells.hops)
        cause = next((one.cells.cause for one in found if one.cells.cause), "")
        worth = weakest(one.cells.guarantee for one in found)
        return Traced(Cells(to, together, worth, hops, cause, ends.labels.get(to, NO_LABELS)), tuple(found))

    def _full(self, name: str) -> str:
        """The name by which an array is kept."""
        return name if self._owner is None else self._owner.full(name)

    def _captures(self, capture: Any) -> Any:
        """Captures by the full names of the arrays that they are between."""
        if not isinstance(capture, Mapping):
            return capture
        return {tuple(map(self._full, pair)) if isinstance(pair, tuple) else pair: one for pair, one in capture.items()}

    def _shape(self, name: str, known: Known) -> Shape:
        found = known.shapes.get(name) if isinstance(name, str) else None
        if found is None:
            others = ", ".join(map(shown, self._kept.names(_TOLD))) or "none"
            raise UnknownArray(f"there is no array {shown(name)}; known are: {others}")
        return found

    def _selected(self, cells: Any, name: str, known: Known) -> Region:
        return selected(cells, name, self._shape(name, known), known.labels.get(name, NO_LABELS))

    def _known(self, *names: str) -> Known:
        """The shapes and labels of arrays, of those that there are."""
        return self._kept.known(list(filter(is_name, names)))

    def _along(self, paths: Iterable[Sequence[str]], least: int | None = None) -> Known:
        """The arrays on paths, and the lineage between neighbours, whichever of the two is made from the other.

        :param least: of how many bytes this has to be, that parts of it are worth reading; without it all of it is read.
        """
        names = [list(filter(is_name, path)) for path in paths]
        ahead = {pair for path in names for pair in itertools.pairwise(path)}
        pairs = ahead | {pair[::-1] for pair in ahead}
        parts = None if least is None else InParts(least, ahead)
        return self._kept.known({name for path in names for name in path}, pairs, parts)

    def _check_new(self, source: str, output: str, guarantee: str) -> None:
        """That lineage between the two can be told, whatever it is."""
        if guarantee not in GUARANTEES:
            where = between((source, output))
            raise InvalidRelation(f"{where}: guarantee={shown(guarantee)} is not known; it can be {', '.join(GUARANTEES)}")
        if self._kept.has((source, output)):
            raise said_already((source, output))
        check_no_circle([(source, output)], self._kept.edges([output]))

    def paths(self, start: str, *, to: str) -> list[tuple[str, ...]]:
        """All paths from one array to another, forward or backward: as no array is made from itself, not both.

        :raises UnknownArray: no path leads from the one to the other.
        :raises TooManyCells: there are more than `MOST_PATHS`.
        """
        start, to = self._full(start), self._full(to)
        ahead = itertools.islice(paths(self._kept.edges([start]), start, to), MOST_PATHS + 1)
        back = itertools.islice(paths(self._kept.edges([to]), to, start), MOST_PATHS + 1) if start != to else ()
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
        names = list(map(self._full, path))
        known = self._along([names])
        return weakest(self._between(*pair, known)[0].guarantee for pair in itertools.pairwise(names))

    def _asked(self, names: tuple[str, ...], region: Region, merge: bool, known: Known) -> Cells:
        links = [self._between(*pair, known) for pair in itertools.pairwise(names)]
        region, hops = follow([one.step(backward) for one, backward in links], names, region, merge=merge)
        cause = next((one.cause for one, _ in links if one.cause), "")
        labels = known.labels.get(names[-1], NO_LABELS)
        return Cells(names[-1], region, weakest(one.guarantee for one, _ in links), hops, cause, labels)

    def _between(self, start: str, end: str, known: Known) -> tuple[Link, bool]:
        """The link between two neighbours of a path, and whether it is gone backward."""
        self._shape(start, known), self._shape(end, known)
        for pair, backward in (((start, end), False), ((end, start), True)):
            found = known.links.get(pair)
            if found is not None:
                return found, backward
        raise UnknownArray(f"there is no lineage between arrays {shown(start)} and {shown(end)}; {self._neighbours(start)}")

    def _neighbours(self, name: str) -> str:
        linked = map(shown, self._kept.linked(name)[:_TOLD])
        return f"{shown(name)} is linked with {', '.join(linked) or 'none'}"
