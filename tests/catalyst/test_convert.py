"""Recorded plans become the operator trees that they must become, with no JVM."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from airflow_lineage_provider.catalyst.convert import convert
from airflow_lineage_provider.catalyst.names import leaf_names
from airflow_lineage_provider.catalyst.tree import decode
from airflow_lineage_provider.errors import PlanError, UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.check import check, check_unique
from airflow_lineage_provider.plan.expression_walk import expressions_in
from airflow_lineage_provider.plan.expressions import Alias, Call, Literal, expression_of
from airflow_lineage_provider.plan.text import expression_text, plan_text
from airflow_lineage_provider.plan.walk import all_operators, operators, own_expressions
from airflow_lineage_provider.rewrite.pipeline import PASSES
from tests.catalyst.goldens import OPERATORS, Golden, load, names


@pytest.mark.parametrize("name", [*names(), *names(OPERATORS)])
def test_the_operator_tree_is_the_recorded_one(name: str) -> None:
    golden = load(name)
    converted = golden.convert()
    assert plan_text(converted.plan).split("\n") == golden.plan
    check(converted.plan)
    sources = {node.leaf: node for node in all_operators(converted.plan) if isinstance(node, o.Source)}
    assert sorted(sources) == list(range(len(converted.leaves)))
    assert [sources[i].relation for i in range(len(sources))] == [golden.relations[leaf] for leaf in converted.leaves]


@pytest.mark.parametrize("name", names())
def test_the_rewrites_take_it(name: str) -> None:
    plan = load(name).convert().plan
    for one in PASSES:
        plan = one(plan)
        check(plan)
    check_unique(plan)


def test_a_common_table_expression_is_read_once_for_each_use() -> None:
    assert load("cte_twice").convert().leaves == (0, 0)
    assert load("nested_cte").convert().leaves == (0, 0, 0, 0)


def test_limit_and_offset() -> None:
    plan = load("limits").convert().plan
    assert isinstance(plan, o.Limit)
    assert (plan.count, plan.offset) == (None, 1)
    assert isinstance(plan.child, o.Limit)
    assert (plan.child.count, plan.child.offset) == (3, 0)


def test_constants_are_texts_that_cast_back() -> None:
    plan = load("literals").convert().plan
    assert isinstance(plan, o.Project)
    found = {c.attribute.name: c.child for c in plan.columns if isinstance(c, Alias)}
    assert found["t"] == Literal(value="2020-01-01 01:02:03.500000Z", type="timestamp")
    assert found["n"] == Literal(value="2020-01-01 01:02:03.000000", type="timestamp_ntz")
    assert found["b"] == Literal(value="00ff", type="binary")
    assert found["dec"] == Literal(value="1.50", type="decimal(3,2)")
    assert found["nothing"] == Literal(value=None, type="void")
    assert found["ym"] == Literal(value="INTERVAL '-1-2' YEAR TO MONTH", type="interval year to month")
    assert found["ds"] == Literal(value="INTERVAL '-1 02:03:04.500000' DAY TO SECOND", type="interval day to second")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ansi": False}, r"ansi\.enabled=true while the pipeline runs with false"),
        ({"time_zone": "Asia/Tokyo"}, "made in time zone UTC while the pipeline runs in Asia/Tokyo"),
    ],
)
def test_expressions_of_other_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedOperator, match=message):
        load("dates").convert(**settings)


def changed(golden: Golden, class_name: str, **fields: Any) -> Golden:
    """The recorded plan with other fields in every node of a class; `...` removes a field."""
    document = copy.deepcopy(golden.document)
    waiting: list[Any] = [document]
    hits = 0
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if str(item.get("class", "")).endswith("." + class_name):
                hits += 1
                item.update({key: value for key, value in fields.items() if value is not ...})
                for key in [key for key, value in fields.items() if value is ...]:
                    item.pop(key)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    assert hits
    return replace(golden, document=document)


@pytest.mark.parametrize(
    ("name", "class_name", "fields", "message"),
    [
        ("dates", "TimestampAddInterval", {"timeZoneId": "CET"}, "time zone CET"),
        ("case_insensitive", "Add", {"evalContext": None}, "without its evaluation mode"),
        ("case_insensitive", "Add", {"novelty": "x"}, r"\+\(…\) with novelty = x"),
        ("case_insensitive", "Add", {"resultType": ...}, "without its type"),
        ("grouped", "Sum", {"evalContext": "NumericEvalContext(LEGACY,true)"}, "ansi"),
        ("json", "JsonToStructs", {"variantAllowDuplicateKeys": True}, "variantAllowDuplicateKeys"),
        ("limits", "GlobalLimit", {"limitExpr": [{"class": "x.ScalarSubquery", "num-children": 0}]}, "expression for its number"),
        ("self_join", "Join", {"joinType": {"object": "x.NearestJoin"}}, "join of type NearestJoin"),
        ("grouped", "AggregateExpression", {"mode": {"object": "x.Partial$"}}, "split into steps"),
        ("union_with_itself", "Union", {"byName": True}, "by name"),
        ("values", "LocalRelation", {"isStreaming": True}, "streaming source"),
        ("ranks", "SpecifiedWindowFrame", {"class": "x.UnspecifiedFrame$"}, "a window without its frame"),
        ("explode_map", "Explode", {"class": "x.HiveGenericUDTF"}, "a Hive table function"),
        ("tablesample", "Sample", {"withReplacement": True}, "a sample with replacement"),
        ("tablesample", "Sample", {"sampleMethod": {"object": "x.SampleMethod$System$"}}, "a sample of blocks of a file"),
        ("pivot", "PivotFirst", {"pivotColumnValues": None}, "a pivot by a column of type int"),
        ("scalar_nested", "ScalarSubquery", {"outerAttrs": [{"class": "x.Literal"}]}, "a correlated scalar subquery here"),
        ("scalar_nested", "ScalarSubquery", {"class": "x.Exists"}, "EXISTS with a subquery here"),
        ("drop_duplicates", "Deduplicate", {"dedupSpec": {"isWithinWatermark": True}}, "dropDuplicates of a stream"),
        ("drop_duplicates", "Deduplicate", {"class": "x.Tail"}, "tail"),
        ("one_row", "OneRowRelation", {"class": "x.MysteryRelation"}, "operator MysteryRelation|reading from MysteryRelation"),
        ("one_row", "Upper", {"class": "x.Mystery"}, "no name in SQL .Catalyst calls it Mystery."),
    ],
)
def test_what_cannot_be_said_is_refused(name: str, class_name: str, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedOperator, match=message):
        changed(load(name), class_name, **fields).convert()


def test_a_try_function_never_becomes_its_plain_form() -> None:
    golden = changed(load("case_insensitive"), "Add", evalContext="NumericEvalContext(TRY,true)")
    found = {
        part.function
        for node in operators(golden.convert().plan)
        for own in own_expressions(node)
        for part in expressions_in(own)
        if isinstance(part, Call)
    }
    assert "try_add" in found
    assert "+" not in found


def test_a_replaced_function_may_be_kept_as_written() -> None:
    golden = changed(load("in_between"), "CommonExpressionRef", id=None)
    assert "between(income, 1000, 5000)" in plan_text(golden.convert().plan)


def test_a_replaced_function_over_other_columns_is_not() -> None:
    golden = changed(load("in_between"), "CommonExpressionRef", id=None)
    between = next(node for tree in _trees(golden.document) for node in tree if node["class"].endswith(".Between"))
    between["input"][0]["exprId"]["id"] = 12345
    with pytest.raises(UnsupportedOperator, match="common expression without its id"):
        golden.convert()


def _trees(document: Any) -> list[Any]:
    return [value for node in document for value in node.values() if isinstance(value, list) and value and "class" in value[0]]


def test_decimal_precision_loss_must_be_the_default() -> None:
    golden = changed(load("case_insensitive"), "Add", evalContext="NumericEvalContext(ANSI,false)")
    with pytest.raises(UnsupportedOperator, match="allowPrecisionLoss=false"):
        golden.convert()


def test_a_document_that_is_cut_off() -> None:
    golden = load("self_join")
    with pytest.raises(PlanError, match="cut off"):
        convert(golden.document[:2], function_names={}, relations=golden.relations)
    with pytest.raises(PlanError, match="more than one tree"):
        convert([*golden.document, golden.document[-1]], function_names={}, relations=golden.relations)
    with pytest.raises(PlanError, match="relations for a plan with"):
        convert(golden.document, function_names={}, relations=())


def test_a_plan_that_is_too_deep() -> None:
    golden = load("one_row")
    deep = [{"class": "x.SubqueryAlias", "num-children": 1, "identifier": {"name": "a"}} for _ in range(5000)]
    with pytest.raises(UnsupportedOperator, match="nested too deeply"):
        replace(golden, document=[*deep, *golden.document]).convert()


def test_leaf_names() -> None:
    assert leaf_names(decode(load("outer_joins").document)) == {0: "client", 1: "debt", 2: "loan"}
    assert leaf_names(decode(load("self_join").document)) == {0: "client", 1: "client"}


def with_constant(constant: dict[str, Any]) -> Golden:
    """A plan that selects the constant."""
    golden = load("one_row")
    document = copy.deepcopy(golden.document)
    document[0]["projectList"][0][1].update(constant)
    return replace(golden, document=document)


def part(value: str | None, kind: Any, **more: Any) -> dict[str, Any]:
    return {"class": "x.Literal", "num-children": 0, "value": value, "dataType": kind, **more}


@pytest.mark.parametrize(
    ("constant", "text"),
    [
        (part("…", {"type": "array", "elementType": "integer"}, parts=[part("1", "integer"), part(None, "integer")]), "array(1, NULL)"),
        (part("…", {"type": "array", "elementType": "integer"}, parts=[]), "cast(array() AS array<int>)"),
        (
            part(
                "…", {"type": "map", "keyType": "string", "valueType": {"type": "array", "elementType": "date"}},
                parts=[part("k", "string"), part("…", {"type": "array", "elementType": "date"}, parts=[part("2024-01-31", "date")])],
            ),
            "map('k', array('2024-01-31'))",
        ),
        (
            part("…", {"type": "struct", "fields": [{"name": "a b", "type": "double", "metadata": {}}]}, parts=[part("NaN", "double")]),
            "named_struct('a b', NaN)",
        ),
    ],
)  # fmt: skip
def test_nested_constants_are_made_of_their_parts(constant: dict[str, Any], text: str) -> None:
    plan = with_constant(constant).convert().plan
    assert isinstance(plan, o.Project)
    assert expression_text(expression_of(plan.columns[0])) == text


def test_a_constant_with_a_part_that_has_no_text_is_refused() -> None:
    kind = {"type": "array", "elementType": "variant"}
    constant = part("…", kind, parts=[part(None, "variant", unknown=True)])
    with pytest.raises(UnsupportedOperator, match="a constant of type variant"):
        with_constant(constant).convert()


def test_samples_of_spark_before_4_2_do_not_say_their_method() -> None:
    golden = load("tablesample")
    older = changed(golden, "Sample", sampleMethod=...)
    assert plan_text(older.convert().plan).split("\n") == golden.plan


def test_an_exists_of_spark_before_4_2_has_a_condition_that_is_true() -> None:
    """A join that the query wrote keeps its own, whatever it is."""
    true = [{"class": "org.apache.spark.sql.catalyst.expressions.Literal", "num-children": 0, "value": "true", "dataType": "boolean"}]
    plan = changed(load("exists_grouped"), "Join", condition=true).convert().plan
    assert [node.condition for node in operators(plan) if isinstance(node, o.Join)] == [None]
    plan = changed(load("lateral_left"), "Join", condition=true).convert().plan
    assert [node.condition for node in operators(plan) if isinstance(node, o.Join)] == [Literal(value="true", type="boolean")]
