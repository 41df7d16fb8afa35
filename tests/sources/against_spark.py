"""Columns of Parquet files as this process reads them, beside what Spark reads of the same files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_lineage_provider.catalyst.datatypes import ddl
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.parquet import read_positions
from airflow_lineage_provider.spark.arrow_border import to_arrow
from airflow_lineage_provider.spark.session import apply_conf, sql_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLD_SPARK = {"org.apache.spark.version": "2.4.8"}
NEW_SPARK = {"org.apache.spark.version": "3.5.1"}


@dataclass(frozen=True)
class Compared:
    """A column: what was read here (None where it was left to Spark, because of ``refusal``), and what Spark read (None: it failed)."""

    here: pa.ChunkedArray | None
    spark: pa.ChunkedArray | None
    refusal: str = ""

    @property
    def same(self) -> bool:
        return self.here is not None and self.spark is not None and bits(self.here) == bits(self.spark)


def compare(
    spark: SparkSession, file: Path, *, schema: str = "", conf: Mapping[str, str] | None = None, options: Mapping[str, str] | None = None
) -> dict[str, Compared]:
    """Every column of a file, in all rows."""
    with apply_conf(spark, conf or {}):
        reader = spark.read.options(**(options or {}))
        frame = (reader.schema(schema) if schema else reader).parquet(str(file))
        fields = [(field.name, ddl(field.jsonValue()["type"])) for field in frame.schema]
        settings = sql_conf(spark)
        read = _by_spark(frame)
        found = {}
        for number, (name, kind) in enumerate(fields):
            here = _here(file, name, kind, settings, options or {})
            found[name] = Compared(here if isinstance(here, pa.ChunkedArray) else None, read[number], str(here)[:200])
    return found


def _here(file: Path, name: str, kind: str, settings: Mapping[str, str], options: Mapping[str, str]) -> pa.ChunkedArray | CannotReadHere:
    relation = Relation(name="t", kind="files", format="parquet", options=tuple(options.items()))
    source = Source(relation=relation, output=(Attribute(id=1, name=name, type=kind),), columns=(name,), leaf=0)
    rows = 50
    keys = pa.table({"key_0": pa.array([7] * rows, pa.int64()), "key_1": pa.array(range(rows), pa.int64())})
    try:
        return read_positions(source, {"7": str(file)}, keys, settings).column(2)
    except CannotReadHere as refusal:
        return refusal


def _by_spark(frame: Any) -> list[pa.ChunkedArray | None]:
    """The columns as Spark reads them: all at once, and where it cannot read one of them, each for itself."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    numbered = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    try:
        return list(to_arrow(numbered).columns)
    except (Py4JJavaError, PySparkException):
        single = [numbered.select(name) for name in numbered.columns]
        return [None] if len(single) == 1 else [one for each in single for one in _by_spark(each)]


def bits(column: pa.ChunkedArray) -> list[str]:
    """Values as texts that differ where a bit does, whatever time zone the type shows."""
    return [_text(value) for value in column]


def _text(value: Any) -> str:
    if not value.is_valid:
        return "NULL"
    if isinstance(value, pa.TimestampScalar | pa.Date32Scalar | pa.DurationScalar | pa.Time64Scalar):
        return str(value.value)
    if isinstance(value, pa.StructScalar):
        return str({name: _text(value[at]) for at, name in enumerate(value.type.names)})
    if isinstance(value, pa.ListScalar):
        return str([_text(one) for one in value.values])
    if isinstance(value, pa.StringScalar | pa.BinaryScalar):
        return str(value.as_buffer().to_pybytes().hex())
    return repr(value.as_py())
