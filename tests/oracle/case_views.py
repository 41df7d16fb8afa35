"""The tables of a case as views of a Spark session, as files or as the session's own data."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.oracle import query as q
from tests.oracle.strategies import Case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@contextmanager
def views(case: Case, spark: SparkSession) -> Iterator[None]:
    folder = None if case.storage == "session" else Path(tempfile.mkdtemp(prefix="lineage-fuzz-"))
    try:
        if any(_is_odd(value) for data in case.tables.values() for row in data.rows for value in row):
            for name in _SKIPPING:
                spark.conf.set(name, "false")
        for name, data in case.tables.items():
            frame = _session_data(data, spark) if folder is None else _files(data, folder / name, case.storage.split()[0], spark)
            frame.createOrReplaceTempView(name)
        yield
    finally:
        for name in _SKIPPING:
            spark.conf.unset(name)
        for name in case.tables:
            spark.catalog.dropTempView(name)
        if folder is not None:
            shutil.rmtree(folder)


_SKIPPING = ("spark.sql.parquet.filterPushdown", "spark.sql.orc.filterPushdown")
"""Spark skips parts of files by statistics that leave NaN out, and by dictionaries that tell 0.0 from -0.0: what is in a file, and meets a
condition, is then not always read, and the oracle does not know of which rows that is true.
"""


def _is_odd(value: Any) -> bool:
    return isinstance(value, float) and (math.isnan(value) or (value == 0 and math.copysign(1, value) < 0))


def _session_data(data: q.Data, spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(list(data.rows), data.ddl)


def _files(data: q.Data, folder: Path, kind: str, spark: SparkSession) -> DataFrame:
    """Two files a table, written without Spark."""
    import pyarrow as pa
    from pyarrow import orc, parquet

    kinds = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string(), "boolean": pa.bool_(), "double": pa.float64()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in data.columns])
    folder.mkdir()
    half = len(data.rows) // 2
    for number, rows in enumerate((data.rows[:half], data.rows[half:])):
        columns = [pa.array([row[at] for row in rows], one.type) for at, one in enumerate(schema)]
        write = parquet.write_table if kind == "parquet" else orc.write_table
        write(pa.table(columns, schema=schema), str(folder / f"part-{number}.{kind}"))
    return spark.read.format(kind).schema(data.ddl).load(str(folder))
