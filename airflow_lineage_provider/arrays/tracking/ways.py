"""The paths from a tracked array to a source, each as one relation; nothing is looked at that a path does not lead to."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from airflow_lineage_provider.arrays.boxes import DENSE_CELLS, Boxes, joined
from airflow_lineage_provider.arrays.compose import compose, restrict
from airflow_lineage_provider.arrays.compress import concatenated, merge
from airflow_lineage_provider.arrays.graph import paths
from airflow_lineage_provider.arrays.link import weakest
from airflow_lineage_provider.arrays.log import MOST_PATHS
from airflow_lineage_provider.arrays.path import Step, follow
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.tracking.relations import broadcast
from airflow_lineage_provider.arrays.tracking.results import Operand, Result
from airflow_lineage_provider.errors import TooManyCells
from airflow_lineage_provider.shown import shown

Between = Mapping[tuple[Result, Result], Sequence[Operand]]
"""(output, source): how the one hangs on the other; an array that stands in several places has an operand for each."""


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


@dataclass(frozen=True, eq=False)
class _Crossed:
    """All cells of a region behind each of those asked about."""

    asked: Boxes
    region: Region


@dataclass(eq=False)
class Ways:
    """The paths from some cells of a result.

    :ivar last: the result.
    :ivar region: its cells.
    :ivar names: of all results behind it, each its own.
    """

    last: Result
    region: Region
    names: Mapping[Result, str]
    between: Between
    _led: dict[tuple[Result, ...], Relation | _Crossed] = field(default_factory=dict)
    _reached: dict[tuple[object, ...], Region] = field(default_factory=dict)

    def to(self, source: Result) -> list[Way]:
        """Those to a source, by the cells that they lead to, the fewest first.

        :raises TooManyCells: there are more than `MOST_PATHS` paths.
        """
        edges = [(self.names[source], self.names[output]) for output, source in self.between]
        ends = {name: result for result, name in self.names.items()}
        named = list(itertools.islice(paths(edges, self.names[source], self.names[self.last]), MOST_PATHS + 1))
        if len(named) > MOST_PATHS:
            raise TooManyCells(
                f"more than {MOST_PATHS:,} paths lead to source {shown(self.names[source])}; look at fewer operations at once"
            )
        found = [self._way(tuple(ends[name] for name in one[::-1])) for one in named]
        return sorted(found, key=lambda one: (one.count, one.names))

    def _way(self, path: tuple[Result, ...]) -> Way:
        led = self._follow(path)
        guarantee = weakest(one.guarantee for pair in itertools.pairwise(path) for one in self.between[pair])
        relation = merge(led if isinstance(led, Relation) else _product(led, self.last))
        return Way(tuple(self.names[one] for one in path[:-1]), relation, guarantee)

    def _follow(self, path: tuple[Result, ...]) -> Relation | _Crossed:
        """Where a path leads; paths that begin alike go their common part once."""
        led: Relation | _Crossed = restrict(broadcast(self.last.shape, self.last.shape), self.region.boxes)
        for end in range(2, len(path) + 1):
            if path[:end] not in self._led:
                self._led[path[:end]] = self._further(led, path[end - 2], path[end - 1])
            led = self._led[path[:end]]
        return led

    def _further(self, led: Relation | _Crossed, output: Result, source: Result) -> Relation | _Crossed:
        if isinstance(led, _Crossed):
            return _Crossed(led.asked, self._behind(output, source, led.region))
        operands = self.between[output, source]
        known = [one.relation for one in operands if one.relation is not None]
        if len(known) < len(operands):
            boxes = Region(led.in_shape, parts=led.in_boxes).boxes
            known = [one.within(boxes) for one in operands]
        inner = concatenated(known)
        return _crossed(compose(led, inner, merged=len(inner) > 1))

    def _behind(self, output: Result, source: Result, region: Region) -> Region:
        """The cells behind those of a region; looked for once, whichever paths lead there."""
        key = (output, source, region.boxes.lo.tobytes(), region.boxes.hi.tobytes())
        if key not in self._reached:
            self._reached[key] = Region(
                source.shape, parts=joined([_moved_region(one, region).boxes for one in self.between[output, source]])
            )
        return self._reached[key]


def _moved_region(operand: Operand, region: Region) -> Region:
    if operand.region is not None and max(region.cells, operand.result.cells) <= DENSE_CELLS:
        return operand.region(region)
    return follow([Step(operand.within(region.boxes), True)], ("", ""), region)[0]


def _crossed(relation: Relation) -> Relation | _Crossed:
    """As a product of cells, where it is one: whatever is behind them, further on, is looked for without them."""
    boxes = relation.in_boxes
    if relation.motions or not len(relation) or (boxes.lo != boxes.lo[:, :1]).any() or (boxes.hi != boxes.hi[:, :1]).any():
        return relation
    asked = Region(relation.out_shape, parts=relation.out_boxes).boxes
    return _Crossed(asked, Region(relation.in_shape, parts=boxes.take(slice(0, 1))))


def _product(crossed: _Crossed, last: Result) -> Relation:
    inputs, outputs = crossed.region.boxes, crossed.asked
    one, other = np.repeat(np.arange(len(outputs)), len(inputs)), np.tile(np.arange(len(inputs)), len(outputs))
    still = np.zeros((inputs.rank, len(one)), dtype=np.int8)
    columns = (outputs.lo[:, one], outputs.hi[:, one], inputs.lo[:, other], inputs.hi[:, other])
    return Relation(last.shape, crossed.region.shape, *columns, still, still)
