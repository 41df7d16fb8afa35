"""Spark sessions: which kind one is, and the settings that give a query its meaning."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.errors import PySparkException

from airflow_lineage_provider.errors import SparkConnectUnsupported
from airflow_lineage_provider.spark.scala_maps import all_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

SETTINGS = threading.RLock()
"""Held by who changes the session's settings for a while, and by who reads a plan that was analyzed under them."""

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
_TIME_ZONE = "spark.sql.session.timeZone"
_MODIFIABLE: set[str] = set()
PARSER = {
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.variable.substitute": "false",
}
"""How SQL text is read. The user's text has been read by now, and generated text is written for the defaults."""


def require_classic(spark: SparkSession) -> None:
    """:raises SparkConnectUnsupported: the session is a Spark Connect client, which has no plan to read."""
    from pyspark.sql.session import SparkSession as Classic

    if not isinstance(spark, Classic):
        raise SparkConnectUnsupported(
            f"{type(spark).__module__}.{type(spark).__name__} is a Spark Connect session: its plans stay on the server, where lineage "
            "cannot read them. Use a classic session: SparkSession.builder.master(…), or spark-submit, without .remote(…) and SPARK_REMOTE"
        )


def is_local(spark: SparkSession) -> bool:
    """Whether the driver is the only executor."""
    master = str(spark.sparkContext.master)
    return master.startswith("local") and not master.startswith("local-cluster")


def sql_conf(spark: SparkSession) -> dict[str, str]:
    """The settings under which the session's queries mean what they mean, and SQL text is read by its default rules.

    Those alone that Spark itself knows (which are those that can be modified): a catalog's own, say, may be its password.
    """
    settings = _Settings(spark)
    explicit = {name: text for name, text in settings.explicit.items() if name.startswith(_MEANING) and _is_modifiable(spark, name)}
    always = {name: str(settings.in_force(name)) for name in _ALWAYS}
    return {**explicit, **always, **PARSER}


@contextmanager
def apply_conf(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """The session with other settings, for a while. What cannot be changed in a running session is left as it is."""
    settings = _Settings(spark)
    # A setting that has the value already is left alone: Spark warns of those that it calls deprecated whenever one is set.
    changed = {name: value for name, value in conf.items() if settings.in_force(name) != value and _is_modifiable(spark, name)}
    before = {name: settings.explicit.get(name) for name in changed}
    try:
        for name, value in changed.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


class _Settings:
    """A session's settings as they are now, read in a few calls.

    ``explicit`` are those that somebody set. What the others are follows from these, and is asked once for as long as these are the same;
    the time zone alone, which the machine may change, always.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.explicit = all_settings(spark)
        self._defaults = _defaults(spark._jvm, frozenset(self.explicit.items()))

    def in_force(self, name: str) -> str | None:
        """A setting's value, whether somebody set it or it is the default; None for one that Spark does not know."""
        if name in self.explicit and not self._is_substituted(name):
            return self.explicit[name]
        if name == _TIME_ZONE:
            return _asked(self._spark, name)
        if name not in self._defaults:
            self._defaults[name] = _asked(self._spark, name)
        return self._defaults[name]

    def _is_substituted(self, name: str) -> bool:
        """Whether the value is said by means of another setting or variable (``${…}``): Spark alone knows what it is."""
        return "$" in self.explicit[name]


@lru_cache(maxsize=32)
def _defaults(jvm: Any, explicit: frozenset[tuple[str, str]]) -> dict[str, str | None]:
    """What is known of the settings that nobody set, where these are those that somebody did."""
    return {}


def _asked(spark: SparkSession, name: str) -> str | None:
    try:
        return spark.conf.get(name)
    except PySparkException:
        return None


def _is_modifiable(spark: SparkSession, name: str) -> bool:
    """Whether it can be set: what a release of Spark once knows of a setting stays so."""
    if name not in _MODIFIABLE and spark.conf.isModifiable(name):
        _MODIFIABLE.add(name)
    return name in _MODIFIABLE


KEPT_ROWS = {
    "spark.sql.inMemoryColumnarStorage.partitionPruning": "false",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
}
"""How rows are kept and read: Spark's statistics of them know no NaN, and a filter on it finds none; and compressing rows that are read
once or twice costs more than it saves."""


def planned_as_it_is(frame: DataFrame) -> None:
    """Have a frame that reads kept rows planned without adaptive execution, which would have them made by a job of its own first, and only
    then the plan run. (How these rows are made is planned when they are kept.)"""
    with SETTINGS, apply_conf(frame.sparkSession, _NOT_ADAPTIVE):
        frame._jdf.queryExecution().executedPlan()


_NOT_ADAPTIVE = {"spark.sql.adaptive.enabled": "false"}


def carefully(spark: SparkSession, action: Callable[[], T]) -> T:
    """Do something that makes Spark optimize a plan; where its optimizer stumbles over a union, again without the rules that do.

    Spark 4.3 loses attributes of unions (``key not found``, ``Could not find``) when it infers constraints, or pushes projections through
    them, which it also does where it combines them.
    """
    from py4j.protocol import Py4JJavaError

    try:
        return action()
    except Py4JJavaError as problem:
        if not any(text in str(problem) for text in _LOST_ATTRIBUTE):
            raise
    with apply_conf(spark, _WITHOUT_UNION_RULES):
        return action()


_LOST_ATTRIBUTE = ("key not found", "[INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND]")
_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"
_WITHOUT_UNION_RULES = {
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.excludedRules": f"{_OPTIMIZER}.PushProjectionThroughUnion,{_OPTIMIZER}.CombineUnions",
}

__all__ = [
    "KEPT_ROWS",
    "PARSER",
    "SETTINGS",
    "apply_conf",
    "carefully",
    "is_local",
    "planned_as_it_is",
    "require_classic",
    "sql_conf",
]
