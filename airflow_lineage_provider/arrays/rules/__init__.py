"""Lineage of numpy's operations from the shapes alone: relations of one row, or a few, and no pair of cells is ever made.

A rule gives a relation for each operand, in their order; its ``out_shape`` is the shape of the result. It has what an operation is
*computed from*: of a sum, a product or a maximum all cells of its range. What only moves cells needs no rule: `moved.moved`.
"""

from airflow_lineage_provider.arrays.rules.products import einsum, matmul, outer, stacked
from airflow_lineage_provider.arrays.rules.reshaping import reshape
from airflow_lineage_provider.arrays.rules.shapes import across, all_to_all, elementwise, reduction, scan, sliced
from airflow_lineage_provider.arrays.rules.windows import windows

__all__ = [
    "across",
    "all_to_all",
    "einsum",
    "elementwise",
    "matmul",
    "outer",
    "reduction",
    "reshape",
    "scan",
    "sliced",
    "stacked",
    "windows",
]
