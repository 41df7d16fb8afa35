"""What has one value in a whole query of Spark's, however often it stands there.

The current time, and a common table expression that is not deterministic: Spark computes either once for the query. A recorded pipeline
is run as several queries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.catalyst.tree import TreeNode, all_nodes, nodes
from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.rewrite.determinism import FROM_NOW
from airflow_lineage_provider.spark.capturing.subqueries import applied
from airflow_lineage_provider.spark.jvm_trees import has

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession


_DAY_FROM_NOW = re.compile(f'"value":"{FROM_NOW}', re.IGNORECASE)


def with_current_time(spark: SparkSession, plan: JavaObject) -> JavaObject:
    """The plan with constants for ``current_timestamp()``, ``now()``, ``current_date()`` …, by Catalyst's own rule."""
    if not has(spark, plan, "CURRENT_LIKE"):
        return plan
    return applied(spark, ("optimizer.ComputeCurrentTime",), plan)


def with_days_from_now(spark: SparkSession, plan: JavaObject) -> tuple[JavaObject, str]:
    """The plan with constants for ``CAST('today' AS DATE)``, ``'now'`` …, by Catalyst's own rule; and its JSON."""
    text = str(plan.toJSON())
    if _DAY_FROM_NOW.search(text) is None:
        return plan, text
    plan = applied(spark, ("optimizer.SpecialDatetimeValues",), plan)
    return plan, str(plan.toJSON())


def has_ctes(spark: SparkSession, plan: JavaObject) -> bool:
    """Whether the plan has common table expressions."""
    return has(spark, plan, "CTE")


def refuse_shared_random_ctes(root: TreeNode) -> None:
    """:raises UnsupportedOperator: a common table expression calls a UDF that is not deterministic, and is read more than once."""
    every = list(all_nodes(root))
    read = Counter(int(node.fields["cteId"]) for node in every if node.name == "CTERelationRef")
    for definition in (node for node in every if node.name == "CTERelationDef"):
        times = read[int(definition.fields["id"])]
        udfs = (str(one["name"]) for node in nodes(definition) for one in _dicts(node.fields) if one.get("udfDeterministic") is False)
        udf = next(udfs, None) if times > 1 else None
        if udf is not None:
            raise UnsupportedOperator(
                f"a common table expression that calls the non-deterministic UDF {udf} and is read {times} times is not supported: "
                "Spark computes it once, lineage once for each time. Write it to a table, and let the pipeline start from there."
            )


def _dicts(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _dicts(item)
