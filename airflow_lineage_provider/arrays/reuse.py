"""Lineage of an operation that is known from earlier calls (DSLog, Sec. VI): for the same shapes, and for others by how it grows with them.

A call's *signature* is the operation, its arguments and the shapes. What was captured once is provisional, and is reused once further
captures gave the same; where one gave another the operation is refused for good, at shapes that nobody has seen yet, too. Over shapes it is
reused by how it grew (`growing`), once their number determines that and one more confirmed it. (The paper replaces ends that are a
dimension's, and takes the wrong dimension where two are equal.) Who tells what the arrays contain says that the lineage hangs on it: then
it is known for the same contents alone, and what was captured of others confirms nothing. A wrong reuse is worse than a capture too many,
so what is in doubt is captured: `reach` says for which shapes others speak.
"""

from __future__ import annotations

import enum
import itertools
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.compress import merge
from airflow_lineage_provider.arrays.growing import grown, is_determined, sides_of, variables, with_outputs
from airflow_lineage_provider.arrays.reach import Reach
from airflow_lineage_provider.arrays.relation import INPUTS, OUTPUTS, Relation
from airflow_lineage_provider.errors import CaptureNeeded

Relations = tuple[Relation, ...]
"""Of one call: for each output, and in it for each input, in their order."""
Contents = tuple[str, ...]
"""Of one call: the digest of each input; () where they were not told."""

_CALLS = 16
"""An operation is fitted to the last so many calls."""
NONE_COUNTS = -1
"""Of captures whose contents were told, how many further ones confirmed the first for all contents: there is no first one."""


class Refusal(enum.IntEnum):
    """What of an operation is not reused any more; whatever comes after it includes what comes before."""

    NOTHING = 0
    OTHER_SHAPES = 1
    """How it grows from one shape to another is not known."""
    SHAPES = 2
    """It hangs on values: no shapes say what it is, whether they were captured or not."""
    ALL = 3
    """Nor do contents."""


@dataclass(frozen=True)
class Signature:
    """What is known of an operation, for some shapes or for all.

    :ivar operation: its name and its arguments, as JSON.
    :ivar shapes: of the inputs; None where it is about all shapes, or about contents.
    :ivar state: ``provisional``, ``reused`` or ``refused``.
    :ivar hits: how often it stood in for a capture.
    :ivar why: it is refused, or what it waits for.
    """

    operation: str
    shapes: tuple[Shape, ...] | None
    state: str
    hits: int
    why: str
    contents: tuple[str, ...] = ()
    """The digests of the inputs (`contents.digest`), where it is about these."""


@dataclass
class Known:
    """The captures of an operation at some shapes, or of some contents.

    :ivar same: how many further captures gave the same; of shapes such whose contents were not told, `NONE_COUNTS` where there was none.
    """

    relations: Relations
    outputs: tuple[Shape, ...]
    same: int = 0
    hits: int = 0


