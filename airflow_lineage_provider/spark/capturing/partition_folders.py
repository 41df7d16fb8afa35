"""Whether the partitions of a catalog's table stand in the folders that have their names: the catalog may say any other place."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.sources.partitions import unescaped
from airflow_lineage_provider.spark.jvm_trees import class_name

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_BETWEEN = "\n\x1e\n"
_TOLD = re.compile(r"CatalogPartition\(\n\tPartition Values: \[(?P<values>.*)\]\n\tLocation: (?P<place>[^\n]*)\n.*", re.DOTALL)


def told_partitions(spark: SparkSession, leaf: JavaObject) -> str | None:
    """What the catalog says of the partitions of a leaf over its table of files, in two questions; None where it has none."""
    if class_name(leaf) != "LogicalRelation" or leaf.relation().location().getClass().getSimpleName() != "CatalogFileIndex":
        return None
    jvm = spark._jvm
    assert jvm is not None
    catalog = spark._jsparkSession.sessionState().catalog()
    partitions = catalog.listPartitions(leaf.catalogTable().get().identifier(), jvm.scala.Option.empty())
    return str(partitions.mkString(_BETWEEN))


def partitions_in_folders(told: str | None, paths: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether all partitions of a table of files under ``paths`` are in the folders that say their values (`told_partitions`)."""
    return told is not None and bool(columns) and len(paths) == 1 and in_folders(told, paths[0], columns)


def partitions_digest(told: str) -> str:
    """Which partition is where, in a few characters: equal where no partition has come, gone, or moved."""
    places = [_TOLD.fullmatch(one) for one in told.split(_BETWEEN)] if told else []
    known = [told if one is None else f"{one['values']}\n{one['place']}" for one in places]
    return hashlib.sha256(_BETWEEN.join(sorted(known)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def refuse_one_folder_twice(told: str, name: str) -> None:
    """:raises UnsupportedOperator: two partitions have one folder: its rows are read twice, and nothing tells these apart."""
    places = [found["place"] for one in told.split(_BETWEEN) if (found := _TOLD.fullmatch(one)) is not None]
    twice = sorted(one for one, many in Counter(places).items() if many > 1)
    if twice:
        raise UnsupportedOperator(
            f"reading table {name} is not supported: {twice[0]} is the folder of several of its partitions, and nothing tells their rows "
            "apart. Give each partition a folder of its own, or write the rows to a Parquet table first"
        )


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
