"""The lineage of a tracked array: its results as a `Log`, with the pairs that lie behind the cells asked about, and asked by path."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Boxes, joined, nothing
from airflow_lineage_provider.arrays.compress import concatenated
from airflow_lineage_provider.arrays.link import weakest
from airflow_lineage_provider.arrays.log import Log, Traced
from airflow_lineage_provider.arrays.path import Step, follow
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.selection import selected
from airflow_lineage_provider.arrays.tracking.array import tracked_array
from airflow_lineage_provider.arrays.tracking.results import Followed, Operand, Result, followed, in_order
from airflow_lineage_provider.arrays.tracking.ways import Between, Way, Ways
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

    :ivar last: the array's result.
    :ivar region: the cells asked about.
    :ivar names: of each result behind it, and of itself: a source's own, the operation's, and a number where it has several.
    :ivar between: (output, source): how the one hangs on the other. None stands before those that its source stands in as an output.
    """

    last: Result
    region: Region
    names: Mapping[Result, str]
    between: Between

    @cached_property
    def sources(self) -> Mapping[str, Result]:
        """By name."""
        return {name: one for one, name in self.names.items() if one.is_source}

    @cached_property
    def log(self) -> Log:
        """The results by their names, with the pairs that lie behind the cells asked about, and no others."""
        log = Log()
        for result, name in self.names.items():
            log.array(name, result.shape)
        reached: dict[Result, list[Boxes]] = {self.last: [self.region.boxes]}
        for output, pairs in itertools.groupby(self.between, key=lambda pair: pair[0]):
            boxes = Region(output.shape, parts=joined([nothing(len(output.shape)), *reached.pop(output, [])])).boxes
            for pair in pairs:
                relation = concatenated([one.within(boxes) for one in self.between[pair]])
                guarantee = weakest(one.guarantee for one in self.between[pair])
                log.lineage(self.names[pair[1]], self.names[output], relation, guarantee=guarantee)
                found, _ = follow([Step(relation, True)], ("", ""), Region(output.shape, parts=boxes))
                reached.setdefault(pair[1], []).append(found.boxes)
        return log

    def traced(self, source: str) -> Traced:
        """The cells of a source, by path."""
        boxes = self.region.boxes
        return self.log.trace(self.names[self.last], np.stack([boxes.lo.T, boxes.hi.T + 1], axis=-1), to=source)

    @cached_property
    def _ways(self) -> Ways:
        return Ways(self.last, self.region, self.names, self.between)

    def ways(self, source: str) -> list[Way]:
        """The paths to a source, each as one relation, by the cells that they lead to, the fewest first.

        :raises TooManyCells: there are too many paths.
        """
        return self._ways.to(self.sources[source])


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
    between: dict[tuple[Result, Result], list[Operand]] = {}
    for output in reversed(results):
        for one in followed(output, influence=influence):
            between.setdefault((output, one.result), []).append(one)
    return Recorded(last, region, _names(results), between)


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