@dataclass
class Operation:
    """What was captured of one operation with the same arguments.

    :ivar confirmations: how many further captures have to give the same (the paper's m).
    :ivar known: by the shapes of its inputs.
    :ivar by_contents: by their contents, where these were told: what hangs on values, too, is the same for the same.
    :ivar foretold: how many shapes were what earlier ones said that they would be.
    :ivar refused: what is not reused any more, for ever. :ivar why: it is not.
    """

    name: str
    confirmations: int
    known: dict[tuple[Shape, ...], Known] = field(default_factory=dict)
    by_contents: dict[Contents, Known] = field(default_factory=dict)
    foretold: int = 0
    hits: int = 0
    refused: Refusal = Refusal.NOTHING
    why: str = ""

    def predicted(self, shapes: tuple[Shape, ...], outputs: tuple[Shape, ...], contents: Contents = ()) -> Relations | None:
        """The relations of a call with these shapes, or with these contents if they are told; None where a capture is needed."""
        found = self.by_contents.get(contents) if contents else self._at(shapes)
        if found is not None:
            stands_in = not self._is_refused(contents) and found.same >= self.confirmations and found.outputs == outputs
            return found.relations if stands_in else None
        if contents or self.refused:
            return None
        general, seen = self._general(shapes, outputs, spare=self.confirmations), self.known.get(shapes)
        return general if general is None or seen is None or alike(seen.relations, general) else None

    def _at(self, shapes: tuple[Shape, ...]) -> Known | None:
        """What was captured at some shapes, without a word of the contents."""
        found = self.known.get(shapes)
        return None if found is None or found.same == NONE_COUNTS else found

    def _is_refused(self, contents: Contents) -> bool:
        return self.refused >= (Refusal.ALL if contents else Refusal.SHAPES)

    def count(self, shapes: tuple[Shape, ...], relations: Relations, contents: Contents = ()) -> None:
        """What was `predicted` stands in for a capture.

        :raises CaptureNeeded: somebody else has found meanwhile that it cannot.
        """
        found = self.by_contents.get(contents) if contents else self.known.get(shapes)
        if self._is_refused(contents) or (found is None and not contents and self.refused):
            raise CaptureNeeded(f"operation {self.name} needs a capture now: {self.why}")
        if found is not None and not alike(found.relations, relations):
            raise CaptureNeeded(f"operation {self.name} needs a capture now: another lineage was captured meanwhile")
        known: Known | Operation = self if found is None else found
        known.hits += 1

    def observe(self, shapes: tuple[Shape, ...], outputs: tuple[Shape, ...], relations: Relations, contents: Contents = ()) -> None:
        """Another capture: compared with what it should have been, and kept.

        One whose contents are told confirms nothing but what is known of these; what it contradicts is refused all the same.
        """
        relations = tuple(map(merge, relations))
        if contents in self.by_contents:
            known = self.by_contents[contents]
            known.same += 1
            if not alike(known.relations, relations):
                self.refuse("two captures for the same contents differ")
            return
        if contents:
            self.by_contents[contents] = Known(relations, outputs)
        self._observe(shapes, outputs, relations, counts=not contents)

    def _observe(self, shapes: tuple[Shape, ...], outputs: tuple[Shape, ...], relations: Relations, *, counts: bool) -> None:
        found = self.known.get(shapes)
        if found is not None and not alike(found.relations, relations):
            self.refuse("two captures for the same shapes differ: the lineage hangs on values", Refusal.SHAPES)
        elif found is None or (counts and found.same == NONE_COUNTS):
            self._compare(shapes, outputs, relations, counts=counts)
            self.known[shapes] = Known(relations, outputs, 0 if counts else NONE_COUNTS)
        else:
            found.same += counts

    def refuse(self, why: str, what: Refusal = Refusal.ALL) -> None:
        """Reuse it no more: nothing of it, or nothing by shapes."""
        if what > self.refused:
            self.refused, self.why = what, why

    def signatures(self) -> list[Signature]:
        """Of all shapes, of each, and of contents."""
        is_general = self.foretold >= self.confirmations
        state = _state(bool(self.refused), is_general)
        return [
            Signature(self.name, None, state, self.hits, self.why or _waits(self, self.foretold)),
            *(self._signature(known, shapes=shapes) for shapes, known in self.known.items()),
            *(self._signature(known, contents=contents) for contents, known in self.by_contents.items()),
        ]

    def _signature(self, one: Known, shapes: tuple[Shape, ...] | None = None, contents: Contents = ()) -> Signature:
        is_refused = self._is_refused(contents)
        state = _state(is_refused, one.same >= self.confirmations)
        return Signature(self.name, shapes, state, one.hits, self.why if is_refused else _waits(self, one.same), contents)

    def _compare(self, shapes: tuple[Shape, ...], outputs: tuple[Shape, ...], relations: Relations, *, counts: bool) -> None:
        """What all earlier shapes told of this one, if they told anything."""
        general = None if self.refused else self._general(shapes, outputs, spare=None)
        if general is None:
            return
        if alike(general, relations):
            self.foretold += counts
        else:
            self.refuse(f"at shapes {shapes} the lineage is another than it grew to at others", Refusal.OTHER_SHAPES)

    @cached_property
    def _reach(self) -> Reach:
        return Reach.of(self.name)

    def _general(self, shapes: tuple[Shape, ...], outputs: tuple[Shape, ...], *, spare: int | None) -> Relations | None:
        """The relations at shapes that were not seen, by affine functions of the dimensions.

        None where they are not determined, also without any ``spare`` of the calls, each of which the others then confirm; or where the
        calls do not speak for these shapes. To compare them with a capture (``spare`` is None) all that are determined are told.
        """
        told = dict([one for one in self.known.items() if one[1].same != NONE_COUNTS and self._reach.is_alike(one[0], shapes)][-_CALLS:])
        if not told:
            return None
        sides = variables(np.array(list(map(sides_of, told)), dtype=np.int64), np.array(sides_of(shapes), dtype=np.int64))
        made = [*(known.outputs for known in told.values()), outputs]
        if sides is None or len({tuple(map(len, one)) for one in made}) > 1:
            return None
        rows = with_outputs(sides, np.array(list(map(sides_of, made)), dtype=np.int64))
        if rows is None or not is_determined(rows[:-1], spare or 0):
            return None
        if spare is not None and not self._reach.covers(rows, [*told, shapes], made, sides.shape[1] - 1):
            return None
        calls = [known.relations for known in told.values()]
        found = [grown([call[at] for call in calls], rows, *pair) for at, pair in enumerate(itertools.product(outputs, shapes))]
        return tuple(one for one in found if one is not None) if None not in found else None


def same(one: Relation, other: Relation) -> bool:
    """Whether two merged relations are written the same; two that are not, and have the same pairs, count as different."""
    if one is other:
        return True
    columns = (np.array_equal(getattr(one, name), getattr(other, name)) for name in (*OUTPUTS, *INPUTS))
    return (one.out_shape, one.in_shape) == (other.out_shape, other.in_shape) and all(columns)


def alike(some: Relations, others: Relations) -> bool:
    """Whether the relations of two calls are the same."""
    return len(some) == len(others) and all(itertools.starmap(same, zip(some, others, strict=True)))


def _state(is_refused: bool, is_sure: bool) -> str:
    return "refused" if is_refused else "reused" if is_sure else "provisional"


def _waits(operation: Operation, same: int) -> str:
    missing = operation.confirmations - same
    return f"{missing} more capture{'' if missing == 1 else 's'} to confirm it" if missing > 0 else ""
