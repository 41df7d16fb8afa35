"""Where a log keeps what it is told: in memory, or elsewhere, behind the same few questions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.graph import outputs_of, reached
from airflow_lineage_provider.arrays.labels import Labels
from airflow_lineage_provider.arrays.link import Link
from airflow_lineage_provider.arrays.reuse import Operation
from airflow_lineage_provider.errors import InvalidArray, InvalidRelation
from airflow_lineage_provider.shown import shown

Pair = tuple[str, str]
"""The names of a source and of an output."""
Lesson = tuple[str, Callable[[Operation], None]]
"""The name of an operation, and what is to be noted of it: whoever keeps operations notes it in the newest state."""


AHEAD = 8
"""By so much a relation has to be larger, that a question reads parts of it which comes from the cells that its rows are not boxes of: all
rows may have to be looked at, as is seen too late."""


class InParts(NamedTuple):
    """Relations that may be read in parts.

    :ivar least: of more bytes than these, or than `AHEAD` times as many where the question goes from input to output cells, or the other
        way through one that is turned (`arrays.link.Link`).
    :ivar ahead: the pairs that it goes along from source to output.
    """

    least: int
    ahead: Collection[Pair]


@dataclass(frozen=True)
class Said:
    """What is kept together, or not at all.

    :ivar shapes: of new arrays, by name.
    :ivar links: new lineage between arrays.
    :ivar labels: of those new arrays that have some.
    """

    shapes: Mapping[str, Shape] = field(default_factory=dict)
    links: Mapping[Pair, Link] = field(default_factory=dict)
    lessons: Sequence[Lesson] = ()
    labels: Mapping[str, Labels] = field(default_factory=dict)


@dataclass(frozen=True)
class Known:
    """What a question needs, read at once.

    :ivar shapes: of arrays, by name; of those that there are.
    :ivar links: the lineage between arrays; where there is some.
    :ivar labels: of arrays; where there are some.
    """

    shapes: Mapping[str, Shape] = field(default_factory=dict)
    links: Mapping[Pair, Link] = field(default_factory=dict)
    labels: Mapping[str, Labels] = field(default_factory=dict)


class Keeping(Protocol):
    """What a log asks of where its arrays are kept."""

    def known(self, names: Collection[str], pairs: Collection[Pair] = (), parts: InParts | None = None) -> Known:
        """The shapes and the labels of arrays, and the lineage between pairs of them.

        :param parts: which relations may be read in parts, by the question that goes along them, soon; all are read whole without.
        """

    def names(self, most: int) -> list[str]:
        """Names of arrays, so many at most."""

    def linked(self, name: str) -> list[str]:
        """The arrays that lineage links directly with this one, either way."""

    def edges(self, starts: Iterable[str]) -> list[Pair]:
        """The links by which something is made from these arrays, in however many steps; others may be among them."""

    def has(self, pair: Pair) -> bool:
        """Whether there is lineage between the two."""

    def operation(self, name: str) -> Operation:
        """What is known of an operation."""

    def operations(self) -> list[Operation]:
        """All operations of which something is known."""

    def enter(self, said: Said) -> None:
        """Keep this, all of it or nothing.

        :raises InvalidArray: an array is known with another shape, or with other labels.
        :raises InvalidRelation: the lineage is there already, or would be a circle.
        """


class Memory:
    """What lives as long as this object; its log has checked what it is given."""

    def __init__(self, confirmations: int) -> None:
        self.shapes: dict[str, Shape] = {}
        self.links: dict[Pair, Link] = {}
        self.labels: dict[str, Labels] = {}
        self.by_operation: dict[str, Operation] = {}
        self._confirmations = confirmations

    def known(self, names: Collection[str], pairs: Collection[Pair] = (), parts: InParts | None = None) -> Known:
        """See `Keeping`, as for the rest."""
        shapes = {name: self.shapes[name] for name in names if name in self.shapes}
        labels = {name: self.labels[name] for name in shapes if name in self.labels}
        return Known(shapes, {pair: self.links[pair] for pair in pairs if pair in self.links}, labels)

    def names(self, most: int) -> list[str]:
        return list(itertools.islice(self.shapes, most))

    def linked(self, name: str) -> list[str]:
        return [one for pair in self.links if name in pair for one in pair if one != name]

    def edges(self, starts: Iterable[str]) -> list[Pair]:
        return list(self.links)

    def has(self, pair: Pair) -> bool:
        return pair in self.links

    def operation(self, name: str) -> Operation:
        return self.by_operation.setdefault(name, Operation(name, self._confirmations))

    def operations(self) -> list[Operation]:
        return list(self.by_operation.values())

    def enter(self, said: Said) -> None:
        for name, note in said.lessons:
            note(self.operation(name))
        self.shapes.update(said.shapes)
        self.links.update(said.links)
        self.labels.update(said.labels)


def check_shape_is(name: str, sides: Shape, known: Shape | None) -> None:
    """That an array is not known with another shape.

    :raises InvalidArray: it is.
    """
    if known is not None and known != sides:
        raise InvalidArray(
            f"array {shown(name)} is known with shape {known}, and cannot have {sides}; an array that changed needs a new name"
        )


def said_already(pair: Pair) -> InvalidRelation:
    """That there is lineage between the two."""
    return InvalidRelation(f"{between(pair)} is there already; an array that was made anew needs a new name")


def check_no_circle(pairs: Iterable[Pair], edges: Iterable[Pair]) -> None:
    """That new links make no array from itself.

    :param edges: the links that are there, at least those that lead on from the outputs of the new ones.
    :raises InvalidRelation: one does.
    """
    pairs = list(pairs)
    made = outputs_of(dict.fromkeys([*edges, *pairs]))
    for source, output in pairs:
        if source in reached(output, lambda name: made.get(name, ())):
            where = between((source, output))
            raise InvalidRelation(f"{where} would be a circle: the source is, or is made from, the output; a later state needs a new name")


def between(pair: Pair) -> str:
    """Of which lineage a message is."""
    return f"lineage from {shown(pair[0])} to {shown(pair[1])}"
