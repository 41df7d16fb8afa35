"""What follows from different values alone, and which conditions are about them."""

from __future__ import annotations

import pytest

from airflow_lineage_provider.deriving.granular_forward import over_values_of
from airflow_lineage_provider.deriving.granularity import AskedValues
from airflow_lineage_provider.deriving.narrowing import over_values
from airflow_lineage_provider.plan.expressions import Attribute, Call, Literal
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.sql import parse_predicate

TYPES = {"mode": "string", "kind": "int", "day": "date", "at": "timestamp", "tags": "array<string>", "Net Tax": "double"}


def source(types: dict[str, str]) -> Source:
    output = tuple(Attribute(id=10 + at, name=name, type=kind) for at, (name, kind) in enumerate(types.items()))
    return Source(leaf=0, relation=Relation(name="sales", kind="files", format="parquet"), columns=tuple(types), output=output)


@pytest.mark.parametrize(("granularity", "condition", "wanted"), [
    (["mode"], "mode = 'AIR'", {0: "string"}),
    (["KIND", '"mode"'], "mode = 'AIR' OR kind IS NULL", {1: "string", 0: "int"}),
    (['"net tax"'], "`Net Tax` > 0.5D", {0: "double"}),
    (["Year( day )", "mode"], "year(day) = 2024", {0: "int"}),
    (["month(day)", "day"], "month(day) = 2 AND day > DATE'2024-01-01'", {0: "int", 1: "date"}),
    # About other columns, too, about other rows, about nothing, or about what is not known to be the same there.
    (["mode"], "mode = 'AIR' AND kind = 1", None), (["year(day)"], "day = DATE'2024-01-01'", None),
    (["mode"], "true", None), (["year(at)"], "year(at) = 2024", None),
    (["hash(mode)"], "hash(mode) = 1", None), (["(kind > 1)"], "kind > 1", None), (["tags"], "tags IS NULL", None),
    # A call of another function over a column whose values are kept is over the values.
    (["mode"], "upper(mode) = 'AIR'", {0: "string"}),
])  # fmt: skip
def test_conditions_on_values(granularity: list[str], condition: str, wanted: dict[int, str] | None) -> None:
    table = source(TYPES)
    asked = parse_predicate(condition, list(zip(table.columns, table.output, strict=True)))
    found = over_values_of(table, asked, granularity)
    assert (None if found is None else {at: one.type for at, one in found.columns.items()}) == wanted
    if found is not None:
        assert not {name for name in ("mode", "kind", "day", "net tax") if name in expression_text(found.condition).casefold()}


def test_columns_that_case_alone_tells_apart() -> None:
    table = source({"mode": "string", "MODE": "string"})
    asked = parse_predicate("mode = 'AIR'", list(zip(table.columns, table.output, strict=True)), case_sensitive=True)
    assert over_values_of(table, asked, ["mode"]) is None


def test_what_is_random_is_asked_of_rows() -> None:
    """A `Column` may be."""
    table = source(TYPES)
    often = Call(
        function="<", arguments=(Call(function="rand", arguments=(), type="double"), Literal(value="2.0", type="double")), type="boolean"
    )
    plain = Call(function="isnotnull", arguments=(table.output[0],), type="boolean")
    assert over_values_of(table, plain, ["mode"]) is not None
    assert over_values_of(table, Call(function="and", arguments=(plain, often), type="boolean"), ["mode"]) is None


@pytest.mark.parametrize(("texts", "wanted"), [
    (["mode", "year(DAY)", "kind + 1"], ['"mode"', '"value_1"', '"value_2"']),
    (["upper(mode)", "max(year(day))", "value_1"], ["upper(mode)", 'max("value_1_")', "value_1"]),
    (["kind + 1 + 2", "kind"], ["kind + 1 + 2", "kind"]),
])  # fmt: skip
def test_texts_over_values(texts: list[str], wanted: list[str]) -> None:
    found, names = over_values(texts, ["mode", "year(day)", "kind + 1"])
    assert found == wanted
    assert len(names) == len(set(names)) == 3


@pytest.mark.parametrize(("by", "measures", "wanted"), [
    (["mode"], [], True), (["upper(mode) AS m"], ["max(kind) AS k", "count(DISTINCT mode)"], True), ([], ["min(DISTINCT kind)"], True),
    (["mode"], ["count(*)"], False), (["mode"], ["sum(kind)"], False), (["mode"], ["avg(DISTINCT kind)"], False),
    (["mode"], ["max(kind) + 1"], False), (["row"], [], False), (["mode"], ["max(row)"], False), (["mode"], ["min(random())"], False),
    (["random()"], [], False), (["(SELECT max(mode) FROM rows)"], [], False), (["mode"], ["count(DISTINCT mode, kind)"], False),
    (["mode"], ["count(mode)"], False),
])  # fmt: skip
def test_what_follows_from_different_values(by: list[str], measures: list[str], wanted: bool) -> None:
    assert AskedValues(by=by, measures=measures)._are_of_values() == wanted
