"""Which of a few levels each cell of an array has, as bytes."""

from __future__ import annotations

import numpy as np

from airflow_lineage_provider.arrays.columns import deflated
from airflow_lineage_provider.arrays.columns import read as read_column
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.sealed import Seal
from airflow_lineage_provider.arrays.whole_numbers import number
from airflow_lineage_provider.errors import RelationDamaged, TooManyCells
from airflow_lineage_provider.settings import cell_limit

_SEAL = Seal(magic=b"PRVW", version=1, what="an array of levels", other="no array of levels")


def written(places: Ints) -> bytes:
    """The places of cells, (cells,), each from 0."""
    return _SEAL.put_on(number(len(places)) + deflated(places))


def read(data: bytes, cells: int, levels: int) -> Ints:
    """What `written` wrote of so many cells, (cells,).

    :param levels: each place is at most that.
    :raises RelationTooNew: a newer release wrote it. :raises RelationDamaged: it is cut off, was changed, or is of others.
    :raises TooManyCells: there are more cells than `settings.cell_limit`.
    """
    if cells > cell_limit():
        raise TooManyCells(f"there are {cells:,} cells, and {cell_limit():,} may be read (AIRFLOW_LINEAGE_CELL_LIMIT)")
    source = _SEAL.taken_off(data)
    if (count := source.number()) != cells:
        raise RelationDamaged(f"there are levels of {count:,} cells in place of {cells:,}")
    column = read_column(source, cells)
    found = np.full(cells, column) if isinstance(column, int) else column.numbers()
    if not source.ended or (cells and not 0 <= int(found.min()) <= int(found.max()) <= levels):
        raise RelationDamaged(f"the levels of cells are others than 0 to {levels:,}, or more follows them")
    return found
