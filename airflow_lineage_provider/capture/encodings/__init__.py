"""How the rows behind rows are written: each an Arrow array with an entry for every row that may be asked about.

===============  ==========================================================  ========================================================
rid array        at most one row stands behind a row; NULL: none             Smoke, Sec. 3.1
rid index        the numbers of the rows, ascending                          Smoke, Sec. 3.1
differences      the first number, and how far each is from the one before   groups of rows that stand near each other
intervals        the ranges that the numbers make: ``start``, ``length``     frames, prefixes, groups of neighbours
whole            nothing: every row has all rows of the other side           a control (forward lineage, Sec. 3.4), a cross join
roaring bitmaps  a compressed bitmap of each                                 large groups whose rows stand anywhere
shared roBDD     a decision diagram over the bits of the numbers, whose      large sets that are nested in one another or share most
                 equal parts are written once                                of their rows (forward lineage, Sec. 4.2)
===============  ==========================================================  ========================================================

An encoding never changes an answer: `choosing.choose` takes the smallest that can hold the edges and answers as quickly as it must.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_lineage_provider.capture.encodings.arrays import Differences, Intervals, RidArray, RidIndex, Whole
from airflow_lineage_provider.capture.encodings.bitmaps import RoaringBitmaps
from airflow_lineage_provider.capture.encodings.encoding import Encoding
from airflow_lineage_provider.capture.encodings.robdd import SharedRoBdd

ENCODINGS: Mapping[str, Encoding] = {
    one.name: one for one in (Whole(), RidArray(), RidIndex(), Intervals(), Differences(), RoaringBitmaps(), SharedRoBdd())
}
"""By name; of those that are equally small the first is taken."""
