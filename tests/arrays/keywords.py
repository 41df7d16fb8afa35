"""What the arguments of numpy's functions can be, by the names of their parameters, as data: `test_keywords` draws of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.arrays.numpy_functions import METHODS, _definite, _square

Shape = tuple[int, ...]
_LA, _FFT = np.linalg, np.fft

ARRAYS: Mapping[Any, Sequence[tuple[Shape, ...]]] = {
    None: (
        ((3, 4), (3, 4)),
        ((5,), (5,)),
        ((2, 3, 2), (2, 3, 2)),
        ((4, 4), (4, 4)),
        ((1, 3), (1, 3)),
        ((3, 4), (4,)),
    ),
    **dict.fromkeys(
        (_LA.inv, _LA.det, _LA.slogdet, _LA.cond, _LA.matrix_power, _LA.eig, _LA.eigh, _LA.eigvals, _LA.eigvalsh),
        (
            ((3, 3),),
            ((2, 3, 3),),
        ),
    ),
    _LA.cholesky: (((3, 3),),),
    **dict.fromkeys(
        (_LA.pinv, _LA.svd, _LA.svdvals, _LA.qr, _LA.matrix_rank),
        (
            ((3, 3),),
            ((2, 4, 3),),
            ((3, 4),),
        ),
    ),
    _LA.solve: (
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((2, 3, 3), (3, 1)),
    ),
    _LA.lstsq: (
        ((5, 2), (5,)),
        ((3, 4), (3, 2)),
    ),
    _LA.tensorinv: (((4, 2, 2),),),
    _LA.tensorsolve: (((2, 2, 4), (2, 2)),),
    _LA.multi_dot: (
        ((2, 3), (3, 2), (2, 2)),
        ((3,), (3, 2)),
    ),
    **dict.fromkeys(
        (np.cross, _LA.cross),
        (
            ((2, 3), (2, 3)),
            ((3,), (2, 3)),
            ((3, 3), (3, 3)),
        ),
    ),
    np.dot: (
        ((3, 4), (4, 2)),
        ((5,), (5,)),
        ((2, 3), (3,)),
    ),
    np.inner: (
        ((3, 4), (2, 4)),
        ((5,), (5,)),
    ),
    np.vdot: (((3, 4), (3, 4)),),
    _LA.matmul: (
        ((3, 4), (4, 2)),
        ((2, 1, 2, 3), (3, 2)),
    ),
    **dict.fromkeys(
        (np.tensordot, _LA.tensordot),
        (
            ((3, 4), (4, 3)),
            ((3, 4), (3, 4)),
            ((2, 3), (2, 3)),
        ),
    ),
    np.einsum: (((3, 4), (4, 2)),),
    **dict.fromkeys(
        (np.outer, np.kron),
        (
            ((3,), (2,)),
            ((2, 2), (3,)),
        ),
    ),
    _LA.outer: (((3,), (2,)),),
    **dict.fromkeys(
        (np.convolve, np.correlate),
        (
            ((6,), (3,)),
            ((5,), (2,)),
            ((4,), (4,)),
        ),
    ),
    np.average: (
        ((3, 4), (3, 4)),
        ((3, 4), (4,)),
        ((3, 4), (3,)),
        ((2, 3, 2), (2, 3, 2)),
        ((5,), (5,)),
    ),
    np.diff: (
        ((3, 4),),
        ((5,),),
        ((5,), ()),
        ((3, 4), (3, 1)),
        ((3, 4), (1, 4)),
    ),
    **dict.fromkeys(
        (np.trim_zeros,),
        (
            ((7,),),
            ((3, 4),),
        ),
    ),
    **dict.fromkeys((np.polyfit,), (((7,), (7,), (7,)),)),
    **dict.fromkeys((np.histogram, np.histogram_bin_edges, np.bincount), (((6,), (6,)),)),
    np.histogram2d: (((6,), (6,), (6,)),),
    np.histogramdd: (
        ((6,), (6,)),
        ((5,), (5,)),
    ),
    **dict.fromkeys(
        (np.cov, np.corrcoef),
        (
            ((3, 4), (2, 4)),
            ((3, 4),),
            ((5,), (5,), (5,)),
        ),
    ),
    np.vander: (((4,),),),
    **dict.fromkeys((np.poly, np.roots, np.polyder, np.polyint), (((4,),),)),
    np.polyval: (((3,), (2, 3)),),
    **dict.fromkeys(
        (np.polyadd, np.polysub, np.polymul, np.polydiv),
        (
            ((4,), (3,)),
            ((3,), (3,)),
        ),
    ),
    **dict.fromkeys(
        (np.block, np.concatenate, np.concat, np.stack, np.hstack, np.vstack, np.dstack),
        (
            ((3, 4), (3, 4)),
            ((5,), (5,)),
            ((2, 3, 2), (2, 3, 2)),
        ),
    ),
    np.column_stack: (
        ((5,), (5,)),
        ((3, 2), (3,)),
    ),
    np.meshgrid: (
        ((2,), (3,)),
        ((3,), (2,)),
    ),
    np.dsplit: (((2, 2, 4),),),
    np.interp: (
        ((4,), (5,), (5,)),
        ((2, 3), (4,), (4,)),
    ),
    np.isclose: (
        ((3, 4), (4,)),
        ((5,), (5,)),
    ),
    np.select: (
        ((3, 4), (3, 4)),
        ((3, 4), (4,)),
    ),
    np.choose: (
        ((3, 4), (3, 4)),
        ((3, 4), (4,)),
    ),
    np.append: (
        ((3, 4), (3, 4)),
        ((3, 4), (1, 4)),
        ((5,), (3,)),
    ),
    np.insert: (
        ((5,), ()),
        ((3, 4), (4,)),
        ((3, 4), ()),
    ),
    np.vstack: (((5,), (5,)),),
    np.trapezoid: (
        ((3, 4),),
        ((5,),),
    ),
    np.compress: (
        ((3, 4),),
        ((5,),),
    ),
    _LA.diagonal: (
        ((3, 4),),
        ((2, 3, 3),),
    ),
    _LA.trace: (
        ((3, 4),),
        ((2, 3, 3),),
    ),
    _LA.vecdot: (
        ((3, 4), (3, 4)),
        ((2, 3), (3,)),
    ),
}
"""Of a function the shapes of its arrays: one of these is drawn. None: of all others."""

LISTED = frozenset({"arrays", "tup", "arys", "args", "xi", "choicelist", "choices", "sample", "operands"})
"""Parameters that take several arrays."""


@dataclass(frozen=True)
class Drawn:
    """``of`` makes a value of a shape, at random."""

    of: Callable[[Shape, np.random.Generator], Any]


def _made_mask(shape: Shape, random: np.random.Generator) -> Any:
    return random.random(shape) < 0.6


def _made_of_last(shape: Shape, random: np.random.Generator) -> Any:
    return random.random(shape[-1:]) < 0.6


def _made_permuted(shape: Shape, random: np.random.Generator) -> Any:
    return tuple(random.permutation(len(shape)).tolist())


def _made_turned(shape: Shape, random: np.random.Generator) -> Any:
    return shape[::-1]


_WHOLE, _ONE = [0, 1, -1, 2], [0, -1, 1]
_FLAGS = [True, False, 1, 0]
_MASK, _OF_LAST, _PERMUTED, _TURNED = map(Drawn, (_made_mask, _made_of_last, _made_permuted, _made_turned))

OPTIONS: Mapping[Any, list[Any]] = {
    "axis": [None, 0, -1, 1, (0, 1), (-1, 0)],
    **{(function, "axis"): [None, 0, -1, 1] for function in (np.apply_along_axis,)},
    "axes": [_PERMUTED],
    "keepdims": _FLAGS,
    "order": ["C", "F", "A", "K"],
    "copy": _FLAGS,
    "subok": _FLAGS,
    "ndmin": [0, 1, 2, 3],
    "dtype": ["f4", "f8", "c16"],
    "casting": ["same_kind", "unsafe"],
    "shape": [_TURNED, (12,), (-1,), (2, 3, 4), (3, 3, 4)],
    "newshape": [(-1,)],
    "new_shape": [(7,), (2, 3), 5],
    "source": [0, -1],
    "destination": [-1, 0],
    "start": [0, 1, 2],
    "axis1": [0, 1],
    "axis2": [1, 0, -1],
    "offset": [-1, 0, 1, 2],
    "k": [-1, 0, 1, 2],
    "repeats": [2, 0, [1]],
    "reps": [2, (2, 1), (1, 2, 1)],
    "shift": [1, -2, (1, -1), 5],
    "obj": [0, [0, 1], slice(0, 2), -1],
    "indices_or_sections": [1, 2, [1], [1, 2]],
    "indices": [[0, 1, 1], 2, [[-1, 0]]],
    "condition": [_OF_LAST, _MASK],
    "default": [0, 7.5, np.nan],
    (np.select, "condlist"): [
        [[True, False, True, True], [[True], [False], [True]]],
        [[[False], [False], [True]], [True, False, False, True]],
    ],
    (np.choose, "a"): [[[0], [1], [0]], [1, 0, 1, 1]],
    (np.choose, "mode"): ["raise", "wrap", "clip"],
    (np.extract, "condition"): [_MASK],
    (np.compress, "condition"): [[True, False, True], [False, True]],
    (np.where, "condition"): [_MASK, _OF_LAST],
    (np.take_along_axis, "indices"): [Drawn(lambda shape, random: random.integers(0, min(shape), shape))],
    (np.take, "mode"): ["clip", "wrap"],
    "pad_width": [1, (0, 2), 2],
    (np.pad, "mode"): ["constant", "edge", "reflect", "symmetric", "wrap"],
    (np.tile, "reps"): [2, (2, 1), (1, 2, 1)],
    (np.rot90, "axes"): [(0, 1), (1, 0), (0, -1)],
    (np.transpose, "axes"): [_PERMUTED, None],
    (np.permute_dims, "axes"): [_PERMUTED, None],
    (np.lib.stride_tricks.sliding_window_view, "window_shape"): [(2,), 2, (2, 2), (1, 2)],
    (np.lib.stride_tricks.sliding_window_view, "axis"): [None, 0, -1, (0, 1)],
    "indexing": ["xy", "ij"],
    "sparse": _FLAGS,
    "requirements": [["C"], ["F"], None],
    # computed in place
    "a_min": [1.2, None],
    "a_max": [1.7, None],
    "decimals": [0, 1, -1, 3],
    "tol": [100, 1e-3],
    "deg": _FLAGS,
    "nan": [0.0, 7.0],
    "posinf": [1.0],
    "neginf": [2.0],
    "rtol": [1e-5, 0.2],
    "atol": [0.0, 0.3],
    "equal_nan": _FLAGS,
    "bins": [3, [1.0, 1.4, 2.0], 5],
    (np.digitize, "bins"): [[1.1, 1.5, 1.8], [1.8, 1.5]],
    "right": _FLAGS,
    "side": ["left", "right"],
    "test_elements": [[1.2, 1.5]],
    "invert": _FLAGS,
    "assume_unique": [False],
    (np.searchsorted, "a"): [[1.1, 1.5, 1.8]],
    (np.interp, "left"): [0.5],
    (np.interp, "right"): [3.0],
    # made of many
    "where": [_MASK, _OF_LAST],
    "initial": [0.5, 2.0],
    "ddof": [0, 1],
    "correction": [0, 1],
    "returned": [False],
    "x": [None],
    "dx": [0.5, 2.0],
    (np.trapezoid, "axis"): _ONE,
    (np.cumulative_sum, "axis"): [None, *_ONE],
    (np.cumulative_prod, "axis"): [None, *_ONE],
    "include_initial": _FLAGS,
    (np.diff, "axis"): _ONE,
    (np.diff, "n"): [0, 1, 2],
    (np.unwrap, "axis"): _ONE,
    "discont": [0.2, None],
    "period": [0.3, 6.0],
    "to_begin": [8.0, [8.0, 9.0]],
    "to_end": [7.0],
    "edge_order": [1, 2],
    "varargs": [[], [2.0]],
    (np.convolve, "mode"): ["same", "valid", "full"],
    (np.correlate, "mode"): ["same", "valid", "full"],
    "q": [0.3, [0.1, 0.5]],
    (np.percentile, "q"): [30, [25, 80]],
    (np.nanpercentile, "q"): [30, [25, 80]],
    "method": [*METHODS],
    "overwrite_input": [False],
    "ord": [None, 1, 2, np.inf],
    (_LA.norm, "axis"): [None, 0, -1, (0, 1)],
    (_LA.matrix_norm, "ord"): ["fro", "nuc", 1, 2],
    # products
    (np.einsum, "operands"): [["ij,jk"], ["ij,jk->k"], ["...j,jk->...k"], ["ij,jk->ijk"], ["i...,...k->k"]],
    "optimize": [True, False, "greedy"],
    (np.tensordot, "axes"): [0, 1, ((0,), (0,)), (1, 1), ((0, 1), (1, 0))],
    (_LA.tensordot, "axes"): [0, 1, ((0,), (0,))],
    "axisa": [0, -1],
    "axisb": [0, -1],
    "axisc": [0, -1],
    (np.cross, "axis"): [None, 0, -1],
    (_LA.cross, "axis"): [0, -1],
    # in order, and sets
    "kth": [0, 1, -1, [0, 2]],
    "kind": ["quicksort", "stable", "heapsort"],
    "stable": [True, None],
    "trim": ["f", "b", "fb"],
    "return_index": _FLAGS,
    "return_inverse": _FLAGS,
    "return_counts": _FLAGS,
    "return_indices": _FLAGS,
    # counted and fitted
    "range": [(1.0, 1.8), None],
    "density": _FLAGS,
    "minlength": [0, 9],
    "rowvar": _FLAGS,
    "bias": _FLAGS,
    "N": [0, 2, 4],
    "increasing": _FLAGS,
    (np.polyfit, "deg"): [1, 2],
    "full": _FLAGS,
    "cov": _FLAGS,
    "rcond": [None, 1e-3],
    "m": [0, 1, 2],
    (np.polyint, "k"): [3.0, None],
    (np.histogram2d, "range"): [[(1.0, 1.8), (1.0, 2.0)]],
    (np.histogramdd, "range"): [[(1.0, 1.8), (1.0, 2.0)]],
    (np.histogramdd, "bins"): [2, [2, 3]],
    (np.histogram2d, "bins"): [2, [2, 3]],
    "func1d": [np.sort, np.sum, np.cumsum, lambda line: line[:1] * line],
    "func": [np.sum, np.max],
    (np.apply_over_axes, "axes"): [[0], [0, -1], 0],
    # transforms and decompositions
    "norm": [None, "ortho", "forward", "backward"],
    "n": [2, 4, 6],
    "s": [(2, 3), (3, 2)],
    "UPLO": ["L", "U"],
    "compute_uv": _FLAGS,
    "full_matrices": _FLAGS,
    "hermitian": [False],
    "upper": _FLAGS,
    (_LA.qr, "mode"): ["reduced", "complete", "r", "raw"],
    (_LA.matrix_power, "n"): [0, 1, 2, 3, -1],
    (_LA.cond, "p"): [None, 1, 2, "fro"],
    (_LA.tensorinv, "ind"): [1],
    **{(function, "axis"): [0, -1, 1] for function in (_FFT.fft, _FFT.ifft, _FFT.rfft, _FFT.irfft, _FFT.hfft, _FFT.ihfft)},
    **{
        (function, "axes"): [(0, 1), (-1, 0), (0,), None]
        for function in (_FFT.fft2, _FFT.ifft2, _FFT.rfft2, _FFT.irfft2, _FFT.fftn, _FFT.ifftn, _FFT.rfftn, _FFT.irfftn)
    },
    (_FFT.fftshift, "axes"): [None, 0, (0, 1)],
    (_FFT.ifftshift, "axes"): [None, 0, (0, 1)],
    (np.roll, "axis"): [None, 0, (0, 1), -1],
}
"""By the name of a parameter, or a function and the name: what it can be; what is `Drawn` is made of the first array's shape."""

MADE: Mapping[Any, Callable[[Any], Any]] = {
    **dict.fromkeys((_LA.inv, _LA.det, _LA.slogdet, _LA.cond, _LA.eig, _LA.eigvals, _LA.matrix_power), _square),
    **dict.fromkeys((_LA.eigh, _LA.eigvalsh), _square),
    _LA.cholesky: _definite,
    _LA.solve: lambda values: _square(values) if values.shape[-2:] == (3, 3) else values,
    np.bincount: lambda values: (np.abs(values) * 3).astype(int),
    np.interp: np.sort,
}
"""Of a function what is made of random numbers for it."""

REFUSED: Mapping[Any, float] = {np.nan_to_num: 0.8, np.interp: 0.8}
"""Of which functions more than a quarter of the calls may be refused, and how many: with ``copy=False``, and with ``period=``."""
