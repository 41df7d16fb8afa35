"""Rows that the session keeps (``cache()``, ``persist()``, ``CACHE TABLE``): Spark reads them wherever a plan has a part like the one kept.

A run reads the sources themselves, with the identity of their rows. It may where the rows kept are the sources' own: files that are as they
were when they were listed for the rows kept. Where files have changed since, the pipeline's rows are the kept ones, and these are its
source: data that only the session holds. Where neither can be shown (a database, a random number), the run reads the sources, and says so.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.spark import file_listing
from airflow_lineage_provider.spark.capturing.relations import relation_of
from airflow_lineage_provider.spark.jvm_classes import java_class, scala_object
from airflow_lineage_provider.spark.jvm_trees import array_of, class_name, fields_of, items, sequence, with_fields

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_OF_THE_SESSION = ("LocalRelation", "LogicalRDD", "ExternalRDD", "OneRowRelation", "Range", "CTERelationRef")
_MARK = "lineage.read"


@dataclass(frozen=True, kw_only=True)
class AsRead:
    """A plan as the run shall read it, and the sources (without their names) whose kept rows may be others than the ones it reads."""

    plan: JavaObject
    doubtful: frozenset[Relation]


def as_read(spark: SparkSession, analyzed: JavaObject) -> AsRead:
    """A plan in which kept rows stand for the parts whose sources have changed since."""
    if _keeps_nothing(spark):
        return AsRead(plan=analyzed, doubtful=frozenset())
    doubtful: set[Relation] = set()
    return AsRead(plan=_read(spark, analyzed, doubtful), doubtful=frozenset(doubtful))


def past_kept_rows(spark: SparkSession, plan: JavaObject) -> JavaObject:
    """The same plan over sources for which Spark finds no kept rows."""
    if _keeps_nothing(spark):
        return plan
    children = items(plan.children())
    if not children:
        return _another(spark, plan) if _kept(spark, plan) is not None else plan
    return over(spark, plan, [past_kept_rows(spark, child) for child in children])


def over(spark: SparkSession, plan: JavaObject, children: list[JavaObject]) -> JavaObject:
    """The plan over other children; itself where they are its own."""
    if all(one.equals(other) for one, other in zip(children, items(plan.children()), strict=True)):
        return plan
    return plan.withNewChildren(sequence(spark, children))


def is_doubtful(relation: Relation, doubtful: frozenset[Relation]) -> bool:
    """Whether a source is among those of `AsRead`."""
    return replace(relation, name="") in doubtful


def _keeps_nothing(spark: SparkSession) -> bool:
    return bool(_manager(spark).isEmpty())


def _manager(spark: SparkSession) -> JavaObject:
    return spark._jsparkSession.sharedState().cacheManager()


def _kept(spark: SparkSession, plan: JavaObject) -> JavaObject | None:
    """The rows that are kept for a plan, as Spark would read them (an ``InMemoryRelation``)."""
    found = _manager(spark).lookupCachedData(spark._jsparkSession, plan)
    return found.get().cachedRepresentation() if found.isDefined() else None


def _read(spark: SparkSession, plan: JavaObject, doubtful: set[Relation]) -> JavaObject:
    if class_name(plan) in _OF_THE_SESSION:
        return plan  # its rows are stored with the run, and are read from what Spark keeps
    kept = _kept(spark, plan)
    if kept is None:
        return over(spark, plan, [_read(spark, child, doubtful) for child in items(plan.children())])
    judged = _unchanged(spark, plan, kept)
    if judged is False:
        return session_data(spark, kept.withOutput(plan.output()))
    if judged is None:
        doubtful |= {replace(relation_of(spark, leaf, ""), name="") for leaf in _sources(plan)}
    return plan


def _unchanged(spark: SparkSession, plan: JavaObject, kept: JavaObject) -> bool | None:
    """Whether the rows kept for a plan are those that it has without them: False where not, None where that cannot be told.

    The files of the plan kept are listed as they were when that plan was made, before any row was read.
    """
    known = kept.cacheBuilder().logicalPlan()
    verdicts = [_files_unchanged(spark, plan, known), True if known.deterministic() else None]
    if "InMemoryTableScan" in str(kept.cacheBuilder().cachedPlan().toString()):
        # Made from other rows that were kept: those may be gone since.
        verdicts += [_unchanged(spark, inner, of) for inner, of in _kept_inside(spark, plan)] or [None]
    return False if False in verdicts else None if None in verdicts else True


def _kept_inside(spark: SparkSession, plan: JavaObject) -> Iterator[tuple[JavaObject, JavaObject]]:
    for child in items(plan.children()):
        kept = _kept(spark, child)
        if kept is not None:
            yield child, kept
        else:
            yield from _kept_inside(spark, child)


def _files_unchanged(spark: SparkSession, plan: JavaObject, kept: JavaObject) -> bool | None:
    sources = [(leaf, file_listing.file_index(leaf)) for leaf in _sources(kept)]
    # Those of a partitioned catalog table are listed anew whenever they are asked for.
    files = [(leaf, index) for leaf, index in sources if index is not None and class_name(index) == "InMemoryFileIndex"]
    then = _listed(spark, [index for _, index in files])
    of_plan = [index for leaf in _sources(plan) if (index := file_listing.file_index(leaf)) is not None]
    if len(files) == len(sources) and _listed(spark, of_plan) != then:
        return False
    now: file_listing.Files = {}
    for leaf, _ in files:
        now |= file_listing.list_roots(spark, relation_of(spark, leaf, ""))
    if any(now.get(uri) != status for uri, status in then.items()):
        return False
    return True if len(files) == len(sources) else None


def _listed(spark: SparkSession, indexes: list[JavaObject]) -> file_listing.Files:
    found: file_listing.Files = {}
    for index in indexes:
        found |= file_listing.listed(spark, index)
    return found


def _sources(plan: JavaObject) -> Iterator[JavaObject]:
    """What a plan reads from outside the session, in its subqueries too."""
    children = items(plan.children())
    if not children and class_name(plan) not in _OF_THE_SESSION:
        yield plan
    for child in children:
        yield from _sources(child)
    for inner in items(plan.subqueries()):
        yield from _sources(inner)


def session_data(spark: SparkSession, plan: JavaObject) -> JavaObject:
    """The rows of a plan as data of the session, under the same attributes."""
    dataset = java_class(spark, "org.apache.spark.sql.classic.Dataset").ofRows(spark._jsparkSession, plan)
    module = scala_object(spark, "org.apache.spark.sql.execution.LogicalRDD")
    made = next(method for method in module.getClass().getMethods() if method.getName() == "fromDataset")
    # What comes after the rows and their frame says whether it is a stream, and (since Spark 4.3) whether it is a checkpoint.
    return module.fromDataset(dataset.queryExecution().toRdd(), dataset, *[False] * (made.getParameterCount() - 2))


def _another(spark: SparkSession, leaf: JavaObject) -> JavaObject:
    """The same source as a relation of its own, unlike any other to Spark."""
    if class_name(leaf) == "LogicalRelation":
        relation = leaf.relation()
        if class_name(relation) == "HadoopFsRelation":
            return with_fields(spark, leaf, relation=marked(spark, relation, _MARK, uuid.uuid4().hex))
        if class_name(relation) == "JDBCRelation":
            parts = array_of(spark, java_class(spark, "org.apache.spark.Partition"), list(relation.parts()))
            return with_fields(spark, leaf, relation=relation.copy(*fields_of(relation, parts=parts), relation.sparkSession()))
    elif class_name(leaf) == "DataSourceV2Relation":
        options = java_class(spark, "java.util.HashMap")(leaf.options().asCaseSensitiveMap())
        options.put(_MARK, uuid.uuid4().hex)
        return with_fields(spark, leaf, options=java_class(spark, "org.apache.spark.sql.util.CaseInsensitiveStringMap")(options))
    return leaf


def marked(spark: SparkSession, relation: JavaObject, name: str, value: str) -> JavaObject:
    """A relation of files with an option more, which no reader knows."""
    options = java_class(spark, "java.util.HashMap")(java_class(spark, "scala.jdk.javaapi.CollectionConverters").asJava(relation.options()))
    options.put(name, value)
    fields = fields_of(relation, options=java_class(spark, "org.apache.spark.api.python.PythonUtils").toScalaMap(options))
    return relation.copy(*fields, relation.sparkSession())
