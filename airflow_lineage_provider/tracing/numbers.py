"""Numbers of rows, from 0, by whole arrays: in order, each once, in pairs. There may be millions, and NumPy's own ways suit others better.

A stable ``argsort`` of wide integers merges, and ``unique`` hashes: of millions the first takes about six times as long as sorting by two
bytes at a time (radix sort, which NumPy has for integers of two bytes), and the second twenty times as long as a sort.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.int64]

_FEW = 2_000
"""So few are merged as quickly."""
_DIGIT = 16


def in_order(numbers: Numbers) -> Numbers:
    """The places of numbers from the least to the greatest; those of equal ones ascending. Where any is below 0 they are merged.

    >>> import numpy as np
    >>> in_order(np.array([7, 3, 7, 0])).tolist()
    [3, 1, 0, 2]
    """
    import numpy as np

    if len(numbers) < _FEW or numbers.min() < 0:
        return np.argsort(numbers, kind="stable")
    order: Numbers = np.argsort(numbers.astype(np.uint16), kind="stable")  # what is above two bytes is cut off
    for shift in range(_DIGIT, int(numbers.max()).bit_length(), _DIGIT):
        order = order[np.argsort((numbers >> shift).astype(np.uint16)[order], kind="stable")]
    return order


def in_order_of_both(first: Numbers, second: Numbers) -> Numbers:
    """The places of pairs of numbers, by the first numbers, and by the second where these are equal.

    >>> import numpy as np
    >>> in_order_of_both(np.array([1, 0, 1]), np.array([4, 9, 2])).tolist()
    [1, 2, 0]
    """
    order = in_order(second)
    placed: Numbers = order[in_order(first[order])]
    return placed


def different(numbers: Numbers) -> Numbers:
    """The numbers, each once, in order."""
    import numpy as np

    ordered: Numbers = np.sort(numbers)
    new = np.append(np.ones(min(len(ordered), 1), np.bool_), ordered[1:] != ordered[:-1])
    found: Numbers = ordered[new]
    return found


def is_ascending(numbers: Numbers) -> bool:
    """Whether each is greater than the one before: no two are the same."""
    return bool((numbers[1:] > numbers[:-1]).all())


def each_once(left: Numbers, right: Numbers) -> tuple[Numbers, Numbers]:
    """Pairs of numbers from 0, each once, in order."""
    import numpy as np

    if not len(left):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if is_ascending(right) and bool((left[1:] >= left[:-1]).all()):
        return left.astype(np.int64, copy=False), right.astype(np.int64, copy=False)
    order = in_order_of_both(left, right)
    left, right = left[order], right[order]
    new = np.ones(len(left), np.bool_)
    new[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    return left[new].astype(np.int64, copy=False), right[new].astype(np.int64, copy=False)
