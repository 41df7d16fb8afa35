"""Where tracked arrays begin, and the operations that make further ones of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.given import check_name, check_shape
from airflow_lineage_provider.arrays.tracking.array import KINDS, Operations, Tracked
from airflow_lineage_provider.arrays.tracking.functions import called
from airflow_lineage_provider.arrays.tracking.indexing import indexed
from airflow_lineage_provider.arrays.tracking.methods import method
from airflow_lineage_provider.arrays.tracking.results import Result
from airflow_lineage_provider.arrays.tracking.ufuncs import computed
from airflow_lineage_provider.errors import InvalidArray
from airflow_lineage_provider.shown import shown

Tracked.operations = Operations(indexed, method, computed, called)


def source(name: str, array: Any) -> Tracked:
    """An array whose cells are to be found again behind what is computed from it. It is copied.

    :param name: of the source; in a reason, of the argument.
    :param array: what `numpy.asarray` takes; a text is the array of its characters.
    :raises InvalidArray: the name is none, or the array is of objects, of records, or masked.
    :raises NotTracked: it is a tracked array already.
    """
    if isinstance(array, np.ma.MaskedArray):
        raise InvalidArray(f"source {shown(name)} is a masked array, whose lineage is not followed; give its filled(…), and its mask")
    values = np.array(list(array), dtype=np.str_) if isinstance(array, str) else np.array(array)
    if values.dtype.kind not in KINDS:
        raise InvalidArray(f"source {shown(name)} is an array of {values.dtype}; its cells can be numbers, booleans, times or texts")
    return Tracked(values, Result(check_name(name), check_shape(name, values.shape), is_source=True))
