"""Row identity of source tables: which lineage key a source has, and the view that shows it beside the table's columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.plan.lineage_keys import ROW, KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.spark.by_name import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FILE = "lineage_file"
POSITION = "lineage_position"
DIGEST = "lineage_digest"
PRESENT = "lineage_present"
RESERVED = frozenset({FILE, POSITION, DIGEST, PRESENT, ROW})

# to_json leaves out NULL fields and cuts timestamps to milliseconds unless told otherwise: rows that differ would share a digest.
_DIGEST_OPTIONS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def source_identity(source: Source, keys: Mapping[str, Sequence[str]]) -> SourceIdentity:
    """How the rows of a source are told apart, given the primary keys that the user names by table.

    :raises PlanError: the user's key names a column that the table does not have, or the table uses a reserved column name.
    """
    relation = source.relation
    clash = sorted(RESERVED & {column.lower() for column in source.columns})
    if clash:
        raise PlanError(
            f"table {relation.name} has a column {clash[0]}, a name that lineage needs for itself; rename it before the pipeline reads it"
        )
    if relation.name in keys:
        return _primary_key(source, keys[relation.name])
    if relation.kind == "local":
        return SourceIdentity(kind="snapshot", columns=(KeyColumn(name=ROW, type="bigint"),))
    if relation.kind == "range":
        return _primary_key(source, source.columns)
    if relation.format == "parquet" and relation.kind in ("files", "table") and "_metadata" not in source.columns:
        return SourceIdentity(kind="file_position", columns=(KeyColumn(name=FILE, type="bigint"), KeyColumn(name=POSITION, type="bigint")))
    return SourceIdentity(kind="row_digest", columns=(KeyColumn(name=DIGEST, type="string"),))


def _primary_key(source: Source, names: Sequence[str]) -> SourceIdentity:
    types = {column.lower(): (column, attribute.type) for column, attribute in zip(source.columns, source.output, strict=True)}
    missing = [name for name in names if name.lower() not in types]
    if missing or not names:
        raise PlanError(f"the key of {source.relation.name} names {missing or 'no column'}; the table has {', '.join(source.columns)}")
    columns = (KeyColumn(name=PRESENT, type="boolean"), *(KeyColumn(name=types[n.lower()][0], type=types[n.lower()][1]) for n in names))
    return SourceIdentity(kind="primary_key", columns=columns)


def with_identity(frame: DataFrame, identity: SourceIdentity) -> DataFrame:
    """The source's rows with the lineage key's columns that the table itself does not have."""
    return frame.select("*", *_key_columns(frame, identity))


def _key_columns(frame: DataFrame, identity: SourceIdentity) -> tuple[Column, ...]:
    match identity.kind:
        case "file_position":
            return F.xxhash64(F.col("_metadata.file_path")).alias(FILE), F.col("_metadata.row_index").alias(POSITION)
        case "row_digest":
            return (row_digest(frame).alias(DIGEST),)
        case "primary_key":
            return (F.lit(True).alias(PRESENT),)
        case "snapshot":
            return (F.monotonically_increasing_id().alias(ROW),)
    raise PlanError(f"unknown lineage key {identity.kind}")


def row_digest(frame: DataFrame) -> Column:
    """128 bits over all columns of a row: the same row always gives the same digest (under the run's session time zone)."""
    columns = [F.col(quoted(name)).alias(f"c{i}") for i, name in enumerate(frame.columns)]
    return F.md5(F.to_json(F.struct(*columns), _DIGEST_OPTIONS))


def file_hashes(frame: DataFrame) -> dict[str, str]:
    """Hash (as text) to path, of every file of a Parquet source: what `with_identity` writes as ``lineage_file``."""
    import pyarrow as pa

    # inputFiles() writes local paths with three slashes, _metadata.file_path with one.
    paths = [re.sub("^file:///", "file:/", path) for path in sorted(frame.inputFiles())]
    if not paths:
        return {}
    # From Arrow it is a local relation, which Spark's optimizer evaluates by itself: no job is started.
    table = frame.sparkSession.createDataFrame(pa.table({"path": pa.array(paths, pa.string())}))
    rows = table.select(F.xxhash64("path").alias("hash"), "path").collect()
    hashes = {str(row["hash"]): row["path"] for row in rows}
    if len(hashes) < len(paths):
        raise PlanError("two files of a source have the same 64-bit hash; name a primary key for this table with keys={…}")
    return hashes


def is_local(relation: Relation) -> bool:
    """Whether only this session holds the data, so that the run must store a copy to trace to it later."""
    return relation.kind == "local"
