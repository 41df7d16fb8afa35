"""Spark sessions: which kind one is, and the settings that give a query its meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from pyspark.errors import PySparkException

from airflow_lineage_provider.errors import SparkConnectUnsupported
from airflow_lineage_provider.spark.environment import check_java, check_pyspark, java_problem
from airflow_lineage_provider.spark.scala_maps import all_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

# Always told, since their defaults may change with a release or come from the machine (the time zone).
_ALWAYS = (
    "spark.sql.ansi.enabled", "spark.sql.session.timeZone", "spark.sql.caseSensitive", "spark.sql.timestampType",
    "spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.parquet.int96RebaseModeInRead",
)  # fmt: skip
# Told when someone set them.
_MEANING = (
    "spark.sql.legacy.", "spark.sql.ansi.", "spark.sql.decimalOperations.", "spark.sql.mapKeyDedupPolicy", "spark.sql.groupBy",
    "spark.sql.orderBy", "spark.sql.crossJoin.", "spark.sql.storeAssignmentPolicy", "spark.sql.files.ignore", "spark.sql.jsonGenerator.",
    "spark.sql.parquet.", "spark.sql.orc.", "spark.sql.json.", "spark.sql.csv.", "spark.sql.sources.partition", "spark.sql.timeTravel",
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning", "spark.sql.execution.pythonUDF.", "spark.sql.execution.pandas.",
    "spark.sql.catalog.", "spark.sql.session.", "spark.sql.sources.useV1SourceList",
)  # fmt: skip
# What Spark itself calls the value of a setting that nobody set.
_UNSET = "<undefined>"
# How SQL text is read. The user's text has been read by now, and generated text is written for the defaults.
_PARSER = {
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.variable.substitute": "false",
}


def require_classic(spark: SparkSession) -> None:
    """:raises SparkConnectUnsupported: the session is a Spark Connect client, which has no plan to read."""
    from pyspark.sql.session import SparkSession as Classic

    if not isinstance(spark, Classic):
        raise SparkConnectUnsupported(
            f"{type(spark).__module__}.{type(spark).__name__} is a Spark Connect session: its plans stay on the server, where lineage "
            "cannot read them. Use a classic session: SparkSession.builder.master(…), or spark-submit, without .remote(…) and SPARK_REMOTE"
        )


def sql_conf(spark: SparkSession) -> dict[str, str]:
    """The settings under which the session's queries mean what they mean, and SQL text is read by its default rules.

    Those alone that Spark itself knows (which are those that can be modified): a catalog's own, say, may be its password.
    """
    explicit = {name: text for name, text in all_settings(spark).items() if name.startswith(_MEANING) and spark.conf.isModifiable(name)}
    always = {name: str(spark.conf.get(name)) for name in _ALWAYS}
    return {**explicit, **always, **_PARSER}


@contextmanager
def apply_conf(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """The session with other settings, for a while. What cannot be changed in a running session is left as it is."""
    # A setting that has the value already is left alone: Spark warns of those that it calls deprecated whenever one is set.
    changed = {name: value for name, value in conf.items() if _in_force(spark, name) != value and spark.conf.isModifiable(name)}
    before = {name: spark.conf.get(name, _UNSET) for name in changed}
    try:
        for name, value in changed.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name in changed:
            old = before[name]
            if old is None or old == _UNSET:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def _in_force(spark: SparkSession, name: str) -> str | None:
    """A setting's value, whether somebody set it or it is the default; None for one that Spark does not know."""
    try:
        return spark.conf.get(name)
    except PySparkException:
        return None


KEPT_ROWS = {"spark.sql.inMemoryColumnarStorage.partitionPruning": "false"}
"""How kept rows are read: Spark's statistics of them know no NaN, and a filter on it would find none."""


def carefully(spark: SparkSession, action: Callable[[], T]) -> T:
    """Do something that makes Spark optimize a plan; where its optimizer stumbles over a union, again without the rules that do.

    Spark 4.3 loses attributes of unions (``key not found``) when it infers constraints or pushes projections through them.
    """
    from py4j.protocol import Py4JJavaError

    try:
        return action()
    except Py4JJavaError as problem:
        if "key not found" not in str(problem):
            raise
    with apply_conf(spark, _WITHOUT_UNION_RULES):
        return action()


_WITHOUT_UNION_RULES = {
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.PushProjectionThroughUnion",
}

__all__ = ["KEPT_ROWS", "apply_conf", "carefully", "check_java", "check_pyspark", "java_problem", "require_classic", "sql_conf"]
