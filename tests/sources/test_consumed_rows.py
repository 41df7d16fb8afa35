"""Rows of lineage filtered and aggregated: equal to plain Python over the same rows, and refused by name."""

from __future__ import annotations

import datetime as dt
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.answers.consumed_rows import aggregated, aggregated_schema, check_condition, numbered
from airflow_lineage_provider.answers.crossfilter import Crossfilter
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.deriving.narrowing import holds
from airflow_lineage_provider.deriving.values import _zone
from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.plan.guarantees import EXACT
from airflow_lineage_provider.sources import duckdb_query
from airflow_lineage_provider.sources.duckdb_query import selected
from tests.sources.test_selected import LOANS, RUN

CHANCE = random.Random(7)
MODES = ("AIR", "SHIP", None, "it's")
ITEMS: list[dict[str, Any]] = [
    {"mode": CHANCE.choice(MODES), "tax": CHANCE.randrange(4), "quantity": CHANCE.choice([None, 1, 2, 30]),
     "shipped": dt.date(1995, 1, 1) + dt.timedelta(days=CHANCE.randrange(800))}
    for _ in range(400)
]  # fmt: skip
LINKS = [(CHANCE.randrange(9), row) for row in sorted(CHANCE.sample(range(400), 300))]
ROWS = LineageRows(
    run=RUN, asked="true", table="lineitem", rows=pa.Table.from_pylist(ITEMS), guarantee=EXACT, engine="index: rid index", asked_rows=9,
    links=pa.table({"asked": [a for a, _ in LINKS], "row": [r for _, r in LINKS]}), numbers=tuple(range(1000, 1400)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "params", "holds"),
    [
        ("mode = :p1 AND tax = :p2", {"p1": "AIR", "p2": 3}, lambda one: one["mode"] == "AIR" and one["tax"] == 3),
        ("mode = :p", {"p": "it's"}, lambda one: one["mode"] == "it's"),
        ("mode = :p", {"p": None}, lambda one: False),
        ("mode IS NULL OR quantity > 2", {}, lambda one: one["mode"] is None or (one["quantity"] or 0) > 2),
        ("shipped >= :since -- the last year", {"since": dt.date(1996, 3, 1)}, lambda one: one["shipped"] >= dt.date(1996, 3, 1)),
        ("row < 7", {}, None),
        ("tax > 99", {}, lambda one: False),
    ],
)
def test_where_keeps_the_rows_and_the_links_to_them(condition: str, params: dict[str, Any], holds: Callable[[Any], bool] | None) -> None:
    found = ROWS.where(condition, **params)
    kept = list(range(7)) if holds is None else [at for at, one in enumerate(ITEMS) if holds(one)]
    assert found.rows.to_pylist() == [ITEMS[at] for at in kept]
    assert found.numbers == tuple(1000 + at for at in kept)
    links = list(zip(found.links["asked"].to_pylist(), found.links["row"].to_pylist(), strict=True))
    assert links == [(asked, kept.index(row)) for asked, row in LINKS if row in kept]
    assert (found.count, found.asked_rows, found.guarantee, found.table) == (len(kept), 9, EXACT, "lineitem")
    assert found.links.schema == ROWS.links.schema


def test_conditions_one_after_another() -> None:
    twice = ROWS.where("mode = :p", p="SHIP").where("tax = :p", p=1)
    both = ROWS.where("mode = 'SHIP' AND tax = 1")
    assert (twice.rows, twice.links, twice.numbers) == (both.rows, both.links, both.numbers)
    assert len(both) > 5


def test_aggregate_equals_plain_python() -> None:
    found = ROWS.aggregate(
        by=["mode", "year(shipped) AS year"],
        measures=["count(*)", "sum(quantity) AS quantity", "count(*) FILTER (WHERE tax = 0) AS untaxed", "cast(max(tax) AS int)"],
    )
    groups: dict[tuple[Any, int], list[dict[str, Any]]] = defaultdict(list)
    for one in ITEMS:
        groups[one["mode"], one["shipped"].year].append(one)
    expected = [
        {
            "mode": mode, "year": year, "count(*)": len(rows), "quantity": sum(one["quantity"] or 0 for one in rows),
            "untaxed": sum(one["tax"] == 0 for one in rows), "cast(max(tax) AS int)": max(one["tax"] for one in rows),
        }
        for (mode, year), rows in sorted(groups.items(), key=lambda group: (group[0][0] is None, group[0][0] or "", group[0][1]))
    ]  # fmt: skip
    assert found.to_pylist() == expected
    assert len(expected) > 8
    assert ROWS.aggregate().to_pylist() == [{"count(*)": 400}]
    assert ROWS.aggregate("tax", ()).to_pylist() == [{"tax": at} for at in range(4)]
    assert ROWS.where("false").aggregate(measures=["count(*)", "sum(tax)"]).to_pylist() == [{"count(*)": 0, "sum(tax)": None}]
    assert ROWS.where("false").aggregate(by="tax").num_rows == 0


def test_no_more_than_a_limit() -> None:
    assert ROWS.to_arrow(limit=2).to_pylist() == ITEMS[:2]
    assert ROWS.to_arrow().num_rows == ROWS.count == 400
    assert list(ROWS.to_pandas(limit=3)["tax"]) == [one["tax"] for one in ITEMS[:3]]
    assert ROWS.to_arrow(limit=0).num_rows == 0


