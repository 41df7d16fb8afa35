"""Relations between cells as the pairs that a capture gives, and how large they are as text."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from airflow_lineage_provider.arrays import Relation, compress, expand
from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.grouping import Ints


@dataclass(frozen=True, eq=False)
class Given:
    """The pairs of an output with one of its inputs.

    :ivar pairs: (n, axes of the output + axes of the input), sorted.
    """

    pairs: Ints
    output: Shape
    source: Shape

    @classmethod
    def of(cls, relation: Relation) -> Given:
        """All pairs of a compressed relation."""
        return cls(expand(relation), relation.out_shape, relation.in_shape)

    def compressed(self) -> Relation:
        """By ProvRC."""
        return compress(self.pairs, self.output, self.source)

    def padded(self) -> Ints:
        """With two axes at least for each array, as the paper's files have them."""
        halves = np.split(self.pairs, [len(self.output)], axis=1)
        return np.concatenate([np.pad(one, ((0, 0), (0, max(0, 2 - one.shape[1])))) for one in halves], axis=1)


def raw_bytes(given: Given) -> int:
    """Of the paper's raw file: a line for each pair, its number and its positions, in decimal digits.

    >>> raw_bytes(Given(np.array([[0, 0], [12, 3]]), (13,), (4,)))
    21
    """
    columns: Ints = given.padded()
    lines, width = columns.shape
    return int(sum(_digits(column) for column in columns.T)) + digits_before(lines) + (int(width) + 1) * int(lines)


def digits_before(count: int) -> int:
    """How many digits all whole numbers below a count have, from 0.

    >>> digits_before(12)
    14
    """
    return count + sum(max(count - int(10**power), 0) for power in range(1, len(str(count))))


def _digits(column: Ints) -> int:
    return len(column) + sum(int(np.count_nonzero(column >= 10**power)) for power in range(1, len(str(int(column.max(initial=0))))))


def matrix_product_bytes(side: int) -> int:
    """The raw file of a product of two square matrices, of which nobody would write the pairs: of either operand, side³ lines."""
    lines, columns = side**3, 4
    return 2 * (digits_before(lines) + columns * digits_before(side) * side**2 + (columns + 1) * lines)


def cells(shape: Shape) -> Ints:
    """(axes, cells): every position, in C order."""
    return np.indices(shape).reshape(len(shape), math.prod(shape)).astype(np.int64)
