"""Calls of operations between named arrays, and what is known of the operations from earlier calls."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.compress import merge
from airflow_lineage_provider.arrays.contents import digest
from airflow_lineage_provider.arrays.link import GUARANTEES, fitting, given_link
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.reuse import Contents, Operation, Relations, alike
from airflow_lineage_provider.errors import CaptureNeeded, InvalidRelation
from airflow_lineage_provider.shown import shown

_UNCHECKED = 1_000
"""So many calls that were not captured are kept, to be captured when somebody asks for it."""

Named = tuple[str, Shape]
"""An array's name and shape."""


@dataclass(frozen=True)
class Call:
    """One call of an operation.

    :ivar operation: its name and its arguments, as JSON, and what its captures are worth, where they are not exact.
    """

    operation: str
    sources: tuple[Named, ...]
    outputs: tuple[Named, ...]
    contents: Contents = ()

    @classmethod
    def of(
        cls,
        operation: str,
        args: Any,
        sources: Sequence[Named],
        outputs: Sequence[Named],
        *,
        guarantee: str = GUARANTEES[0],
        contents: Mapping[str, Any] | None = None,
    ) -> Call:
        """A call, checked.

        :param contents: of each source, by name.
        :raises InvalidRelation: two arrays are one, there are none on a side, the arguments are no JSON, or the contents are not those of
            all sources.
        """
        names = [name for name, _ in (*sources, *outputs)]
        if not sources or not outputs or len(set(names)) < len(names):
            raise InvalidRelation(f"operation {shown(operation)} needs sources and outputs, all of them different; it has {shown(names)}")
        try:
            said = [operation, args] if guarantee == GUARANTEES[0] else [operation, args, guarantee]
            signature = json.dumps(said, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InvalidRelation(f"operation {shown(operation)}: arguments {shown(args)} are no JSON: {error}") from error
        if contents is not None and contents.keys() != dict(sources).keys():
            raise InvalidRelation(
                f"operation {shown(operation)}: contents are of {shown(list(contents))}, and the sources are {shown(list(dict(sources)))}"
            )
        digests = () if contents is None else tuple(digest(name, shape, contents[name]) for name, shape in sources)
        return cls(signature, tuple(sources), tuple(outputs), digests)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(source, output) each: for each output, in it for each source."""
        return [(source, output) for (output, _), (source, _) in itertools.product(self.outputs, self.sources)]

    @property
    def shapes(self) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
        """Of the sources, and of the outputs."""
        return tuple(shape for _, shape in self.sources), tuple(shape for _, shape in self.outputs)

    def captured(self, capture: Any) -> Relations:
        """The relations that a capture tells, in the order of `pairs`.

        :raises CaptureNeeded: there is none, of the call or of two of its arrays.
        :raises InvalidRelation: the pairs are not what they can be.
        :raises CaptureFailed: the capture raised, or gave something else than cells.
        """
        given = capture if isinstance(capture, Mapping) else dict.fromkeys(self.pairs[:1], capture)
        missing = [pair for pair in self.pairs if given.get(pair) is None]
        if missing:
            between = f"from {shown(missing[0][0])} to {shown(missing[0][1])}"
            raise CaptureNeeded(f"operation {self.operation} needs a capture {between}: earlier calls do not say what it would give")
        ends = itertools.product(self.outputs, self.sources)
        return tuple(merge(_relation(given[source[0], output[0]], output, source)) for output, source in ends)

    def reused(self, relations: Relations) -> tuple[str, Callable[[Operation], None]]:
        """To be noted of the operation: that these relations were known from earlier calls."""
        return self.operation, lambda operation: operation.count(self.shapes[0], relations, self.contents)

    def observed(self, relations: Relations) -> tuple[str, Callable[[Operation], None]]:
        """To be noted: what a capture gave."""
        return self.operation, lambda operation: operation.observe(*self.shapes, relations, self.contents)

    def refused(self) -> tuple[str, Callable[[Operation], None]]:
        """To be noted: that what was reused is not what a capture gives."""
        return self.operation, lambda operation: operation.refuse("a capture gave another lineage than was reused")

    def __str__(self) -> str:
        return f"{self.operation} from {shown(list(self.sources))} to {shown(list(self.outputs))}"


def _relation(capture: Any, output: Named, source: Named) -> Relation:
    """By output cells, whichever way it is kept: operations are told apart by what is captured."""
    if isinstance(capture, Relation):
        return fitting(capture, output, source)
    pairs, asked = (None, capture) if callable(capture) else (capture, None)
    return given_link(pairs, asked, output, source, GUARANTEES[0]).by_output()


@dataclass
class Unchecked:
    """The last calls of this process that were known from earlier ones, with the captures that were not asked."""

    calls: deque[tuple[Call, Any, Relations]] = field(default_factory=lambda: deque(maxlen=_UNCHECKED))

    def add(self, call: Call, capture: Any, relations: Relations) -> None:
        """Another one; where no capture was given there is nothing to check it by."""
        if capture is not None:
            self.calls.append((call, capture, relations))

    def wrong(self, sample: int) -> Iterator[Call]:
        """Those of the last calls whose capture, asked now, gives another lineage.

        :raises CaptureFailed: a capture fails.
        """
        for call, capture, relations in list(self.calls)[-sample:]:
            if not alike(tuple(map(merge, relations)), call.captured(capture)):
                yield call
