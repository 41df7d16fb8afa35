"""The payload of a reason about an array that was computed from a decision's arguments: which of their cells it is about."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import ArrayLineageError, PayloadError
from airflow_lineage_provider.plan.guarantees import ORDER
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    from airflow_lineage_provider.arrays import Relation
    from airflow_lineage_provider.arrays.region import Region
    from airflow_lineage_provider.arrays.tracking.marks import Marked
    from airflow_lineage_provider.arrays.tracking.traced import TracedReason
    from airflow_lineage_provider.reasons.payload import Untraced

Shape = tuple[int, ...]
NAMED = "sha256:"
"""How the name of a relation begins that is kept apart from its reason: the SHA-256 of its bytes follows."""
NAME_LENGTH = len(NAMED) + 64


@dataclass(frozen=True, slots=True)
class ArrayPath:
    """One path from the array of a reason to an argument's.

    :ivar through: the names of the operations, the one that made the reason's array first.
    :ivar relation: between the cells of both, of those that the reason speaks of: `arrays.encode` ("provrc-gzip"), as base64; or the
        name by which it is kept apart (`reasons.apart`).
    :ivar guarantee: what it is worth: ``exact``, ``superset`` or ``unavailable``.
    """

    through: tuple[str, ...]
    relation: str
    guarantee: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "through", tuple(str(one) for one in self.through))
        if self.guarantee not in ORDER:
            raise PayloadError(f"a path of a reason has guarantee {shown(self.guarantee)}; it can be {', '.join(ORDER)}")

    def decoded(self) -> Relation:
        """The relation; its output is the reason's array, its input the argument's.

        :raises PayloadError: the text is none, or a name.
        """
        from airflow_lineage_provider.arrays import decode

        if self.relation.startswith(NAMED):
            lost = f"there is no {shown(self.relation)} in this answer that is what its name says"
            raise PayloadError(f"a path of a reason has its relation kept apart, and {lost}")
        try:
            return decode(base64.b64decode(self.relation, validate=True))
        except (binascii.Error, TypeError, ValueError, ArrayLineageError) as error:
            raise PayloadError(f"a path of a reason has no relation of cells: {error}") from error


@dataclass(frozen=True, slots=True)
class ArraySource:
    """An argument's array of this shape, and the paths to it, the one with the fewest cells first.

    :ivar position: which argument it is, from 0; None where no UDF has returned the reason.
    """

    argument: str
    shape: Shape
    paths: tuple[ArrayPath, ...]
    position: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _shape(self.shape))
        paths = tuple(ArrayPath(**one) if isinstance(one, Mapping) else one for one in self.paths)
        if not all(isinstance(one, ArrayPath) for one in paths) or not paths:
            raise PayloadError(f"argument {shown(self.argument)} of a reason has no paths")
        if self.position is not None and (not isinstance(self.position, int) or self.position < 0):
            raise PayloadError(f"{shown(self.position)} is no position of argument {shown(self.argument)}")
        object.__setattr__(self, "paths", paths)

    def cells(self, path: ArrayPath, region: Region | None = None) -> Region:
        """The cells of the argument's array behind cells of the reason's along a path, behind all that it speaks of by default.

        :raises PayloadError: as `ArrayPath.decoded`, or the relation is between other arrays.
        """
        return self.along(path)(region)

    def along(self, path: ArrayPath) -> Callable[[Region | None], Region]:
        """The same of a path that is read once, for many regions."""
        from airflow_lineage_provider.arrays.path import Step, follow
        from airflow_lineage_provider.arrays.region import Region

        relation = path.decoded()

        def cells(region: Region | None) -> Region:
            asked = region or Region(relation.out_shape, parts=relation.out_boxes)
            if (relation.in_shape, relation.out_shape) != (self.shape, asked.shape):
                raise PayloadError(f"a path to argument {shown(self.argument)} has a relation between arrays of other shapes")
            found, _ = follow([Step(relation, True)], ("", ""), asked)
            return found

        return cells


@dataclass(frozen=True, slots=True)
class Traced:
    """A reason about an array that was computed from arguments (`arrays.traced` makes it).

    :param reason: another payload: what is shown where cells are not.
    :param shape: of the array.
    :param sources: the arguments' arrays, in the order of their names.
    :param cells: boxes of the array, [[[start, stop], …], …], that the reason is about; None where it says so itself.
    :param threshold: parts of the reason whose weight is of a smaller size are left out.
    :param axes: of boxes: the array's axes of rows and columns.
    """

    reason: Untraced
    shape: Shape
    sources: tuple[ArraySource, ...]
    cells: Sequence[Any] | None = None
    threshold: float = 0.0
    axes: tuple[int, ...] = (0, 1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _shape(self.shape))
        object.__setattr__(self, "axes", tuple(int(one) for one in self.axes))
        object.__setattr__(self, "threshold", float(self.threshold))
        object.__setattr__(self, "sources", tuple(self.sources))
        if isinstance(self.reason, Traced):
            raise PayloadError("a traced reason is about another traced reason; trace the reason itself")

    def parts(self) -> tuple[Marked, ...]:
        """The parts of the reason, each with its cells of the array.

        :raises InvalidCells: the reason does not fit the array.
        """
        from airflow_lineage_provider.arrays.selection import selected
        from airflow_lineage_provider.arrays.tracking.marks import Marked, of_reason

        if self.cells is None:
            return of_reason(self.reason, self.shape, threshold=self.threshold, axes=self.axes)
        return (Marked(0, None, None, selected(list(self.cells), "of the reason", self.shape)),)


def payload_of(traced: TracedReason, reason: Untraced) -> Traced:
    """What reasoning mode returned, as a payload."""
    from airflow_lineage_provider.arrays import encode

    def paths(ways: Sequence[Any]) -> Iterator[ArrayPath]:
        for way in ways:
            data = base64.b64encode(encode(way.relation, "provrc-gzip")).decode("ascii")
            yield ArrayPath(way.names, data, way.guarantee)

    sources = tuple(ArraySource(one.name, one.shape, tuple(paths(one.ways))) for one in traced.sources)
    cells = None if traced.cells is None else traced.cells.tolist()
    return Traced(reason, traced.shape, sources, cells, traced.threshold, traced.axes)


def _shape(given: Any) -> Shape:
    if not isinstance(given, Sequence) or not all(isinstance(side, int) and side >= 0 for side in given):
        raise PayloadError(f"{shown(given)} is no shape of an array")
    return tuple(given)
