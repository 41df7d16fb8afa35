"""Rows of one Parquet file by their positions, read by DuckDB."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.sources.duckdb_connection import MOST_OF_ONE_FILE, connected, name
from airflow_lineage_provider.sources.duckdb_files import POSITION, column_problem, file_problem, scan
from airflow_lineage_provider.sources.files import CannotReadHere, FileColumn

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    import pyarrow.parquet as pq


FEW_ROWS = 20_000
"""More rows are read faster by reading all rows around them, which Arrow does in less memory; unless most rows are not wanted."""
_MOST_ROWS, _ONE_IN = 1_000_000, 10
"""So many are few where no more than one in ten rows of the file is wanted: of six million rows three columns of 100,000 take .17 s of CPU,
by Arrow .29, and of 600,000 as long."""
_WANTED = "wanted_positions"


class NotByDuckDb(Exception):
    """It is not certain that DuckDB reads of this file what Spark does; Arrow may."""


def rows_at(
    file: pq.ParquetFile, path: Path, columns: list[FileColumn], positions: npt.NDArray[np.int64], among: Collection[Path] = ()
) -> list[pa.ChunkedArray]:
    """The values of columns at positions, which are given in order and all of which are in the file.

    :param among: the files that are read one after the other, this among them.
    :raises NotByDuckDb: DuckDB is not installed, may read something else than Spark, or fails.
    """
    import numpy as np
    import pyarrow as pa

    problem = file_problem(file, path) or next((found for one in columns if (found := column_problem(file, one))), "")
    if len(positions) > max(FEW_ROWS, min(_MOST_ROWS, file.metadata.num_rows // _ONE_IN)):
        problem = f"{len(positions):,} of its rows are wanted"
    if problem:
        raise NotByDuckDb(problem)
    listed = ", ".join(name(one) for one in dict.fromkeys([POSITION, *(column.name for column in columns)]))
    # Not a list of numbers in the query: reading its text would take longer than reading the file.
    wanted = pa.table({"position": positions[np.append(np.ones(min(len(positions), 1), np.bool_), positions[1:] != positions[:-1])]})
    readable = among if len(among) > MOST_OF_ONE_FILE else [path]
    rows = _fetched(f"SELECT {listed} FROM {scan([path])} WHERE {POSITION} IN (SELECT position FROM {_WANTED})", readable, wanted)
    found = rows.column(0).to_numpy()
    if not np.array_equal(found, positions):  # it gives them in order, each once, unless several threads read them
        order = np.argsort(found)
        places = order[np.searchsorted(found, positions, sorter=order).clip(0, max(len(order) - 1, 0))] if len(order) else order
        if not len(order) or not np.array_equal(found[places], positions):
            raise NotByDuckDb("it does not find all of the rows")
        rows = rows.take(pa.array(places))
    return [rows.column(column.name) for column in columns]


def _fetched(query: str, readable: Collection[Path], wanted: pa.Table) -> pa.Table:
    try:
        with connected(readable, may_skip=True) as connection:
            connection.register(_WANTED, wanted)
            return connection.sql(query).to_arrow_table()
    except CannotReadHere as problem:
        raise NotByDuckDb(str(problem)) from problem
    except _errors() as problem:
        # A text that is not UTF-8, say, of which Spark has the bytes.
        raise NotByDuckDb(str(problem)) from problem


def _errors() -> tuple[type[Exception], ...]:
    import duckdb

    return (duckdb.Error,)
