"""Row identity of source tables: which lineage key a source has, and the view that shows it beside the table's columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.plan.lineage_keys import ROW, KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.spark.frames import quoted, with_columns
from airflow_lineage_provider.spark.jvm_functions import texts_of_array
from airflow_lineage_provider.spark.session import PARSER, apply_conf
from airflow_lineage_provider.spark.xxhash64 import xxhash64

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    with apply_conf(frame.sparkSession, PARSER):
        return with_columns(frame, _key_columns(frame, identity))


def among(frame: DataFrame, identity: SourceIdentity, keys: DataFrame) -> DataFrame:
    """Those rows of a source with its lineage key (`with_identity`) whose keys are these, in columns that have other names."""
    same = [frame[quoted(column.name)].eqNullSafe(keys[quoted(name)]) for column, name in zip(identity.columns, keys.columns, strict=True)]
    return frame.join(keys.hint("broadcast"), same, "left_semi")


def _key_columns(frame: DataFrame, identity: SourceIdentity) -> dict[str, str]:
    match identity.kind:
        case "file_position":
            return {FILE: "xxhash64(_metadata.file_path)", POSITION: "_metadata.row_index"}
        case "row_digest":
            return {DIGEST: row_digest(frame.columns)}
        case "primary_key":
            return {PRESENT: "true"}
        case "snapshot":
            return {ROW: "monotonically_increasing_id()"}
    raise PlanError(f"unknown lineage key {identity.kind}")


def row_digest(columns: Sequence[str]) -> str:
    """SQL for 128 bits over all columns of a row: the same row always gives the same digest (under the run's session time zone)."""
    numbered = ", ".join(f"{quoted(name)} AS c{i}" for i, name in enumerate(columns))
    options = ", ".join(f'"{name}", "{value}"' for name, value in _DIGEST_OPTIONS.items())
    return f"md5(to_json(struct({numbered}), map({options})))"


def file_hashes(frame: DataFrame) -> dict[str, str]:
    """Hash (as text) to path, of every file of a Parquet source: what `with_identity` writes as ``lineage_file``."""
    paths = input_files(frame)
    hashes = {str(xxhash64(path.encode())): path for path in paths}
    if len(hashes) < len(paths):
        raise PlanError("two files of a source have the same 64-bit hash; name a primary key for this table with keys={…}")
    return hashes


def input_files(frame: DataFrame) -> list[str]:
    """The files that a frame reads, as ``_metadata.file_path`` names them."""
    # inputFiles() writes local paths with three slashes, _metadata.file_path with one.
    found = texts_of_array(frame.sparkSession, frame._jdf.inputFiles())
    return [re.sub("^file:///", "file:/", path) for path in sorted(found)]


def is_local(relation: Relation) -> bool:
    """Whether only this session holds the data, so that the run must store a copy to trace to it later."""
    return relation.kind == "local"
