"""A DataFrame's analyzed plan as a pipeline, with a DataFrame over each of its leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.catalyst.context import Settings
from airflow_lineage_provider.catalyst.convert import convert
from airflow_lineage_provider.catalyst.names import columns_of, leaf_names, names_by_columns
from airflow_lineage_provider.catalyst.operators import SEQUENCE
from airflow_lineage_provider.catalyst.tree import all_nodes, decode, subplans
from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan.expression_walk import expressions_in
from airflow_lineage_provider.plan.expressions import Call
from airflow_lineage_provider.plan.operators import Plan, Source
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.renumbered import Renumbering
from airflow_lineage_provider.plan.walk import all_operators, own_expressions
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.spark.capturing.captured_udf import CapturedUdf
from airflow_lineage_provider.spark.capturing.document import Completion
from airflow_lineage_provider.spark.capturing.function_names import function_names
from airflow_lineage_provider.spark.capturing.kept_rows import as_read, is_doubtful, past_kept_rows
from airflow_lineage_provider.spark.capturing.lineage_sources import LineageSource, read_as, whole_tables
from airflow_lineage_provider.spark.capturing.malformed_lines import refuse_other_lines
from airflow_lineage_provider.spark.capturing.once_per_query import (
    has_ctes,
    refuse_shared_random_ctes,
    with_current_time,
    with_days_from_now,
)
from airflow_lineage_provider.spark.capturing.recursion import without_recursion
from airflow_lineage_provider.spark.capturing.relations import relation_of
from airflow_lineage_provider.spark.capturing.subqueries import has_subqueries, inlined, without_sql_functions, without_subqueries
from airflow_lineage_provider.spark.jvm_trees import frame_over
from airflow_lineage_provider.spark.session import require_classic, sql_conf
from airflow_lineage_provider.tracing.prune import prune
from airflow_lineage_provider.tracing.unread_aggregates import without_unread_aggregates

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.spark.capturing.micro_batch import MicroBatch


@dataclass(frozen=True, kw_only=True)
class CapturedPipeline:
    """A pipeline as it stands in a session.

    ``leaves`` are DataFrames over the very leaves of the user's plan, by ``Source.leaf``: what the user's DataFrame would
    read, with columns in the order of ``Source.columns``. ``sources`` are the plan's sources in the same order.
    ``udfs`` are the Python UDF calls by their result id (``UdfCall.call``). ``doubtful`` are the sources of which the session keeps rows
    that may be others than these. ``variables`` are the plan's references to session variables, ``operators`` what only Spark
    can run of it; ``rows_of`` has the rows of lineage that alone are read of a source.
    """

    pipeline: Pipeline
    leaves: tuple[DataFrame, ...]
    sources: tuple[Source, ...]
    udfs: Mapping[int, CapturedUdf]
    doubtful: frozenset[int] = frozenset()
    variables: tuple[JavaObject, ...] = ()
    operators: Mapping[int, JavaObject] = field(default_factory=dict)
    rows_of: Mapping[int, LineageSource] = field(default_factory=dict)


def capture(df: DataFrame, batch: MicroBatch | None = None, sources: Sequence[LineageSource] = ()) -> CapturedPipeline:
    """The operator tree of a DataFrame, as analyzed under the session's current settings.

    Of a ``batch`` of a stream it has numbers of its own: those of the session would be others for each batch. Rows of lineage that it may
    read (``sources``) are in it as their tables.

    :raises SparkConnectUnsupported: the DataFrame is of a Spark Connect session.
    :raises UnsupportedOperator: something in the plan has no defined lineage; the message names it, its place and a way out.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    require_classic(df.sparkSession)
    try:
        return _captured(df, batch, sources)
    except (Py4JJavaError, PySparkException) as problem:
        # Spark has analyzed the plan; what it refuses now is a form that it would refuse when the plan is run, or that it cannot rewrite.
        raise UnsupportedOperator(f"Spark cannot rewrite this plan: {first_line(problem)}") from problem
    except RecursionError as problem:
        raise UnsupportedOperator("the plan is nested too deeply to be read: write an intermediate result to a table") from problem


def _leaf(spark: SparkSession, leaf: JavaObject, source: Source) -> DataFrame:
    """A frame over a leaf; columns of the session's own data that have no name have the source's."""
    frame = frame_over(spark, past_kept_rows(spark, leaf))
    return frame.toDF(*source.columns) if source.relation.kind == "local" and "" in frame.columns else frame


def _captured(df: DataFrame, batch: MicroBatch | None, given: Sequence[LineageSource]) -> CapturedPipeline:
    spark = df.sparkSession
    shall = as_read(spark, without_recursion(spark, df._jdf.queryExecution().analyzed()))
    document, completion, names = read(spark, shall.plan, given)
    conf = sql_conf(spark)
    rows_of = [read_as(spark, leaf, given) for leaf in completion.leaves]
    converted = convert(
        document,
        function_names=function_names(spark),
        relations=[
            _described(spark, leaf, names[number], batch) if of is None else of.source.source.relation
            for number, (leaf, of) in enumerate(zip(completion.leaves, rows_of, strict=True))
        ],
        settings=settings_of(conf),
    )
    sources = {node.leaf: node for node in all_operators(converted.plan) if isinstance(node, Source)}
    refuse_other_lines(df, sources.values(), conf)
    plan = without_unread_aggregates(without_unused_index(converted.plan))
    captured = CapturedPipeline(
        pipeline=Pipeline(plan=plan, names=tuple(df.columns), conf=tuple(sorted(conf.items()))),
        leaves=tuple(_leaf(spark, completion.leaves[number], sources[at]) for at, number in enumerate(converted.leaves)),
        sources=tuple(sources[number] for number in range(len(converted.leaves))),
        udfs=completion.udfs,
        doubtful=frozenset(number for number, one in sources.items() if is_doubtful(one.relation, shall.doubtful)),
        variables=tuple(completion.variables),
        operators=completion.operators,
        rows_of={at: of for at, number in enumerate(converted.leaves) if (of := rows_of[number]) is not None},
    )
    return captured if batch is None else _renumbered(captured)


