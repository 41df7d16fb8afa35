"""Columns that are hidden or masked are told nowhere: not in tables, reasons, SQL, operators, questions, documents or errors."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider.answers.carrying import with_carried
from airflow_lineage_provider.answers.decided import Reasons
from airflow_lineage_provider.answers.explanation import Control, Explanation, Image
from airflow_lineage_provider.answers.fates import Fates, Way
from airflow_lineage_provider.answers.linked_later import LinkedLater
from airflow_lineage_provider.answers.why_not import Descendant, Drop, Term, WhyNot
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.plan.lineage_keys import SourceIdentity
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import all_operators
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.reasons.discretion import MASK, Discretion, Redaction
from airflow_lineage_provider.reasons.features import Feature, Names
from airflow_lineage_provider.recording import RecordedPlan, RecordedSource, carried_by_plan
from airflow_lineage_provider.records.versions import NoVersion
from airflow_lineage_provider.render.html import to_html
from airflow_lineage_provider.render.sentence import answer as in_sentence
from airflow_lineage_provider.render.withheld import lineage_rows_shown, shown, table_shown, why_not_shown
from airflow_lineage_provider.rewrite.segment import segment
from airflow_lineage_provider.tracing.trace import TracingQuery
from tests.deriving.kept_examples import rows_of
from tests.render import explanation_examples as examples
from tests.render.test_terminal import shown as in_terminal

SECRET = 777123
"""A value that stands nowhere else."""


def plan() -> SegmentedPlan:
    columns = tuple(Attribute(id=at, name=name, type="int") for at, name in enumerate(("id", "black_2", "ssn")))
    condition = e.Call(function="=", arguments=(columns[1], e.Literal(value=str(SECRET), type="int")), type="boolean")
    source = o.Source(relation=Relation(name="client", kind="table"), output=columns, columns=("id", "black", "ssn"), leaf=0)
    return segment(o.Filter(child=source, condition=condition), columns[:1], ("id",))


def answer(**changes: Any) -> Explanation:
    features = (("income", 2200, 0.25), ("black", SECRET, 0.125), ("ssn", SECRET, 0.5))
    reason = payload.Attributions(tuple(payload.Attribution(*one) for one in features), 0.0, 0.875)
    decided = examples.reasons({"income": [2200], "black": [SECRET], "ssn": [SECRET]}, ["Reject"], [reason])
    said = Names({"black": Feature("ethnicity", values={SECRET: "of old"})}, {"black": 1})
    values: dict[str, Any] = {
        "asked": f"black = {SECRET}",
        "target": pa.table({"id": [1], "Black": [SECRET]}),
        "source": {"client": pa.table({"id": [1], "black": [SECRET], "ssn": [str(SECRET)], "nested": [{"ssn": SECRET}]})},
        "reasons": {"credit_exam": Reasons(decided, names=said)},
        "guarantees": {"client": Guarantee(level="superset", cause=f"decided for {{'ssn': {SECRET}}}")},
        "controls": (Control(segment=0, operator=f"▷ (black_3 = {SECRET})", sources=("client",), rows=(0,)),),
        "queries": (TracingQuery(segment=0, engine="postgresql", sql=f"SELECT 1 WHERE BLACK = '{SECRET}'", seconds=0.1, rows=1),),
        "verified": False, "verification": f"the pipeline gives (1, {SECRET})", "plan": plan(),
    }  # fmt: skip
    return examples.explanation(**(values | changes))


WAYS: list[Callable[..., str]] = [
    lambda made, **options: to_html(shown(made, **options)),
    lambda made, **options: made.to_html(**options),
    lambda made, **options: in_terminal(shown(made, **options), width=200),
    lambda made, **options: json.dumps(made.to_dict(**options)),
]


@pytest.mark.parametrize("way", WAYS)
def test_hidden_columns_are_told_nowhere(way: Callable[..., str]) -> None:
    whole, without = way(answer()), way(answer(), hide=["black"], mask=["ssn"])
    assert str(SECRET) in whole
    assert re.search("black", whole, re.IGNORECASE)
    assert str(SECRET) not in without
    assert not re.search("black", without, re.IGNORECASE)
    assert not re.search("ethnicity|of old", without)
    assert "ssn" in without
    assert MASK in without or json.dumps(MASK)[1:-1] in without


def test_masked_columns_are_named_and_have_no_values() -> None:
    text = answer().to_html(mask="black,ssn")
    assert str(SECRET) not in text
    assert "black" in text
    assert "2 columns" in text or "3 columns" in text


def test_the_settings_hide_and_arguments_only_add(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "client.black, bl?ck")
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "SS*")
    for text in (answer().to_html(), answer().to_html(hide=["income"])):
        assert str(SECRET) not in text
    assert "income" not in answer().to_html(hide=["income"])


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"hide": ["black"]}, [("income", 0.25), ("ssn", 0.5)]),
        ({"mask": ["black"]}, [("income", 0.25), ("ssn", 0.5)]),
        ({"hide": ["black"], "mask": ["ssn"]}, [("income", 0.25)]),
    ],
)
def test_what_a_withheld_feature_contributed_cannot_be_told(how: dict[str, Any], expected: list[tuple[str, float]]) -> None:
    """Neither by itself nor as what the others leave of the output."""
    (reason,) = shown(answer(), **how).reasons["credit_exam"].payloads()
    assert isinstance(reason, payload.Attributions)
    *told, line = reason.features
    assert [(one.feature, one.contribution) for one in told] == expected
    assert (line.feature, line.value) == ("withheld features", MASK)
    assert math.isnan(line.contribution)
    assert math.isnan(reason.base_value)
    assert reason.output is reason.residual is None


@pytest.mark.parametrize("way", WAYS)
def test_the_line_of_withheld_features_has_no_number(way: Callable[..., str]) -> None:
    without = way(answer(), mask=["black"])
    assert "withheld features" in without
    assert "0.125" not in without
    assert "0.875" not in without
    assert "0.12" in way(answer())


def test_a_feature_of_a_withheld_argument_is_withheld_by_whatever_name() -> None:
    reason = payload.Attributions(
        (payload.Attribution("of their origin", SECRET, 0.125), payload.Attribution("income", 1, 0.5)), 0.0, 0.625
    )
    decided = examples.reasons({"income": [1], "black": [SECRET]}, ["Reject"], [reason])
    made = answer(reasons={"credit_exam": Reasons(decided, names=Names({}, {"of their origin": 1}))})
    (told,) = shown(made, mask=["black"]).reasons["credit_exam"].payloads()
    assert isinstance(told, payload.Attributions)
    assert [one.feature for one in told.features] == ["income", "withheld features"]


def test_a_traced_attribution_loses_its_cells_with_its_features() -> None:
    """They are found by the places of the features, which are others without those that are withheld."""
    path = payload.ArrayPath(("multiply",), "sha256:" + "0" * 64, "exact")
    own = payload.Attributions((payload.Attribution("ssn", SECRET, 0.125), payload.Attribution("tone", 2, 0.5)), 0.0)
    reason = payload.Traced(own, (2,), (payload.ArraySource("photo", (2,), (path,), 0),))
    decided = examples.reasons({"photo": [b"x"], "ssn": [SECRET]}, ["Reject"], [reason])
    made = examples.explanation(reasons={"f": Reasons(decided)})
    texts = [shown(made, mask=[name]).reasons["f"].rows.columns[-1].to_pylist()[0] for name in ("another", "ssn")]
    assert ["sources" in one for one in texts] == [True, False]
    assert payload.from_json(texts[1]).features[0] == payload.Attribution("tone", 2, 0.5)  # type: ignore[union-attr]


def test_a_letter_is_not_written_without_features() -> None:
    """What counted most might be among them."""
    outcome = Feature(favourable=("Accept",))
    made = answer()
    said = Names({"income": Feature(against="low")}, {}, outcome)
    made = answer(reasons={"credit_exam": Reasons(made.reasons["credit_exam"].rows, names=said)})
    assert "withheld" in made.letters(mask=["ssn"])[0].problem
    assert "withheld" not in made.letters(mask=["another"])[0].problem


def test_names_stay_with_their_arguments() -> None:
    names = shown(answer(), hide=["income"]).reasons["credit_exam"].names
    assert names.argument(0) == Feature("ethnicity", values={SECRET: "of old"})


def test_nothing_changes_where_nothing_is_withheld() -> None:
    made = answer()
    assert shown(made) is made
    assert shown(made, hide=["no_such_column"]) is made


def test_the_second_table_of_a_name_is_meant_by_it_as_well() -> None:
    assert Discretion(hide=("flights.seat",)).hides("seat", "flights_2")
    assert not Discretion(hide=("flights.seat",)).hides("seat", "flights2")
    asked = Discretion(hook=lambda table, column: "mask" if (table, column) == ("flights", "seat") else None)
    assert asked.masks("seat", "flights_12")
    assert not asked.withholds("seat", "other_2")


def test_tables() -> None:
    table = pa.table([pa.array([1]), pa.array([2]), pa.array([{"a": [{"ssn": 3}]}])], names=["a", "a", "deep"])
    assert table_shown(table, Discretion(hide=("a",), mask=("ssn",))).to_pylist() == [{"deep": MASK}]
    assert table_shown(table, Discretion(hide=("*",))).to_pylist() == [{"hidden columns": MASK}]
    assert table_shown(table, Discretion(hide=("t.a",)), "u") is table
    assert table_shown(table, Discretion(hide=("t.a",)), "t").column_names == ["deep"]


def test_texts_and_other_reasons() -> None:
    spans = payload.TextSpans((payload.Span(0, 3, 0.5),), "bad day", label="sad")
    given = [spans, payload.Json({"ssn": SECRET, "black": 1, "why": ["black", "age"]}), '{"kind":"later","ssn":1}']
    table = examples.reasons({"letter": ["bad day", "x", "y"], "photo": ["/a.png", "/b.png", "/c.png"]}, [1, 2, 3], given)
    made = examples.explanation(reasons={"f": table}, images={"/a.png": Image(problem="?")})
    without = shown(made, hide=["letter", "black", "photo"], mask=["ssn"])
    first, second, third = without.reasons["f"].rows.columns[-1].to_pylist()
    assert payload.from_json(first) == payload.TextSpans((), None, label="sad")
    assert payload.from_json(second) == payload.Json({"ssn": MASK, "why": ["age"]})
    assert "later" not in third
    assert without.images == {}


def test_only_texts_that_name_a_column_lose_their_literals() -> None:
    redaction = Redaction(frozenset({"black"}), frozenset({"ssn"}))
    assert redaction.text("income = 2200") == "income = 2200"
    assert redaction.text("(black_2 = 1) AND x_3 > 2.5e3") == f"({MASK} = {MASK}) AND x_3 > {MASK}"
    assert redaction.text("SSN IN ('it''s', 'b')") == f"SSN IN ({MASK}, {MASK})"
    assert redaction.text("blackbird = 1") == "blackbird = 1"


class _Dropped:
    """What an operator dropped, of one row (`answers.fates.Drops`)."""

    names: tuple[tuple[str, str], ...] = (("black_2", ""), ("id", ""), ("ssn", ""), ("ssn", "others"), ("income", "others"))

    def __init__(self, drop: Drop) -> None:
        self.drop = drop

    def of(self, tag: int) -> Drop:
        return self.drop


def _dropped() -> WhyNot:
    term = Term(text=f"black = {SECRET}")
    behind = {"others": {"ssn": SECRET, "income": 7}}
    row = Descendant(values={"black_2": SECRET, "id": 1}, terms=(term,), others=({"ssn": SECRET},), other_rows=(behind,))
    drop = Drop(reason="selection", text=f"(black = {SECRET}) is false (black = {SECRET})", rows=(row,))
    operators = ((0, f"σ (black = {SECRET})"),) * 2
    way = Way(leaf=0, operators=operators, descendants=np.array([[1], [0]]), drops={1: _Dropped(drop)})
    return WhyNot(
        run=examples.run(), asked=f"ssn = {SECRET}", table="client", rows=pa.table({"id": [1], "black": [SECRET], "ssn": [SECRET]}),
        copies=(1,), fates=Fates(ways=(way,), rows=1),
    )  # fmt: skip


def test_why_not() -> None:
    found = _dropped()
    assert str(SECRET) in json.dumps(found.to_dict())
    without = json.dumps(found.to_dict(hide=["black"], mask=["ssn"]))
    assert str(SECRET) not in without
    assert "black" not in without
    assert why_not_shown(found) is found


@pytest.mark.parametrize(
    ("pattern", "left"), [("others.income", {"ssn": SECRET}), ("ssn", {"income": 7}), ("client.ssn", {"ssn": SECRET, "income": 7})]
)
def test_the_source_rows_that_took_a_row_away_lose_their_own_columns(pattern: str, left: dict[str, int]) -> None:
    (fate,) = why_not_shown(_dropped(), hide=[pattern]).fates
    assert fate.drop is not None
    (row,) = fate.drop.rows
    assert row.other_rows == ({"others": left},)
    # What the plan computed may be of either table.
    assert row.others == (({"ssn": SECRET},) if pattern == "others.income" else ({},))


PERSONS = pa.table({"person": pa.array([{"ssn": SECRET}], pa.struct([("ssn", pa.int64())]))})


@pytest.mark.parametrize("pattern", ["ssn", "loan.ssn"])
def test_fields_within_columns_are_withheld_where_no_column_is(pattern: str) -> None:
    """And their names are told in no condition with a value."""
    found = rows_of(rows=PERSONS, table="loan", asked=f"person.ssn = {SECRET}", asked_table="loan")
    assert str(SECRET) not in json.dumps(found.to_dict(mask=[pattern]), default=str)
    drop = Drop(reason="selection", text=f"(person.ssn = {SECRET}) is false", rows=(Descendant(values={"person": {"ssn": SECRET}}),))
    way = Way(leaf=0, operators=((0, f"σ (person.ssn = {SECRET})"),) * 2, descendants=np.array([[1], [0]]), drops={1: _Dropped(drop)})
    dropped = replace(_dropped(), rows=PERSONS, table="loan", asked=f"person.ssn = {SECRET}", fates=Fates(ways=(way,), rows=1))
    assert str(SECRET) not in json.dumps(dropped.to_dict(mask=[pattern]), default=str)


def test_rows_that_are_linked_later_are_shown_without_a_trace() -> None:
    found = LinkedLater.of(rows_of(), lambda: pytest.fail("traced"))
    made = with_carried(found, lambda _: {("", "judge"): frozenset({("loan", "secret")})})
    assert not made.is_linked
    assert lineage_rows_shown(made, mask=["loan.secret"]).rows.column("judge").to_pylist() == [MASK, MASK]
    assert "Reject" not in json.dumps(made.to_dict(mask=["loan.secret"]), default=str)


def _renamed() -> RecordedPlan:
    """``SELECT age FROM (SELECT ssn AS number, black AS age FROM client) WHERE number = …``"""
    (source,) = [one for one in all_operators(plan().segments[0].plan) if isinstance(one, o.Source)]
    number, age = Attribute(id=11, name="number", type="int"), Attribute(id=12, name="age", type="int")
    columns = (e.Alias(child=source.output[2], attribute=number), e.Alias(child=source.output[1], attribute=age))
    condition = e.Call(function="=", arguments=(number, e.Literal(value="5", type="int")), type="boolean")
    whole = o.Filter(child=o.Project(child=source, columns=columns), condition=condition)
    read = RecordedSource(source=source, identity=SourceIdentity(kind="row_digest", columns=()), version=NoVersion(), files={})
    return RecordedPlan(plan=segment(whole, (age,), ("age",)), materialized={}, sources={0: read})


def test_a_value_that_the_plan_has_on_the_way_is_withheld_for_what_it_carries() -> None:
    """The result has no such column."""
    values = {"number": SECRET, "number_2": SECRET, "age": 7}
    drop = Drop(reason="selection", text=f"(number = {SECRET}) is false", rows=(Descendant(values=values),))
    operators = ((0, f"σ (number = {SECRET})"),) * 2
    way = Way(leaf=0, operators=operators, descendants=np.array([[1], [0]]), drops={1: _Dropped(drop)})
    rows = pa.table({"id": [1], "black": [7], "ssn": [SECRET]})
    found = replace(_dropped(), rows=rows, asked="true", fates=Fates(ways=(way,), rows=1), carried=carried_by_plan(_renamed()))
    for pattern in ("client.ssn", "ssn"):
        for how in ({"hide": [pattern]}, {"mask": [pattern]}):
            assert str(SECRET) not in json.dumps(found.to_dict(**how))
    (fate,) = why_not_shown(found, mask=["client.ssn"]).fates
    assert fate.drop is not None
    assert fate.drop.rows[0].values == {"number": MASK, "number_2": MASK, "age": 7}
    (fate,) = why_not_shown(found, mask=["client.black"]).fates
    assert fate.drop is not None
    assert fate.drop.rows[0].values == {"number": SECRET, "number_2": SECRET, "age": MASK}


def test_a_value_of_an_unknown_name_may_be_any() -> None:
    drop = Drop(reason="selection", text="", rows=(Descendant(values={"made": SECRET}),))
    dropped = _Dropped(drop)
    dropped.names = (("made", ""),)
    way = Way(leaf=0, operators=((0, "σ"),) * 2, descendants=np.array([[1], [0]]), drops={1: dropped})
    found = replace(
        _dropped(), rows=pa.table({"id": [1]}), asked="true", fates=Fates(ways=(way,), rows=1), carried=carried_by_plan(_renamed())
    )
    assert str(SECRET) not in json.dumps(found.to_dict(mask=["client.ssn"]))


def test_the_arguments_of_a_udf_of_an_earlier_run_may_be_withheld_columns_by_other_names() -> None:
    """Whatever the pattern says of the source's name."""
    reason = payload.Attributions((payload.Attribution("number", SECRET, 0.5),), 0.0, 0.5)
    judged = Reasons(examples.reasons({"number": [SECRET]}, ["Reject"], [reason]))
    runs = {"judge": "01JEARLIER"}
    for pattern in ("ssn", "client.ssn", "s?n"):
        for hide, mask in (([pattern], []), ([], [pattern])):
            told = answer(reasons={"judge": judged}, runs=runs).to_dict(hide=hide, mask=mask)
            assert str(SECRET) not in json.dumps(told["reasons"])
    assert str(SECRET) in json.dumps(answer(reasons={"judge": judged}, runs=runs).to_dict(mask=["other"])["reasons"])


def test_nothing_is_said_to_have_counted_most_beside_what_is_withheld() -> None:
    features = (("income", 2200, 0.25), ("ssn", SECRET, 0.5))
    reason = payload.Attributions(tuple(payload.Attribution(*one) for one in features), 0.0, 0.75, label="Reject")
    one = answer(reasons={"judge": Reasons(examples.reasons({"income": [2200], "ssn": [SECRET]}, ["Reject"], [reason]))})
    two = answer(reasons={"judge": Reasons(examples.reasons({"income": [2200] * 2, "ssn": [SECRET] * 2}, ["Reject"] * 2, [reason] * 2))})
    assert "mostly because ssn = 777123 (+0.50)" in in_sentence(one)
    assert in_sentence(shown(one, mask=["ssn"])) == "Reject; of what is shown, income = 2200 (+0.25) counted most."
    assert in_sentence(shown(two, mask=["ssn"])) == "2 Reject; of what is shown, income counted most."
