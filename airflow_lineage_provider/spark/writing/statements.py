"""SQL statements that write rows: understood as writes of the query in them, and made of other rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import WriteNotRecorded
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.spark.jvm_classes import static_method
from airflow_lineage_provider.spark.jvm_trees import class_name, frame_over, items, with_fields
from airflow_lineage_provider.spark.scala_maps import scala_map
from airflow_lineage_provider.spark.writing.given import GivenWrite, analyzed, named_as_in, warn_unseen
from airflow_lineage_provider.spark.writing.writers import FILES, table_name
from airflow_lineage_provider.words import RecordedKind, RecordedMode

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

_INSTEAD = "write its rows by INSERT, CREATE TABLE … AS SELECT, or df.write"
_IMMEDIATE = "what EXECUTE IMMEDIATE runs is known only to Spark; give the statement itself"
_REFUSED: Mapping[str, str] = {
    "MergeIntoTable": f"MERGE changes rows in place; {_INSTEAD}",
    "UpdateTable": f"UPDATE changes rows in place; {_INSTEAD}",
    "DeleteFromTable": f"DELETE has no rows of its own: what remains is not a result; {_INSTEAD}",
    "LoadData": f"LOAD DATA moves files that Spark does not read; {_INSTEAD}",
    "CompoundBody": "a SQL script runs on its own; give its statements one by one",
    "OverwriteByExpression": f"what it replaces is given by a condition on the table; {_INSTEAD}",
    "UnresolvedExecuteImmediate": _IMMEDIATE,
    "ExecuteImmediateQuery": _IMMEDIATE,  # (of Spark 4.0)
}
"""Statements that write, or may, and are no writes of a query: by their classes, with what is to be done."""

_WRITING = re.compile(r"\b(INSERT|MERGE|UPDATE|DELETE|CREATE|REPLACE|LOAD|EXECUTE|BEGIN)\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Form:
    """A kind of statement: the name of the field with its query, and where and how it writes."""

    query: str
    place: Callable[[JavaObject], tuple[RecordedKind, str, str]]
    mode: Callable[[JavaObject], RecordedMode]


def statement(spark: SparkSession, text: str, parameters: bool = False) -> GivenWrite | None:
    """What a SQL text is about to write; None where it writes nothing. ``parameters``: it is to be run with some.

    :raises WriteNotRecorded: it writes, and not the rows of a query. :raises pyspark.errors.PySparkException: Spark would refuse it.
    """
    parsed = _parsed(spark, text, parameters)
    if parsed is None:
        return None
    written, ctes = (parsed.child(), parsed) if class_name(parsed) == "UnresolvedWith" else (parsed, None)
    kind = class_name(written)
    if kind == "Union" and any(class_name(one) in _FORMS for one in items(written.children())):
        raise _refused("a statement with several INSERTs", "give them one by one")
    if kind in _REFUSED:
        raise _refused(f"the statement ({text.split(None, 1)[0].upper()} …)", _REFUSED[kind])
    if kind == "Call":
        warn_unseen("what the procedure of CALL … writes", stacklevel=5)
    if kind not in _FORMS:
        return None
    if parameters:
        raise _refused("a statement with parameters that writes", "write spark.sql(query, args).write…, or put the values into the text")
    form = _FORMS[kind]
    analyzed(spark, parsed)
    query = getattr(written, form.query)()
    frame = _frame(spark, query if ctes is None else with_fields(spark, ctes, child=query))
    place, target, format = form.place(written)
    if kind == "InsertIntoStatement" and not written.byName():
        frame = named_as_in(target, frame, [str(one) for one in items(written.userSpecifiedCols())], _static(written))
    return GivenWrite(
        frame=frame, kind=place, target=target, format=format, mode=form.mode(written), command=lambda: None,
        options=scala_map(spark, written.storage().properties()) if kind == "InsertIntoDir" else {},
        make=lambda rows: _run(spark, with_fields(spark, written, **{form.query: rows._jdf.logicalPlan()})),
    )  # fmt: skip


def _parsed(spark: SparkSession, text: str, parameters: bool) -> JavaObject | None:
    """The statement; None where it can only be read with its parameters, and no word of it writes."""
    from pyspark.errors import ParseException

    try:
        return spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
    except ParseException:
        if not parameters:
            raise
        if _WRITING.search(text):
            raise _refused(
                "a statement with parameters", "whether it writes is not known without them; put the values into the text"
            ) from None
        return None


def _run(spark: SparkSession, plan: JavaObject) -> JavaObject:
    return static_method(spark, "org.apache.spark.sql.classic.Dataset", "ofRows")(spark._jsparkSession, plan)


def _frame(spark: SparkSession, query: JavaObject) -> DataFrame:
    """:raises WriteNotRecorded: the query means something only as a part of its statement (it has the word DEFAULT, say)."""
    from pyspark.errors import PySparkException

    try:
        return frame_over(spark, query)
    except PySparkException as problem:
        raise _refused("the statement's query", f"it cannot be read by itself: {first_line(problem)}") from problem


def _refused(what: str, why: str) -> WriteNotRecorded:
    return WriteNotRecorded(f"{what} cannot be recorded: {why}")


def _named(field: str) -> Callable[[JavaObject], tuple[RecordedKind, str, str]]:
    def place(written: JavaObject) -> tuple[RecordedKind, str, str]:
        named: Any = getattr(written, field)()
        parts = {"UnresolvedRelation": "multipartIdentifier", "UnresolvedIdentifier": "nameParts"}.get(class_name(named))
        if parts is None:
            raise _refused("the statement", "its table has no name that stands in the text")
        return "table", table_name(getattr(named, parts)()), "table"

    return place


def _folder(written: JavaObject) -> tuple[RecordedKind, str, str]:
    """Of INSERT OVERWRITE DIRECTORY."""
    format, place = written.provider(), written.storage().locationUri()
    format = str(format.get()).lower() if format.isDefined() else "hive"
    target = str(place.get().toString()) if place.isDefined() else ""
    return ("path", target, format) if target and format in FILES else ("source", target or format, format)


def _of_insert(written: JavaObject) -> RecordedMode:
    if "replaceCriteriaOpt" in _field_names(written) and written.replaceCriteriaOpt().isDefined():
        return "overwrite_where"
    return "overwrite" if written.overwrite() else "append"


def _static(written: JavaObject) -> list[str]:
    """The partition columns that an INSERT has values for."""
    spec = [(str(pair._1()), pair._2()) for pair in items(written.partitionSpec().toSeq())]
    return [name for name, value in spec if value.isDefined()]


def _field_names(product: JavaObject) -> list[str]:
    return [str(product.productElementName(at)) for at in range(product.productArity())]


_FORMS: Mapping[str, _Form] = {
    "InsertIntoStatement": _Form("query", _named("table"), _of_insert),
    "CreateTableAsSelect": _Form("query", _named("name"), lambda written: "ignore" if written.ignoreIfExists() else "error"),
    "ReplaceTableAsSelect": _Form("query", _named("name"), lambda _: "overwrite"),
    "InsertIntoDir": _Form("child", _folder, lambda written: "overwrite" if written.overwrite() else "append"),
}