def test_a_column_of_the_rows_may_have_our_name() -> None:
    table = LOANS.rows.append_column("place", pa.array([5, 6])).append_column("row", pa.array([8, 7]))
    own = LineageRows(run=RUN, asked="", table="t", rows=table, links=LOANS.links, guarantee=EXACT, engine="")
    assert own.where("row = 7 AND place = 6").rows.to_pylist() == [{"occ": "b", "amount": None, "place": 6, "row": 7}]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: ROWS.where("colour = 1"), r"condition='colour = 1': .*colour.*mode, tax, quantity, shipped, row"),
        (lambda: ROWS.where("sum(tax) > 1"), "aggregate"),
        (lambda: ROWS.where("true) OR (true"), "closed that was not opened"),
        (lambda: ROWS.where("(true"), "is not closed"),
        (lambda: ROWS.where("true ORDER BY tax"), "condition='true ORDER BY tax'"),
        (lambda: ROWS.where(""), "is empty"),
        (lambda: ROWS.where(7), "is no text"),  # type: ignore[arg-type]
        (lambda: ROWS.where("mode = 'AIR"), "condition="),
        (lambda: ROWS.where("mode = :p"), r"condition='mode = :p': has :p and no value for it: give it by name, p=…"),
        (lambda: ROWS.where("mode = :p", p="AIR", q=1), r"has no :q; its parameters are: p"),
        (lambda: ROWS.where("mode = :p", p=object()), "condition="),
        (lambda: ROWS.aggregate((), ()), "neither by nor measures"),
        (lambda: ROWS.aggregate("tax", "quantity"), "by, measures=.*GROUP BY"),
        (lambda: ROWS.aggregate(measures="tax"), "each is one aggregate of the rows"),
        (lambda: ROWS.aggregate("sum(tax)"), "by, measures="),
        (lambda: ROWS.aggregate("count(*)"), r"would be called 'count\(\*\)'"),
        (lambda: ROWS.aggregate("tax", ["count(*) AS n", "sum(tax) AS n"]), "would be called 'n'"),
        (lambda: ROWS.aggregate(measures="columns(*)"), "each is one aggregate of the rows"),
        (lambda: ROWS.aggregate(measures="tax) FROM rows; DROP TABLE rows; SELECT (1"), "closed that was not opened"),
    ],
)  # fmt: skip
def test_what_is_no_expression_over_them(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        ask()


def test_the_columns_of_an_aggregation_are_known_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for by, measures in (("mode", ["count(*)", "sum(quantity) AS q"]), (["year(shipped) AS y", "tax"], "max(shipped)"), ([], ["avg(tax)"])):
        assert aggregated_schema(by, measures, ROWS.rows.slice(0, 0), "") == aggregated(by, measures, ROWS.rows, "").schema
    for _ in range(2):
        with pytest.raises(InvalidOption, match="nothing_such"):
            aggregated_schema(["nothing_such"], [], ROWS.rows.slice(0, 0), "")
    # The same again is known, and of another table it is not.
    monkeypatch.setattr("airflow_lineage_provider.answers.consumed_rows.aggregated", lambda *_: 1 / 0)
    assert aggregated_schema([], ["avg(tax)"], ROWS.rows.slice(0, 0), "").names == ["avg(tax)"]
    with pytest.raises(ZeroDivisionError):
        aggregated_schema([], ["avg(tax)"], ROWS.rows.slice(0, 0).select(["tax"]), "")


INSTANTS = [dt.datetime(2024, 1, 31, 23, 30, tzinfo=dt.UTC), dt.datetime(2024, 2, 1, 12, tzinfo=dt.UTC)]


@pytest.mark.parametrize(("zone", "months", "hour"), [
    ("", {1: 1, 2: 1}, 23), ("Europe/Amsterdam", {2: 2}, 0), ("+01:00", {2: 2}, 0), ("GMT-1", {1: 1, 2: 1}, 22),
])  # fmt: skip
def test_times_are_in_the_zone_of_the_runs_session(zone: str, months: dict[int, int], hour: int) -> None:
    table = pa.table({"ts": pa.array(INSTANTS, pa.timestamp("us", "UTC"))})
    rows = replace(ROWS, run=replace(RUN, zone=zone), rows=table, links=ROWS.links.slice(0, 0), numbers=())
    assert rows.where(f"hour(ts) = {hour}").rows.to_pylist() == [{"ts": INSTANTS[0]}]
    assert rows.where("ts = :at", at=INSTANTS[0].astimezone(_zone(zone or "UTC")).replace(tzinfo=None)).rows.num_rows == 1
    assert {one["m"]: one["n"] for one in rows.aggregate("month(ts) AS m", "count(*) AS n").to_pylist()} == months
    assert rows.query("SELECT list(ts) AS ts FROM rows").schema.field(0).type.value_type == table.schema.field(0).type
    assert Crossfilter.over(rows, {"m": "month(ts)"}).brush().counts == {"m": months}
    held = holds("month(ts) = 2", ["ts"], table, {}, zone)
    assert held is not None
    assert held.sum() == months[2]


def test_a_zone_that_duckdb_does_not_know_is_refused() -> None:
    with pytest.raises(InvalidOption, match="DuckDB does not know Moon/Base, the time zone of the run's session"):
        replace(ROWS, run=replace(RUN, zone="Moon/Base")).where("tax = 1")


def test_a_condition_that_was_taken_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    empty, computed = numbered(pa.table({"a": pa.array([], pa.int64())})), []

    def noted(query: str, *given: Any, **options: Any) -> pa.Table:
        computed.append(query)
        return selected(query, *given, **options)

    monkeypatch.setattr(duckdb_query, "selected", noted)
    for value in (1, 2, 3.5):
        check_condition("a = :checked_once", {"checked_once": value}, empty, "UTC")
    assert len(computed) == 2
    for _ in range(2):
        with pytest.raises(InvalidOption, match="nowhere"):
            check_condition("nowhere = :n", {"n": 1}, empty, "UTC")
