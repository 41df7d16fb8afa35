"""Whether the partitions of a catalog's table stand in the folders that have their names: the catalog may say any other place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.sources.partitions import unescaped

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_BETWEEN = "\n\x1e\n"
_TOLD = re.compile(r"CatalogPartition\(\n\tPartition Values: \[(?P<values>.*)\]\n\tLocation: (?P<place>[^\n]*)\n.*", re.DOTALL)


def partitions_in_folders(spark: SparkSession, leaf: JavaObject, paths: Sequence[str], columns: Sequence[str]) -> bool:
    """Of a leaf over a catalog's table of files under ``paths``. Two questions for all partitions."""
    if not columns or len(paths) != 1 or leaf.relation().location().getClass().getSimpleName() != "CatalogFileIndex":
        return False
    jvm = spark._jvm
    assert jvm is not None
    catalog = spark._jsparkSession.sessionState().catalog()
    partitions = catalog.listPartitions(leaf.catalogTable().get().identifier(), jvm.scala.Option.empty())
    return in_folders(str(partitions.mkString(_BETWEEN)), paths[0], columns)


def in_folders(told: str, root: str, columns: Sequence[str]) -> bool:
    """Whether all partitions of a catalog's text (``CatalogTablePartition.toString``) are at ``root``, in folders named after their values.

    False, too, where the text could be read in two ways.
    """
    return all(_in_its_folder(one, root, columns) for one in told.split(_BETWEEN)) if told else True


def _in_its_folder(told: str, root: str, columns: Sequence[str]) -> bool:
    found = _TOLD.fullmatch(told)
    if found is None or not found["place"].startswith(f"{root}/"):
        return False
    named = [one.partition("=") for one in found["place"].removeprefix(f"{root}/").split("/")]
    values = [unescaped(value) for _, _, value in named]
    certain = not any(", " in value or "\n" in value for value in values)
    said = ", ".join(f"{column}={value}" for column, value in zip(columns, values, strict=False))
    return certain and [name for name, _, _ in named] == [*columns] and found["values"] == said
