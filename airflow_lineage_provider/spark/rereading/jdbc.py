"""Versions of JDBC tables: what the database counts, and for a table that a recorded run wrote a checksum of its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.records.versions import RowsVersion
from airflow_lineage_provider.spark.capturing.relations import parameters_value
from airflow_lineage_provider.store.fingerprint import place_query, version_query, version_text

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

_ABOUT_READING = ("dbtable", "query", "partitioncolumn", "lowerbound", "upperbound", "numpartitions")
_NAME = re.compile(r"[\w.\"]+")


def rows_version(spark: SparkSession, options: Mapping[str, str], is_output: Callable[[str], bool]) -> RowsVersion:
    """The number of rows; with a checksum where ``is_output`` says that a run wrote the table at this place."""
    place = _place(spark, options)
    if place is None or not is_output(place):
        return RowsVersion(count=_count(spark, options))
    return replace(_checked(spark, options), place=place)


def written_version(spark: SparkSession, options: Mapping[str, str]) -> tuple[str, str] | None:
    """Place and version of a PostgreSQL table, as `store.fingerprint.table_fingerprint` gives them; None where it cannot be known."""
    place = _place(spark, options)
    if place is None:
        return None
    rows = _checked(spark, options)
    return place, version_text(rows.count, str(rows.checksum))


def rows_differ(spark: SparkSession, name: str, options: Mapping[str, str], version: RowsVersion) -> tuple[str, ...]:
    """How the rows differ from a version, for people."""
    now = RowsVersion(count=_count(spark, options)) if version.checksum is None else _checked(spark, options)
    if now.count != version.count:
        return (f"{name} has {now.count:,} rows; it had {version.count:,}",)
    return () if now.checksum == version.checksum else (f"{name} has other rows than it had",)


def _place(spark: SparkSession, options: Mapping[str, str]) -> str | None:
    """Which PostgreSQL table this is; None for queries, other databases, and servers that do not tell who they are."""
    table, url = parameters_value(options, "dbtable"), parameters_value(options, "url") or ""
    if table is None or not url.startswith("jdbc:postgresql:") or not _NAME.fullmatch(table):
        return None
    try:
        found = _ask(spark, options, place_query(table))
    except _java_errors():
        return None
    return str(found[0][0]) if found else None


def _checked(spark: SparkSession, options: Mapping[str, str]) -> RowsVersion:
    row = _ask(spark, options, version_query(str(parameters_value(options, "dbtable"))))[0]
    return RowsVersion(count=int(row[0]), checksum=str(row[1]))


def _count(spark: SparkSession, options: Mapping[str, str]) -> int:
    query = parameters_value(options, "query")
    table = f"({query})" if query is not None else str(parameters_value(options, "dbtable"))
    return int(_ask(spark, options, f"SELECT COUNT(*) AS row_count FROM {table} counted")[0][0])


def _ask(spark: SparkSession, options: Mapping[str, str], query: str) -> list[Row]:
    kept = {key: value for key, value in options.items() if key.lower() not in _ABOUT_READING}
    return spark.read.format("jdbc").options(**kept, query=query).load().collect()


def _java_errors() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JJavaError
