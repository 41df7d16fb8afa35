"""The lineage of a tracked array: its results as a `Log`, with the pairs that lie behind the cells asked about, and asked by path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Boxes, joined, nothing
from airflow_lineage_provider.arrays.compose import compose, restrict
from airflow_lineage_provider.arrays.compress import concatenated
from airflow_lineage_provider.arrays.link import weakest
from airflow_lineage_provider.arrays.log import Log, Traced
from airflow_lineage_provider.arrays.path import Step, follow
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.selection import selected
from airflow_lineage_provider.arrays.tracking.array import tracked_array
from airflow_lineage_provider.arrays.tracking.relations import broadcast
from airflow_lineage_provider.arrays.tracking.results import Followed, Operand, Result, followed, in_order
from airflow_lineage_provider.errors import InvalidArray, UnknownArray
from airflow_lineage_provider.shown import shown


def trace(array: Any, cells: Any, *, to: str, influence: bool = False) -> Traced:
    """The cells of a source that cells of a tracked array were computed from, with those of each path.

    :param array: what numpy's operations made of sources (`source`), or pandas's of frames (`frame`).
    :param cells: of it: an index, slices, a mask, indices or boxes (`selection.selected`).
    :param to: the name of the source.
    :param influence: whether cells count that were only compared, or selected by.
    :raises NotTracked: it is no tracked array.
    :raises UnknownArray: the array was not made from this source.
    :raises InvalidCells: these are not cells of the array.
    """
    recorded = record(array, cells, influence=influence)
    if to not in recorded.sources:
        known = ", ".join(map(shown, recorded.sources)) or "none"
        raise UnknownArray(f"the array was not computed from a source {shown(to)}; its sources: {known}")
    return recorded.traced(to)


@dataclass(frozen=True, eq=False)
class Recorded:
    """The lineage of some cells of a tracked array.

    :ivar log: has a name for each result: a source's own, the operation's, and a number where it has several.
    :ivar name: of the array itself.
    :ivar region: the cells asked about.
    :ivar sources: by name.
    """

    log: Log
    name: str
    region: Region
    sources: Mapping[str, Result]

    def traced(self, source: str) -> Traced:
        """The cells of a source, by path."""
        boxes = self.region.boxes
        return self.log.trace(self.name, np.stack([boxes.lo.T, boxes.hi.T + 1], axis=-1), to=source)

    def ways(self, source: str) -> list[Way]:
        """The paths to a source, each as one relation, by the cells that they lead to, the fewest first."""
        own = restrict(broadcast(self.region.shape, self.region.shape), self.region.boxes)
        relations: dict[tuple[str, ...], Relation] = {(self.name,): own}
        found = []
        for path in self.log.paths(self.name, to=source):
            for end in range(2, len(path) + 1):
                if path[:end] not in relations:
                    last = self.log.relation(path[end - 1], path[end - 2])
                    relations[path[:end]] = last if end == 2 else compose(relations[path[: end - 1]], last)
            found.append(Way(path[:-1], relations[path], self.log.guarantee(path)))
        return sorted(found, key=lambda one: (one.count, one.names))


@dataclass(frozen=True, eq=False)
class Way:
    """A path from a tracked array to one of its sources.

    :ivar names: of the results on it, the array's own first; the source is not among them.
    :ivar relation: between the cells asked about and the source's.
    """

    names: tuple[str, ...]
    relation: Relation
    guarantee: str

    @property
    def count(self) -> int:
        """How many cells of the source there are at most."""
        return Region(self.relation.in_shape, parts=self.relation.in_boxes).count


def record(array: Any, cells: Any, *, influence: bool) -> Recorded:
    """The results behind a tracked array as a log; its relations have the pairs behind these cells, and no others.

    :raises NotTracked: it is no tracked array.
    :raises InvalidArray: two of its sources have one name.
    """
    tracked = array if isinstance(array, Followed) else tracked_array(array)
    return record_result(tracked.result, selected(cells, "that is traced", tracked.shape), influence=influence)


def record_result(last: Result, region: Region, *, influence: bool) -> Recorded:
    """The same, of a result."""
    results = in_order(last, influence=influence)
    names = _names(results)
    log = Log()
    for result in results:
        log.array(names[result], result.shape)
    reached: dict[Result, list[Boxes]] = {last: [region.boxes]}
    for result in reversed(results):
        boxes = Region(result.shape, parts=joined([nothing(len(result.shape)), *reached.pop(result, [])])).boxes
        for source, relation, guarantee in _behind(result, boxes, influence):
            log.lineage(names[source], names[result], relation, guarantee=guarantee)
            found, _ = follow([Step(relation, True)], ("", ""), Region(result.shape, parts=boxes))
            reached.setdefault(source, []).append(found.boxes)
    return Recorded(log, names[last], region, {one.name: one for one in results if one.is_source})


def _behind(result: Result, boxes: Boxes, influence: bool) -> list[tuple[Result, Relation, str]]:
    """One relation with each array; an array that stands in several places has the pairs of all."""
    operands: dict[Result, list[Operand]] = {}
    for one in followed(result, influence=influence):
        operands.setdefault(one.result, []).append(one)
    return [
        (source, concatenated([one.within(boxes) for one in found]), weakest(one.guarantee for one in found))
        for source, found in operands.items()
    ]


def _names(results: list[Result]) -> dict[Result, str]:
    """A name for each; sources keep their own."""
    names: dict[Result, str] = {}
    taken: set[str] = set()
    for result in sorted(results, key=lambda one: not one.is_source):
        name, number = result.name, 1
        while name in taken:
            if result.is_source:
                raise InvalidArray(f"two sources are named {shown(name)}; their cells could not be told apart, so each needs its own name")
            number += 1
            name = f"{result.name} {number}"
        names[result] = name
        taken.add(name)
    return names
