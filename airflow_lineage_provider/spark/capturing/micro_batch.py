"""A micro-batch of a streaming query, with the plan that made its rows: from the files that the stream has come by, where it can be said.

Spark hands a function of ``foreachBatch`` rows without a plan. The query itself knows the plan: where it keeps nothing from one batch to
the next, and reads files, that plan reads this batch's files, and gives these rows. Any other batch is data of the session, whose origin is
not known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import BatchError
from airflow_lineage_provider.plan.relation import BECAUSE, Relation
from airflow_lineage_provider.spark.capturing.relations import root_paths
from airflow_lineage_provider.spark.capturing.streamed_plan import FILES, NAME, NO_FILES, TIME_OF_BATCH, StreamedNode, explained, streamed
from airflow_lineage_provider.spark.file_listing import file_index
from airflow_lineage_provider.spark.jvm_classes import static_method
from airflow_lineage_provider.spark.jvm_functions import texts
from airflow_lineage_provider.spark.jvm_trees import class_name, frame_over, sequence

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

_QUERY, _BATCH, _START = "sql.streaming.queryId", "streaming.sql.batchId", "spark.jobGroup.id"


@dataclass(frozen=True, kw_only=True)
class MicroBatch:
    """A batch that a streaming query gives.

    :ivar query: the query's id, the same after a restart.
    :ivar start: the id of this start of it.
    :ivar number: the batch's, counted from 0.
    :ivar given: its rows as Spark gives them.
    :ivar frame: the same, with the plan that made them where they can be traced to the stream's files.
    :ivar paths: the files of the stream's sources, where they can.
    :ivar because: why lineage ends at the rows, where they cannot.
    :ivar stateful: whether the query keeps rows from one batch to the next.
    """

    query: str
    start: str
    number: int
    given: DataFrame
    frame: DataFrame
    paths: frozenset[tuple[str, ...]] = frozenset()
    because: str = ""
    stateful: bool = False

    def described(self, leaf: JavaObject, relation: Relation) -> Relation:
        """The description of a leaf; one of the stream's has the stream's name."""
        if relation.paths in self.paths:
            return replace(relation, name=_name_of(relation))
        return self._rows if self.because and self._is_given(leaf) else relation

    def has(self, relation: Relation) -> bool:
        """Whether a source, as it is described, is one of the stream's."""
        return relation == self._rows if self.because else relation.paths in self.paths

    @property
    def _rows(self) -> Relation:
        return Relation(name=NAME, kind="local", options=((BECAUSE, self.because),))

    def _is_given(self, leaf: JavaObject) -> bool:
        given = self.given._jdf.queryExecution().analyzed()
        return class_name(leaf) == "LogicalRDD" and bool(leaf.rdd().id() == given.rdd().id())

    def pass_over(self) -> None:
        """Let the query go on without the batch's rows being used: where it has state, reading them is what makes that."""
        from airflow_lineage_provider.spark.writing.watching import unwatched

        if self.stateful:
            with unwatched():
                self.given.write.format("noop").mode("overwrite").save()


def micro_batch(given: DataFrame, number: int) -> MicroBatch:
    """The batch that Spark gives to a function of ``foreachBatch``, in the thread in which it does.

    :raises BatchError: no streaming query gives it.
    """
    spark = given.sparkSession
    query = spark.sparkContext.getLocalProperty(_QUERY)
    plan = None if query is None else _plan_of_query(spark, query, number)
    if query is None or plan is None:
        raise BatchError(
            "a function of foreach_batch is called by Spark, with a batch of a streaming query: "
            "stream.writeStream.foreachBatch(lineage.foreach_batch(pipeline, name=…)).start()"
        )
    root = streamed(json.loads(plan.toJSON()))
    told = explained(root)
    paths = [] if told.because else [_paths(plan.apply(node.place)) for node in root.of_stream if node.name == FILES]
    because = told.because or (NO_FILES if () in paths else "")
    start = str(spark.sparkContext.getLocalProperty(_START))
    batch = MicroBatch(query=query, start=start, number=number, given=given, frame=given, because=because, stateful=told.stateful)
    if because:
        return batch
    if told.asks_time:
        plan = plan.transformAllExpressions(_TimeOfBatch())
    return replace(batch, frame=frame_over(spark, _as_batch(spark, plan, root)), paths=frozenset(paths))


def _plan_of_query(spark: SparkSession, query: str, number: int) -> JavaObject | None:
    """The plan of the batch that a query is at; None where it is at no such batch. (Its own session has the query, the batch's has not.)"""
    known = spark._jsparkSession.sharedState().activeStreamingQueries()
    execution = known.get(static_method(spark, "java.util.UUID", "fromString")(query))
    last = None if execution is None else execution.lastExecution()
    return None if last is None or str(number) != spark.sparkContext.getLocalProperty(_BATCH) else last.analyzed()


def _paths(leaf: JavaObject) -> tuple[str, ...]:
    """The files of a stream's source in a batch; none where it is not one of files, or does not say which ones are the batch's."""
    index = file_index(leaf)
    return root_paths(index) if index is not None and class_name(index) == "InMemoryFileIndex" else ()


def _as_batch(spark: SparkSession, plan: JavaObject, node: StreamedNode) -> JavaObject:
    """A part of a plan over the batch's files, as over a table's."""
    if not node.is_streaming:
        return plan.apply(node.place)
    children = [_as_batch(spark, plan, child) for child in node.children]
    if node.is_left_out:
        return children[0]
    if children:
        return plan.apply(node.place).withNewChildren(sequence(spark, children))
    leaf = plan.apply(node.place)
    names = texts(leaf.productElementNames())
    fields: Iterator[Any] = (False if name == "isStreaming" else leaf.productElement(at) for at, name in enumerate(names))
    return leaf.copy(*fields)


class _TimeOfBatch:
    """A partial function of Scala's: the time of a batch as the constant that it is. (Outside of a query Spark cannot compute it.)"""

    def applyOrElse(self, expression: JavaObject, default: JavaObject) -> JavaObject:
        """What Catalyst asks, of each expression of a plan."""
        return expression.toLiteral() if class_name(expression) == TIME_OF_BATCH else default.apply(expression)

    class Java:
        """For py4j."""

        implements = ("scala.PartialFunction",)


def _name_of(relation: Relation) -> str:
    """What a person calls a source of files: the folder that the stream reads."""
    base = next((value for name, value in relation.options if name.lower() == "basepath"), None)
    path = base or relation.paths[0].rpartition("/")[0]
    return path.rstrip("/").rpartition("/")[2] or NAME
