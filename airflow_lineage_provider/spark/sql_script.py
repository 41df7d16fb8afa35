"""Several SQL statements, run one after another as the command ``spark-sql`` runs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.spark.jvm_classes import static_method
from airflow_lineage_provider.spark.jvm_trees import class_name, items
from airflow_lineage_provider.spark.releases import since
from airflow_lineage_provider.sql.asked_sql import is_comment, statements_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def script(sql: str) -> str:
    """The statements: the text, or that of the file which it names (``.sql``, ``.hql``).

    :raises PlanError: there is no such file, or the text is empty.
    """
    text = sql.strip()
    if text.endswith((".sql", ".hql")):
        try:
            text = Path(text).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise PlanError(f"the SQL file {text!r} cannot be read: {problem}") from problem
    if not text:
        raise PlanError("there is no SQL statement: the text is empty; did its template render to nothing?")
    return text


def statements(spark: SparkSession, text: str) -> list[str]:
    """The statements of a text, by Spark's own rules: semicolons in quotes, comments and ``BEGIN … END`` do not part them.

    :raises PlanError: there is none.
    """
    found = [each.strip() for each in _split(spark, text) if not is_comment(each)]
    if not found:
        raise PlanError("there is no SQL statement: the text has comments alone")
    return found


def run_script(spark: SparkSession, text: str, told: Callable[[str], None], *, with_text: bool = False) -> DataFrame | None:
    """Run the statements; the DataFrame of the last, where that is a query.

    A query before it gives rows to nobody and is not computed. ``told`` hears of each statement before it runs, with its beginning where
    ``with_text``.

    :raises pyspark.errors.PySparkException: Spark refuses a statement; those before it have run.
    """
    given = statements(spark, text)
    last: DataFrame | None = None
    for at, one in enumerate(given, 1):
        told(f"statement {at} of {len(given)}" + (f": {shown(' '.join(one.split()))}" if with_text else ""))
        frame = spark.sql(one)
        # What a command gave (the tables of SHOW TABLES, say) is no result that has a lineage.
        last = None if class_name(frame._jdf.queryExecution().commandExecuted()) == "CommandResult" else frame
        if last is not None and at < len(given):
            told(f"statement {at} is a query whose rows go nowhere: it is not computed")
    return last


def _split(spark: SparkSession, text: str) -> list[str]:
    parser = spark._jsparkSession.sessionState().sqlParser()
    if "splitStatements" in dir(parser):
        split = parser.splitStatements(text)
        return [str(each.statement()) for each in items(split.completeStatements())] + [str(split.partialStatement())]
    if not since(spark, 4, 1):  # of which the command spark-sql alone had it
        return statements_of(text)
    # As its command spark-sql did before Spark 4.3.
    apart = static_method(spark, "org.apache.spark.sql.catalyst.util.StringUtils", "splitSemiColonWithIndex")
    return [str(each) for each in items(apart(text, True))]