def _described(spark: SparkSession, leaf: JavaObject, name: str, batch: MicroBatch | None) -> Relation:
    relation = relation_of(spark, leaf, name)
    return relation if batch is None else batch.described(leaf, relation)


def _renumbered(captured: CapturedPipeline) -> CapturedPipeline:
    own = Renumbering()
    pipeline, sources = own.node(captured.pipeline), tuple(map(own.node, captured.sources))
    udfs = {own.numbers[number]: udf for number, udf in captured.udfs.items() if number in own.numbers}
    operators = {own.numbers[number]: one for number, one in captured.operators.items() if number in own.numbers}
    return replace(captured, pipeline=pipeline, sources=sources, udfs=udfs, operators=operators)


def without_unused_index(plan: Plan) -> Plan:
    """The plan without the default index of pandas on Spark, where nothing reads it; any other plan is the same object.

    :raises UnsupportedOperator: something reads it: row numbers that nobody can give again.
    """
    if not _makes_index(plan):
        return plan
    pruned = prune(plan, plan.output)
    if _makes_index(pruned):
        raise UnsupportedOperator(
            "the default index of a pandas-on-Spark frame, which the pipeline reads (a join or sort by the index, say), is not supported: "
            "take a column for the index, pandas_api(index_col='…')"
        )
    return pruned


def _makes_index(plan: Plan) -> bool:
    parts = (part for node in all_operators(plan) for own in own_expressions(node) for part in expressions_in(own))
    return any(isinstance(part, Call) and part.function == SEQUENCE for part in parts)


def read(
    spark: SparkSession, analyzed: JavaObject, given: Sequence[LineageSource] = ()
) -> tuple[list[dict[str, Any]], Completion, Mapping[int, str]]:
    """The document of a plan, its subqueries as joins; the JVM objects met on the way; the names of the leaves by their numbers.

    A plan without subqueries is read as it is, but for the current time, which is one in the whole plan, as in a query of Spark's.

    :raises UnsupportedOperator: a common table expression that is not deterministic is read twice: Spark would compute it once.
    """
    analyzed = with_current_time(spark, without_sql_functions(spark, analyzed))
    if has_ctes(spark, analyzed):
        refuse_shared_random_ctes(decode(json.loads(analyzed.toJSON())))
    if not has_subqueries(spark, analyzed):
        document, completion = analyzed_document(spark, whole_tables(spark, analyzed, given))
        return document, completion, leaf_names(decode(document))
    whole = inlined(spark, analyzed)
    written = json.loads(whole.toJSON())
    names = names_by_columns(decode(written))
    joined, domains = without_subqueries(spark, whole)
    document, completion = analyzed_document(spark, whole_tables(spark, joined, given))
    _mark_domains(document, domains)
    _mark_limits(document, frozenset(_window_columns(written)))
    leaves = [node for node in all_nodes(decode(document)) if "leaf" in node.fields]
    return document, completion, {int(leaf.fields["leaf"]): names.get(columns_of(leaf), "") for leaf in leaves}


def _mark_domains(document: list[dict[str, Any]], domains: frozenset[int]) -> None:
    """Say of an aggregation that it is a domain: it gives a domain's columns, and nothing else does."""
    for node in _with_subplans(document):
        columns = node.get("aggregateExpressions") or []
        if columns and all(column[0].get("exprId", {}).get("id") in domains for column in columns):
            node["domain"] = True


def _mark_limits(document: list[dict[str, Any]], written: frozenset[int]) -> None:
    """Say of a window that it is a limit: Spark numbers the rows of a correlated subquery's LIMIT, and selects by the number."""
    for node in _with_subplans(document):
        made = [tree[0] for tree in node.get("windowExpressions") or [] if tree[0]["class"].endswith(".Alias")]
        numbered = [alias for alias in made if int(alias["exprId"]["id"]) not in written]
        if numbered and all(alias["name"] == "rn" for alias in numbered):
            node["limits"] = True


def _window_columns(document: list[dict[str, Any]]) -> Iterator[int]:
    for node in _with_subplans(document):
        yield from (int(tree[0]["exprId"]["id"]) for tree in node.get("windowExpressions") or [] if "exprId" in tree[0])


def _with_subplans(document: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The operators of a document, those of subqueries (at any depth) among them."""
    for node in document:
        yield node
        for plan in subplans(list(node.values())):
            yield from _with_subplans(plan)


def analyzed_document(spark: SparkSession, analyzed: JavaObject) -> tuple[list[dict[str, Any]], Completion]:
    """The document of an analyzed plan that `catalyst.convert` reads, and the JVM objects met on the way."""
    analyzed, text = with_days_from_now(spark, analyzed)
    document = json.loads(text)
    completion = Completion(spark)
    completion.plan(document, analyzed)
    return document, completion


def settings_of(conf: Mapping[str, str]) -> Settings:
    """The settings that expressions are checked against."""
    timestamps = conf.get("spark.sql.timestampType", "TIMESTAMP_LTZ")
    return Settings(
        ansi=conf["spark.sql.ansi.enabled"].lower() == "true",
        time_zone=conf["spark.sql.session.timeZone"],
        timestamp_type="timestamp_ntz" if timestamps.upper() == "TIMESTAMP_NTZ" else "timestamp",
        decimal_precision_loss=conf.get("spark.sql.decimalOperations.allowPrecisionLoss", "true").lower() == "true",
    )
