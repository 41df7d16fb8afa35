"""Functions that only move cells: they are run on numbers in place of cells, and tell themselves where each went."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Boxes, Shape, cells_of, numbered
from airflow_lineage_provider.arrays.compose import restrict
from airflow_lineage_provider.arrays.compress import compress
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.rules.reshaping import reshape_within
from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT, Tracked, made
from airflow_lineage_provider.arrays.tracking.call import Call, Rule, arrays_of
from airflow_lineage_provider.arrays.tracking.relations import all_to_all
from airflow_lineage_provider.arrays.tracking.results import Operand
from airflow_lineage_provider.errors import NotTracked

_FIRST = 1_000_003
"""The number of the first cell, beyond what functions fill in."""


@dataclass(frozen=True, eq=False)
class Numbered:
    """A function run on the numbers of its arrays' cells, once they are asked for.

    :ivar function: takes one array for each shape, and gives one.
    :ivar output: the shape of its result.
    """

    function: Callable[..., Any]
    shapes: tuple[Shape, ...]
    output: Shape

    @cached_property
    def numbers(self) -> Ints:
        """Of each cell of the result, in C order, which cell it is, all arrays' counted through; −1 where it was filled in.

        The function is called with rising numbers, and with their negatives: what is filled in is the same in both.

        :raises NotTracked: it cannot be called so.
        """
        rising = _FIRST + np.arange(sum(map(math.prod, self.shapes)), dtype=np.int64)
        one, other = (self._called(sign * rising) for sign in (1, -1))
        return np.where((one == -other) & (one >= _FIRST), one - _FIRST, -1).astype(np.int64)

    def _called(self, numbers: Ints) -> Ints:
        try:
            found = np.asarray(self.function(*self._arrays(numbers)))
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise NotTracked(f"an operation that moves cells fails on numbers in their places ({problem}): {WAYS_OUT}") from error
        if found.shape != self.output or (found.size and found.dtype.kind not in "iu"):
            what = f"an array of {found.dtype} and shape {found.shape}"
            raise NotTracked(
                f"an operation that moves cells gives {what} of numbers in their places, in place of {self.output}: {WAYS_OUT}"
            )
        return found.reshape(-1).astype(np.int64, copy=False)

    def _arrays(self, numbers: Ints) -> list[Ints]:
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(numbers, ends[:-1]), self.shapes, strict=True)]

    def within(self, which: int, boxes: Boxes) -> Relation:
        """The pairs of some cells of the result with those of one of the arrays."""
        shape, first = self.shapes[which], sum(map(math.prod, self.shapes[:which]))
        if not len(boxes):  # of an array of no axes an index of no cells is its one cell
            return compress(np.zeros((0, len(self.output + shape)), dtype=np.int64), self.output, shape)
        outputs, _ = cells_of(boxes.lo, boxes.hi)
        number = self.numbers.reshape(self.output)[tuple(outputs)].reshape(-1) - first
        own = np.flatnonzero((number >= 0) & (number < math.prod(shape)))
        inputs = np.array(np.unravel_index(number[own], shape) if shape else [], dtype=np.int64).reshape(len(shape), len(own))
        return compress(np.concatenate([outputs[:, own], inputs]).T, self.output, shape)

    def region(self, which: int, given: Region) -> Region:
        """Those cells of one of the arrays that are among some of the result."""
        shape, first = self.shapes[which], sum(map(math.prod, self.shapes[:which]))
        number = self.numbers[given.mask.reshape(-1)] - first
        return Region(shape, bits=numbered(number[(number >= 0) & (number < math.prod(shape))], shape))


def moved_operands(arrays: Sequence[Any], function: Callable[..., Any], output: Shape) -> list[Operand]:
    """The tracked ones of the arrays that a function moves cells of."""
    cells = Numbered(function, tuple(np.shape(one) for one in arrays), output)
    return [
        Operand(one.result, partial(cells.within, which), region=partial(cells.region, which))
        for which, one in enumerate(arrays)
        if isinstance(one, Tracked)
    ]


def moved(call: Call) -> Any:
    """What a function gives that moves the cells of its arrays, which stand alone, in lists or in nested ones."""
    arrays, rebuilt = arrays_of(call)
    found, function = call.result(), call.function

    def on_numbers(*numbers: Any) -> Any:
        args, options = rebuilt(numbers)
        return function(*args, **options)

    if not isinstance(found, list | tuple):
        deciding = [all_to_all(one, np.shape(found), influence=True) for one in call.deciding]
        return made(call.name, found, [*moved_operands(arrays, on_numbers, np.shape(found)), *deciding])
    parts = [
        made(call.name, one, moved_operands(arrays, lambda *numbers, at=at: on_numbers(*numbers)[at], np.shape(one)))
        for at, one in enumerate(found)
    ]
    return type(found)(parts) if type(found) in (list, tuple) else tuple(parts)


def _reshaped(call: Call) -> Any:
    """In C order by the rule; in another the cells are numbered, which lie in C order, so those of "A" and "K" are looked up before."""
    array = call.arguments["a"]
    found, order = call.result(), _order(call.get("order", "C"), array.values.flags)
    if order == "F":
        return moved(
            replace(call, args=(array,), options={name: one for name, one in call.arguments.items() if name != "a"} | {"order": "F"})
        )
    shape, output = array.shape, np.shape(found)

    def within(boxes: Boxes) -> Relation:
        return restrict(reshape_within(shape, output, boxes), boxes)

    def region(given: Region) -> Region:
        return Region(shape, bits=given.mask.reshape(shape))

    return made(call.name, found, [Operand(array.result, within, region=region)])


def _order(given: Any, flags: Any) -> str:
    """What an ``order`` comes to of values that lie in memory so: "C" or "F".

    :raises NotTracked: neither, but for these values alone.
    """
    said = (given.decode() if isinstance(given, bytes) else given or "C").upper()
    if said in "CF" or flags.c_contiguous:
        return "F" if said == "F" else "C"
    if said == "K" and not flags.f_contiguous:
        raise NotTracked(
            'order="K" of an array that lies in memory in neither C nor Fortran order has no known lineage: say order="C", or "F"'
        )
    return "F" if flags.f_contiguous else "C"


_PADDING = ("constant", "edge", "reflect", "symmetric", "wrap")


def _padded(call: Call) -> Any:
    if call.arguments["mode"] not in _PADDING or call.arguments.get("reflect_type", "even") != "even":
        raise NotTracked(f"pad with this mode computes cells; those that move or fill in are {', '.join(_PADDING)}: {WAYS_OUT}")
    return moved(call)


def _rules() -> Iterator[tuple[Any, Rule]]:
    function: Any
    by_names = {
        "a": (
            np.transpose, np.permute_dims, np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze, np.roll, np.diagonal, np.resize,
            np.copy, np.swapaxes,
            # These are asked for by like=, without which numpy makes a plain array.
            np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require,
        ),
        "object": (np.array,),
        "m": (np.flip, np.fliplr, np.flipud, np.rot90, np.tril, np.triu),
        "A": (np.tile,), "array": (np.broadcast_to,), "arr": (np.delete,),
        "v": (np.diag, np.diagflat),
        "x": (np.matrix_transpose, np.linalg.matrix_transpose, np.linalg.diagonal, np.fft.fftshift, np.fft.ifftshift, np.unstack,
              np.lib.stride_tricks.sliding_window_view),
        "ary": (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit),
        "arrays": (np.concatenate, np.concat, np.stack, np.block),
        "tup": (np.hstack, np.vstack, np.dstack, np.column_stack),
        "arys": (np.atleast_1d, np.atleast_2d, np.atleast_3d),
        "args": (np.broadcast_arrays,), "xi": (np.meshgrid,),
    }  # fmt: skip
    for name, functions in by_names.items():
        for function in functions:
            yield function, Rule(moved, (name,), in_lists=True)
    by_deciding = {
        (np.repeat, "a"): "repeats", (np.take, "a"): "indices", (np.compress, "a"): "condition", (np.take_along_axis, "arr"): "indices",
        (np.extract, "arr"): "condition",
    }  # fmt: skip
    for (function, name), deciding in by_deciding.items():
        yield function, Rule(moved, (name,), in_lists=True, deciding=(deciding,))
    for function in (np.reshape, np.ravel):
        yield function, Rule(_reshaped, ("a",))
    yield np.select, Rule(moved, ("choicelist",), in_lists=True, deciding=("condlist",), filled=("default",))
    yield np.choose, Rule(moved, ("choices",), in_lists=True, deciding=("a",))
    yield np.append, Rule(moved, ("arr", "values"), in_lists=True)
    yield np.insert, Rule(moved, ("arr", "values"), in_lists=True)
    yield np.pad, Rule(_padded, ("array",), filled=("constant_values",))


MOVING = dict(_rules())
"""By function: the arguments whose cells it moves. What else it is given is filled in, or says where they go."""
