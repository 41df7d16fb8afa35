"""What a frame reads whose plan cannot be recorded: its tables by their names, and the files behind them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan.lineage_keys import SourceIdentity
from airflow_lineage_provider.records.run import RecordedInput
from airflow_lineage_provider.records.versions import NoVersion, SourceVersion
from airflow_lineage_provider.spark import file_listing
from airflow_lineage_provider.spark.capturing.relations import relation_of
from airflow_lineage_provider.spark.jvm_trees import items
from airflow_lineage_provider.spark.local_files import files_version

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

_BY_VALUES = SourceIdentity(kind="row_digest", columns=())


def named_inputs(frame: DataFrame) -> tuple[RecordedInput, ...]:
    """The tables that a frame reads, each once, in the order of its plan; of files with the version that is read.

    Of what this release cannot read again there is its name alone; data of the session is none. That they cannot be told is a warning: the
    write is made all the same.
    """
    try:
        plan = frame._jdf.queryExecution().analyzed()
        leaves = [leaf for each in (plan, *items(plan.subqueriesAll())) for leaf in items(each.collectLeaves())]
        found = [one for leaf in leaves if (one := _named(frame.sparkSession, leaf)) is not None]
    except Exception as problem:
        log.warning("what the write reads is not recorded: %s", problem)
        return ()
    distinct = {(name, paths): version for name, paths, version in found}
    return tuple(
        RecordedInput(leaf=number, name=name, identity=_BY_VALUES, version=version, paths=paths)
        for number, ((name, paths), version) in enumerate(distinct.items())
    )


def _named(spark: SparkSession, leaf: JavaObject) -> tuple[str, tuple[str, ...], SourceVersion] | None:
    try:
        relation = relation_of(spark, leaf, "")
    except UnsupportedOperator:
        return _of_unknown(leaf)
    if relation.kind in ("range", "local"):
        return None
    options = dict(relation.options)
    name = options.get("table", options.get("dbtable", relation.name)).replace("`", "") if relation.kind != "files" else relation.name
    index = file_listing.file_index(leaf)
    version = NoVersion() if index is None else files_version(file_listing.listed(spark, index), complete=False)
    return name, relation.paths, version


def _of_unknown(leaf: JavaObject) -> tuple[str, tuple[str, ...], SourceVersion] | None:
    """A leaf of a kind that is no source here: a reference to a part of the plan is none of its tables."""
    kind = str(leaf.nodeName())
    return None if kind.endswith("Ref") or "CTE" in kind else (kind, (), NoVersion())
