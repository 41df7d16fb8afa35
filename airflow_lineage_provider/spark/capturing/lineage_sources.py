"""Rows of lineage as what a further run reads: in the plan, the table that they are of takes the place of the frame of these rows alone."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.spark.arrow_border import arrow_frame
from airflow_lineage_provider.spark.capturing.kept_rows import marked, over
from airflow_lineage_provider.spark.frames import renamed
from airflow_lineage_provider.spark.jvm_trees import class_name, frame_over, items, sequence, with_fields
from airflow_lineage_provider.spark.scala_maps import scala_map

if TYPE_CHECKING:
    import pyarrow as pa
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.records.run import RowsOfLineage

_MARK = "lineage.rows"
"""The option of a relation of files that says of which rows of lineage it is the table."""


@dataclass(frozen=True, kw_only=True)
class LineageSource:
    """Rows of lineage that a pipeline reads under a ``name``: the table as the run that was asked read it, and their lineage keys.

    ``mark`` is this reading's alone.
    """

    name: str
    source: RecordedSource
    keys: pa.Table = field(repr=False)
    of: RowsOfLineage
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def key_column(self, at: int) -> str:
        """What the columns of the frame with the keys are called, which tell the semi-join with it."""
        return f"lineage_rows_{self.mark}_{at}"


def keys_frame(spark: SparkSession, source: LineageSource) -> DataFrame:
    """The lineage keys of the rows."""
    columns = source.source.identity.columns
    frame = arrow_frame(spark, source.keys, [column.type for column in columns])
    return renamed(frame, [source.key_column(at) for at in range(len(columns))])


def marked_table(spark: SparkSession, table: DataFrame, source: LineageSource) -> DataFrame | None:
    """The table, its relation with the mark; None where it is not one of files with these columns."""
    plan = table._jdf.queryExecution().analyzed()
    leaf = plan.collectLeaves().head()
    if not _is_of_files(leaf) or not {*_numbers(plan)} <= {*_numbers(leaf)}:
        return None
    return frame_over(spark, with_fields(spark, leaf, relation=marked(spark, leaf.relation(), _MARK, source.mark)))


def whole_tables(spark: SparkSession, plan: JavaObject, sources: Sequence[LineageSource]) -> JavaObject:
    """The plan over the tables themselves in place of the frames of some of their rows; the leaves have the marks. It has no subqueries."""
    if not sources:
        return plan
    if any(_is_read(spark, plan, one) for one in sources):
        leaf = plan.left().collectLeaves().head()
        columns = {str(one) for one in leaf.relation().schema().fieldNames()}
        return with_fields(spark, leaf, output=sequence(spark, [one for one in items(leaf.output()) if str(one.name()) in columns]))
    return over(spark, plan, [whole_tables(spark, child, sources) for child in items(plan.children())])


def read_as(spark: SparkSession, leaf: JavaObject, sources: Sequence[LineageSource]) -> LineageSource | None:
    """The rows of lineage that alone are read of a leaf's table; None where it is read as a whole."""
    if not sources or not _is_of_files(leaf):
        return None
    mark = scala_map(spark, leaf.relation().options()).get(_MARK)
    return next((one for one in sources if one.mark == mark), None)


def _is_read(spark: SparkSession, plan: JavaObject, source: LineageSource) -> bool:
    """Whether an operator is the semi-join of the marked table with the keys."""
    if class_name(plan) != "Join" or str(plan.joinType().sql()) != "LEFT SEMI":
        return False
    names = [str(one.name()) for one in items(plan.right().output())]
    return source.key_column(0) in names and read_as(spark, plan.left().collectLeaves().head(), [source]) is not None


def _is_of_files(leaf: JavaObject) -> bool:
    return class_name(leaf) == "LogicalRelation" and class_name(leaf.relation()) == "HadoopFsRelation"


def _numbers(plan: JavaObject) -> list[int]:
    return [int(one.exprId().id()) for one in items(plan.output())]
