"""Lineage of an operation that is known from earlier calls (DSLog, Sec. VI): for the same shapes, and for others by how it grows with them.

A call's *signature* is the operation, its arguments and the shapes. What was captured once is provisional, and is reused once further
captures gave the same; where one gave another the operation is refused for good. Over shapes, each end of each interval is an affine
function of the dimensions, and of those of the output that are no such function of the inputs': fitted where their number determines it,
and confirmed on one shape more. (The paper replaces ends that are a dimension's, and takes the wrong dimension where two are equal.) A
wrong reuse is worse than a capture too many, so what is in doubt is captured: `reach` says for which shapes others speak.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.checks import check_relation
from airflow_lineage_provider.arrays.codec import encode
from airflow_lineage_provider.arrays.compress import merge
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.reach import Reach
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.errors import CaptureNeeded, InvalidRelation

Relations = tuple[Relation, ...]
"""Of one call: for each output, and in it for each input, in their order."""
Contents = tuple[str, ...]
"""Of one call: the digest of each input; () where they were not told."""

_CALLS = 16
"""An operation is fitted to the last so many calls."""
_LEAST_ROWS = 3
"""Of fewer rows a step from one to the next says nothing."""
_TURNS = (1, 2, 3)
"""Of how many kinds rows are that come in turn."""
_ENDS = ("out_lo", "out_hi", "in_lo", "in_hi")
_MOVES = ("lo_moves", "hi_moves")


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
    """The captures of an operation at some shapes, or of some contents."""

    relations: Relations
    outputs: tuple[Shape, ...]
    same: int = 0
    hits: int = 0
    why: str = ""


@dataclass
class Operation:
    """What was captured of one operation with the same arguments.

    :ivar confirmations: how many further captures have to give the same (the paper's m).
    :ivar known: by the shapes of its inputs.
    :ivar by_contents: by their contents, where these were told: what hangs on values, too, is the same for the same.
    :ivar foretold: how many shapes were what earlier ones said that they would be.
    """

    name: str
    confirmations: int
    known: dict[tuple[Shape, ...], Known] = field(default_factory=dict)
    by_contents: dict[Contents, Known] = field(default_factory=dict)
    foretold: int = 0
    hits: int = 0
    why: str = ""

    def predicted(self, shapes: tuple[Shape, ...], outputs: tuple[Shape, ...], contents: Contents = ()) -> Relations | None:
        """The relations of a call with these shapes, and these contents if they are told; None where a capture is needed."""
        for found in (self.by_contents.get(contents), self.known.get(shapes)):
            if found is not None and self._stands_in(found, outputs):
                return found.relations
        return None if self.why or shapes in self.known else self._general(shapes, outputs, spare=self.confirmations)

    def _stands_in(self, found: Known, outputs: tuple[Shape, ...]) -> bool:
        return not found.why and found.same >= self.confirmations and found.outputs == outputs

    def count(self, shapes: tuple[Shape, ...], outputs: tuple[Shape, ...], contents: Contents = ()) -> None:
        """What was `predicted` stands in for a capture.

        :raises CaptureNeeded: somebody else has found meanwhile that it cannot.
        """
        found = self.by_contents.get(contents)
        if found is None or not found.same or not self._stands_in(found, outputs):
            found = self.known.get(shapes)
        known: Known | Operation = self if found is None else found
        if known.why:
            raise CaptureNeeded(f"operation {self.name} needs a capture now: {known.why}")
        known.hits += 1

    def observe(self, shapes: tuple[Shape, ...], outputs: tuple[Shape, ...], relations: Relations, contents: Contents = ()) -> None:
        """Another capture: compared with what it should have been, and kept. One of the same contents says nothing of others."""
        relations = tuple(map(merge, relations))
        if contents in self.by_contents:
            if not _repeats(self.by_contents[contents], outputs, relations):
                self.refuse("two captures for the same contents differ")
            return
        if contents:
            self.by_contents[contents] = Known(relations, outputs)
        found = self.known.get(shapes)
        if found is None:
            self._compare(shapes, outputs, relations)
            self.known[shapes] = Known(relations, outputs)
        elif not _repeats(found, outputs, relations):
            self._refuse_shapes("two captures for the same shapes differ: the lineage hangs on values")

    def refuse(self, why: str) -> None:
        """Reuse nothing of it any more."""
        self._refuse_shapes(why)
        for one in self.by_contents.values():
            one.why = why

    def _refuse_shapes(self, why: str) -> None:
        self.why = why
        for one in self.known.values():
            one.why = why

    def signatures(self) -> list[Signature]:
        """Of all shapes, of each, and of contents."""
        is_general = self.foretold >= self.confirmations
        return [
            Signature(self.name, None, _state(self.why, is_general), self.hits, self.why or _waits(self, self.foretold)),
            *(self._signature(known, shapes=shapes) for shapes, known in self.known.items()),
            *(self._signature(known, contents=contents) for contents, known in self.by_contents.items()),
        ]

    def _signature(self, one: Known, shapes: tuple[Shape, ...] | None = None, contents: Contents = ()) -> Signature:
        state = _state(one.why, one.same >= self.confirmations)
        return Signature(self.name, shapes, state, one.hits, one.why or _waits(self, one.same), contents)

    def _compare(self, shapes: tuple[Shape, ...], outputs: tuple[Shape, ...], relations: Relations) -> None:
        """What all earlier shapes told of this one, if they told anything."""
        general = None if self.why else self._general(shapes, outputs, spare=None)
        if general is None:
            return
        if all(itertools.starmap(same, zip(general, relations, strict=True))):
            self.foretold += 1
        else:
            self.why = f"at shapes {shapes} the lineage is another than it grew to at others"

    @cached_property
    def _reach(self) -> Reach:
        return Reach.of(self.name)

    def _general(self, shapes: tuple[Shape, ...], outputs: tuple[Shape, ...], *, spare: int | None) -> Relations | None:
        """The relations at shapes that were not seen, by affine functions of the dimensions.

        None where they are not determined, also without any ``spare`` of the calls, each of which the others then confirm; or where the
        calls do not speak for these shapes. To compare them with a capture (``spare`` is None) all that are determined are told.
        """
        told = dict([(one, known) for one, known in self.known.items() if self._reach.is_alike(one, shapes)][-_CALLS:])
        if not told:
            return None
        variables = _variables(np.array(list(map(_sides, told)), dtype=np.int64), np.array(_sides(shapes), dtype=np.int64))
        made = [*(known.outputs for known in told.values()), outputs]
        if variables is None or len({tuple(map(len, one)) for one in made}) > 1:
            return None
        rows = _with_outputs(variables, np.array(list(map(_sides, made)), dtype=np.int64))
        if rows is None or not _is_determined(rows[:-1], spare or 0):
            return None
        if spare is not None and not self._reach.covers(rows, [*told, shapes], made, variables.shape[1] - 1):
            return None
        calls = [known.relations for known in told.values()]
        found = [_grown([call[at] for call in calls], rows, *pair) for at, pair in enumerate(itertools.product(outputs, shapes))]
        return tuple(one for one in found if one is not None) if None not in found else None


def same(one: Relation, other: Relation) -> bool:
    """Whether two merged relations are written the same; two that are not, and have the same pairs, count as different."""
    return encode(one, "provrc") == encode(other, "provrc")


def _repeats(known: Known, outputs: tuple[Shape, ...], relations: Relations) -> bool:
    """Whether another capture gave the same, which is counted."""
    is_same = known.outputs == outputs and all(itertools.starmap(same, zip(known.relations, relations, strict=True)))
    known.same += is_same
    return is_same


def _sides(shapes: tuple[Shape, ...]) -> tuple[int, ...]:
    return tuple(itertools.chain.from_iterable(shapes))


def _is_determined(rows: Ints, spare: int) -> bool:
    """Whether the calls determine an affine function of their variables, also without any ``spare`` of them."""
    left = len(rows) - spare
    if left < rows.shape[1]:
        return False
    return all(np.linalg.matrix_rank(rows[list(kept)]) == rows.shape[1] for kept in itertools.combinations(range(len(rows)), left))


def _variables(seen: Ints, wanted: Ints) -> Ints | None:
    """(calls + 1, 1 + variables): a 1, and each dimension that varies, once where several always are equal; the last row is the new call.

    None where the new call has other dimensions equal, or another one where all calls had the same: nothing is known of that.
    """
    fixed = (seen == seen[0]).all(axis=0)
    if (wanted[fixed] != seen[0][fixed]).any():
        return None
    columns: list[int] = []
    for at in np.flatnonzero(~fixed).tolist():
        twin = next((one for one in columns if (seen[:, one] == seen[:, at]).all()), None)
        if twin is None:
            columns.append(at)
        elif wanted[twin] != wanted[at]:
            return None
    both = np.concatenate([seen, wanted[None]])[:, columns]
    return np.concatenate([np.ones((len(both), 1), dtype=np.int64), both], axis=1)


def _with_outputs(rows: Ints, made: Ints) -> Ints | None:
    """The same with those of the outputs' dimensions that are no affine function of the inputs', as the length of a flattened array.

    None where one is such a function, but for the new call.
    """
    for column in made.T:
        told = _affine(column[:-1], rows)
        if told is None:
            rows = np.concatenate([rows, column[:, None]], axis=1)
        elif told != column[-1]:
            return None
    return rows


def _grown(calls: list[Relation], rows: Ints, output: Shape, source: Shape) -> Relation | None:
    """The relation of the new call; None where the calls' have not one form, or an end is no whole affine function."""
    shape = _affine(np.array([one.out_shape for one in calls], dtype=np.int64), rows)
    if shape is None or tuple(shape.tolist()) != output:
        return None
    found = _of_rows_alike(calls, rows) if len({len(one) for one in calls}) == 1 else _of_more_rows(calls, rows)
    if found is None:
        return None
    grown = Relation(output, source, *found)
    try:
        check_relation(grown)
    except InvalidRelation:
        return None
    return merge(grown)


def _of_rows_alike(calls: list[Relation], rows: Ints) -> list[Any] | None:
    """Where all have as many rows: the columns of the new call's."""
    first = calls[0]
    if any((getattr(one, name) != getattr(first, name)).any() for one in calls for name in _MOVES):
        return None
    ends = [_affine(np.stack([getattr(one, name) for one in calls]), rows) for name in _ENDS]
    return None if any(one is None for one in ends) else [*ends, first.lo_moves, first.hi_moves]


def _of_more_rows(calls: list[Relation], rows: Ints) -> list[Any] | None:
    """Where their number grows, as of a flattened array, or a repeated one: each end goes on by the same step from row to row, or from each
    second row to the one after the next, …, as rows within the lines of a table and between them take turns.

    The number, the first row and the steps are affine functions of the dimensions.
    """
    count = _affine(np.array([len(one) for one in calls], dtype=np.int64), rows)
    if count is None:
        return None
    for turns in _TURNS:
        found = _taking_turns(calls, rows, int(count), turns)
        if found is not None:
            return found
    return None


def _taking_turns(calls: list[Relation], rows: Ints, count: int, turns: int) -> list[Any] | None:
    if min(count, *map(len, calls)) < _LEAST_ROWS * turns:
        return None
    found: list[list[Any]] = []
    for at in range(turns):
        turn = _of_one_step([one.take(slice(at, None, turns)) for one in calls], rows, len(range(at, count, turns)))
        if turn is None:
            return None
        found.append(turn)
    columns = [np.empty((len(one), count), dtype=one.dtype) for one in found[0]]
    for at, turn in enumerate(found):
        for column, part in zip(columns, turn, strict=True):
            column[:, at::turns] = part
    return columns


def _of_one_step(calls: list[Relation], rows: Ints, count: int) -> list[Any] | None:
    """So many rows, each from the one before by the same step."""
    moves = [getattr(calls[0], name)[:, :1] for name in _MOVES]
    if not all((getattr(one, name) == move).all() for one in calls for name, move in zip(_MOVES, moves, strict=True)):
        return None
    ends = []
    for name in _ENDS:
        columns = [getattr(one, name) for one in calls]
        steps = [np.diff(one, axis=1) for one in columns]
        if any((one != one[:, :1]).any() for one in steps):
            return None
        found = _affine(np.stack([np.stack([one[:, 0], step[:, 0]]) for one, step in zip(columns, steps, strict=True)]), rows)
        if found is None:
            return None
        ends.append(found[0][:, None] + found[1][:, None] * np.arange(count))
    return [*ends, *(np.repeat(one, count, axis=1) for one in moves)]


def _affine(values: Ints, rows: Ints) -> Ints | None:
    """The value of the last row where those of the others, (calls, …), are a whole affine function of the variables."""
    flat = values.reshape(len(values), values[0].size)
    slopes = np.rint(np.linalg.lstsq(rows[:-1].astype(float), flat.astype(float), rcond=None)[0]).astype(np.int64)
    if (rows[:-1] @ slopes != flat).any():
        return None
    return np.asarray((rows[-1] @ slopes).reshape(values.shape[1:]))


def _state(why: str, is_sure: bool) -> str:
    return "refused" if why else "reused" if is_sure else "provisional"


def _waits(operation: Operation, same: int) -> str:
    missing = operation.confirmations - same
    return f"{missing} more capture{'' if missing == 1 else 's'} to confirm it" if missing > 0 else ""
