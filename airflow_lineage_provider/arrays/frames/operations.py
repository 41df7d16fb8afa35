"""Where tracked frames begin, and the operations that make further ones of several, or of their values."""

from __future__ import annotations

from typing import Any

from airflow_lineage_provider.arrays.frames.frame import Framed, FrameOperations
from airflow_lineage_provider.arrays.frames.groups import Groups, get_dummies, pivot
from airflow_lineage_provider.arrays.frames.joining import merge
from airflow_lineage_provider.arrays.given import check_name, check_shape
from airflow_lineage_provider.arrays.tracking.results import Result
from airflow_lineage_provider.errors import InvalidArray
from airflow_lineage_provider.shown import shown

Framed.operations = FrameOperations(merge, Groups, pivot, get_dummies)


def frame(name: str, table: Any) -> Framed:
    """A table whose cells are to be found again behind what pandas makes of it. It is copied.

    :param name: of the table, in answers.
    :param table: a pandas frame whose index are the positions, or an Arrow table.
    :raises InvalidArray: the name is none; the table is another thing, has another index, or columns without names of their own.
    """
    import pandas as pd
    import pyarrow as pa

    if isinstance(table, pa.Table):
        table = table.to_pandas(types_mapper=pd.ArrowDtype)
    if not isinstance(table, pd.DataFrame):
        raise InvalidArray(f"table {shown(name)} is of type {type(table).__name__}; it can be a pandas frame, or an Arrow table")
    labels = list(table.columns)
    if not all(isinstance(one, str) for one in labels) or len(set(labels)) < len(labels):
        raise InvalidArray(f"table {shown(name)}: each column needs a name of its own, which is a text; they are {shown(labels)}")
    if not table.index.equals(pd.RangeIndex(len(table))) or table.index.name is not None:
        raise InvalidArray(f"table {shown(name)} has an index that is not its rows' positions: reset_index() makes a column of it")
    result = Result(check_name(name), check_shape(name, table.shape), is_source=True)
    return Framed(table.copy(), result)
