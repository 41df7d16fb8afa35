"""What has one value in a whole query of Spark's, however often it stands there.

The current time, and a common table expression that is not deterministic: Spark computes either once for the query. A recorded pipeline
is run as several queries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.spark.subqueries import applied

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession


def with_current_time(spark: SparkSession, plan: JavaObject) -> JavaObject:
    """The plan with constants for ``current_timestamp()``, ``now()``, ``current_date()`` …, by Catalyst's own rule."""
    jvm: Any = spark._jvm
    if not plan.containsPattern(jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()):
        return plan
    return applied(spark, ("optimizer.ComputeCurrentTime",), plan)


def has_ctes(spark: SparkSession, plan: JavaObject) -> bool:
    """Whether the plan has common table expressions."""
    jvm: Any = spark._jvm
    return bool(plan.containsPattern(jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CTE()))


def refuse_shared_random_ctes(document: list[Any]) -> None:
    """:raises UnsupportedOperator: a common table expression calls a UDF that is not deterministic, and is read more than once."""
    read = Counter(int(node["cteId"]) for node in _dicts(document) if str(node.get("class", "")).endswith(".CTERelationRef"))
    for number, udf in _random_definitions(document):
        if read[number] > 1:
            raise UnsupportedOperator(
                f"a common table expression that calls the non-deterministic UDF {udf} and is read {read[number]} times is not supported: "
                "Spark computes it once, lineage once for each time. Write it to a table, and let the pipeline start from there."
            )


def _random_definitions(document: list[Any]) -> Iterator[tuple[int, str]]:
    for value in document:
        if isinstance(value, list):
            yield from _random_definitions(value)
        elif isinstance(value, dict):
            yield from _random_definitions(list(value.values()))
    for at, node in enumerate(document):
        if isinstance(node, dict) and str(node.get("class", "")).endswith(".CTERelationDef"):
            for one in _dicts(_subtree(document, at)):
                if one.get("udfDeterministic") is False:
                    yield int(node["id"]), str(one["name"])


def _subtree(nodes: list[Any], at: int) -> list[Any]:
    """A node and all below it, of nodes in the order of a walk."""
    end, open_children = at, 1
    while open_children:
        open_children += int(nodes[end]["num-children"]) - 1
        end += 1
    return nodes[at:end]


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _dicts(item)
