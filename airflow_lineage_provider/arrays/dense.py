"""A hop over bitmaps: prefix sums tell which rows are met, an array of differences collects what is behind them. O(rows + cells).

For scattered cells, of which a random sort in a path makes thousands of boxes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from airflow_lineage_provider.arrays import join
from airflow_lineage_provider.arrays.boxes import Boxes, from_mask, joined, prefix_sums, to_mask, within
from airflow_lineage_provider.arrays.grouping import Bools
from airflow_lineage_provider.arrays.relation import Relation


def backward(relation: Relation, mask: Bools) -> Bools:
    """The input cells behind the output cells of a bitmap."""
    still = relation.take(~relation.moving)
    met = _met(still.out_boxes, mask)
    return to_mask(joined([still.in_boxes.take(met), _moving(join.backward, relation, mask)]), relation.in_shape)


def forward(relation: Relation, mask: Bools) -> Bools:
    """The output cells that the input cells of a bitmap stand behind."""
    still = relation.take(~relation.moving)
    met = _met(still.in_boxes, mask)
    return to_mask(joined([still.out_boxes.take(met), _moving(join.forward, relation, mask)]), relation.out_shape)


def _met(boxes: Boxes, mask: Bools) -> Bools:
    """(k,) which boxes have any cell of the bitmap."""
    return np.asarray(within(boxes, prefix_sums(mask)) > 0)


def _moving(one_way: Callable[[Relation, Boxes], Boxes], relation: Relation, mask: Bools) -> Boxes:
    """What stands behind rows whose ends move, or before them, depends on which cells of their box are asked about: a join of boxes."""
    return one_way(relation.take(relation.moving), from_mask(mask))
