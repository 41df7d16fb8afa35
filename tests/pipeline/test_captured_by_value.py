"""Lineage captured at a granularity: which values stand behind rows, in place of which rows. Answers are those that are traced without."""

from __future__ import annotations

import json
import random
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from airflow_lineage_provider import Capture, CaptureTable, Cube, Lineage, LineageRows, Run, reasoned_udf
from airflow_lineage_provider.errors import EmptyTarget, InvalidCapture, NotCaptured
from airflow_lineage_provider.render.captured_text import captured_dict, captured_view
from airflow_lineage_provider.store import Store
from tests.in_turn import EVERY, sampled
from tests.pipeline.test_captured import Q1, Q4, folder  # noqa: F401
from tests.pipeline.test_captured_in_part import TABLES, near, runs, tables, told  # noqa: F401

pytestmark = pytest.mark.spark

STORES, ITEMS = CaptureTable(granularity=["s_name"]), CaptureTable(granularity=["category", "i_name"])
OFF = CaptureTable(granularity=[])


@pytest.fixture(scope="module")
def by_store(spark: SparkSession, store: Store, folder: Any) -> Run:  # noqa: F811
    lineage = Lineage(spark, store=store)
    wanted = Capture(tables={"store": STORES, "item": ITEMS, "sales": OFF})
    run = lineage.run(Q4, name="captured by store", strategy="full_materialization", capture=wanted)
    run.close()
    return lineage.get_run(run.id)


def values_of(found: LineageRows, *by: str, where: str = "") -> list[tuple[Any, ...]]:
    """The different values, looked up and nothing else."""
    made = (found.where(where) if where else found).aggregate(list(by), [])
    told_by = made.schema.metadata[b"engine"].decode()
    assert told_by.startswith("index: ")
    assert ", values of " in told_by
    assert made.schema.metadata[b"guarantee"] == b"exact"
    return [tuple(row.values()) for row in made.to_pylist()]


def test_the_paper_s_lineage_on(by_store: Run) -> None:
    """Forward lineage, Sec. 4.3, over tables 1 to 3."""
    target, macys = "s_name = 'Target' AND total = 6800", "s_name LIKE 'Macy%' AND total = 5400"
    assert values_of(by_store.backward(target, "store", lazy=False), "s_name") == [("Target",)]
    assert values_of(by_store.backward(macys, "store", lazy=False), "s_name") == [("Macy's",)]
    assert values_of(by_store.backward("true", "store", lazy=False), "s_name") == [("Macy's",), ("Target",)]
    assert values_of(by_store.backward(macys, "item"), "i_name") == [("pants",), ("shirt",)]
    assert values_of(by_store.backward("true", "item"), "category", where="i_name LIKE 'p%'") == [("clothing",), ("stationery",)]
    found = by_store.forward("s_name = 'Target'", "store", lazy=False)
    assert found.rows.to_pylist() == [{"s_name": "Target", "total": 6800}]
    assert (found.guarantee.level, found.engine.startswith("index: ")) == ("exact", True)
    assert by_store.forward("i_name = 'pants'", "item", lazy=False).rows.to_pylist() == [{"s_name": "Macy's", "total": 5400}]
    # Of d.01 and i.04 themselves nothing was kept.
    assert by_store.forward("s_id = '01'", "store").rows.to_pylist() == [{"s_name": "Target", "total": 6800}]
    assert by_store.forward("i_id = '04'", "item").rows.to_pylist() == [{"s_name": "Macy's", "total": 5400}]
    # s.11 alone sells pots, and its group is under 5,000.
    nothing = by_store.forward("category = 'kitchenware'", "item", lazy=False)
    assert (len(nothing), nothing.engine.startswith("index: ")) == (0, True)
    with pytest.raises(EmptyTarget):
        by_store.forward("category = 'nothing'", "item", lazy=False)


def test_values_that_nothing_descends_from(spark: SparkSession, store: Store, folder: Any) -> None:  # noqa: F811
    """They are not kept: whether there are rows that have them, their table says."""
    run = Lineage(spark, store=store).run(Q1, name="captured by category", capture=Capture(tables={"item": ITEMS}))
    nothing = run.forward("category = 'clothing'", "item", lazy=False)
    assert (len(nothing), nothing.engine) == (0, "index: nothing descends from them, values of category, i_name")
    with pytest.raises(EmptyTarget):
        run.forward("category = 'nothing'", "item", lazy=False)


def test_what_is_said_of_it(by_store: Run) -> None:
    index = by_store.index
    assert index is not None
    assert dict(index.tables) == {"store": STORES, "item": ITEMS, "sales": OFF}
    assert index.not_captured == ("sales",)
    assert {name: one.count for name, one in index.values.items()} == {"store": 2, "item": 5}
    assert {one.to for one in index if not one.to.startswith("segment")} == {"values of store", "values of item"}
    assert index.bytes == sum(one.bytes for one in index) + sum(one.bytes for one in index.values.values())
    assert all(one.bytes > 0 for one in index.values.values())
    document = json.loads(json.dumps(captured_dict(by_store.summary, index)["captured"]))
    assert (document["values"]["store"]["count"], document["tables"]["store"]["granularity"]) == (2, ["s_name"])
    console = Console(record=True, width=300, file=StringIO())
    console.print(captured_view(by_store.summary, index))
    text = console.export_text()
    assert "Lineage of sales is traced when it is asked for." in text
    assert "Of store the values of s_name of all rows are captured." in text
    assert "store has 2 different values of these: " in text


def test_what_was_not_kept_is_traced_or_refused(by_store: Run) -> None:
    rows = by_store.backward("total = 6800", "store")
    assert sorted(rows.rows.column("s_id").to_pylist()) == ["01", "02"]
    assert rows.engine.split("; ")[-1].startswith("lazy: ")
    assert by_store.backward("total = 6800", "store").aggregate("s_name").to_pylist() == [{"s_name": "Target", "count(*)": 2}]
    assert by_store.backward("total = 6800", "store").where("city = 'Albany'").aggregate("s_name", []).to_pylist() == [{"s_name": "Target"}]
    assert len(by_store.backward("total = 6800", "sales")) == 4
    for asked in (
        lambda: by_store.backward("true", "store", lazy=False).to_arrow(),
        lambda: by_store.backward("true", "store", lazy=False).aggregate("s_name", "count(*)"),
        lambda: by_store.backward("true", "store", lazy=False).aggregate("city", []),
        lambda: by_store.forward("s_id = '01'", "store", lazy=False),
        lambda: by_store.backward("true", "sales", lazy=False),
    ):
        with pytest.raises(NotCaptured, match=r"without sales \(granularity=\[\]\).*by values, not by rows, of .*store \(granularity="):
            asked()


def test_links_are_traced_when_they_are_needed(by_store: Run) -> None:
    found = by_store.forward("s_name = 'Target' OR s_name LIKE 'Macy%'", "store")
    assert "index: " in found.engine
    plain = by_store.forward("s_id > ''", "store")
    assert plain.engine.startswith("lazy: ")
    some = found.where("total < 6000")
    document = found.to_dict()["answers"][0]
    assert (document["links"], document["asked_rows"], len(document["rows"]["rows"])) == (None, None, 2)
    found.show()
    assert found.query("SELECT max(total) AS most FROM rows").to_pylist() == [{"most": 6800}]
    assert found.aggregate(measures=["count(*) AS n"]).to_pylist() == [{"n": 2}]
    assert not found.is_linked
    assert (told(found), found.asked_rows, found.is_linked) == (told(plain), 4, True)
    assert (told(some), some.asked_rows) == (told(plain.where("total < 6000")), 4)
    assert json.dumps(found.to_dict()["answers"][0]["links"]) == json.dumps(plain.to_dict()["answers"][0]["links"])
    unlinked = by_store.forward("s_name = 'Target'", "store", lazy=False)
    assert len(unlinked) == 1
    with pytest.raises(NotCaptured, match="granularity"):
        unlinked.query("SELECT asked FROM links")


GRANULARITIES = [
    CaptureTable(granularity=["mode"]),
    CaptureTable(granularity=["kind", "Year(day)", "(tax > 0.02)"]),
    CaptureTable(granularity=["mode", "tax", "month(day)"], where="tax > 0.02 AND kind IS NOT NULL"),
    CaptureTable(granularity=["day"], cube=[Cube(by=["kind"], measures=["count(*)"])]),
]
BY = [["mode"], ["kind"], ["year(day) AS y", "kind"], ["kind + 1 AS k"], ["upper(mode)"], ["day"], ["(tax > 0.02) AS much"], ["tax"],
      [], ["month(day)"], ["day", "flag"]]  # fmt: skip
MEASURES = [[], ["max(kind) AS m"], ["min(day)", "count(DISTINCT mode) AS modes"], ["count(DISTINCT year(day))"], ["max(tax)"],
            ["count(*)"], ["sum(kind)"]]  # fmt: skip
CONDITIONS = ["", "mode = 'AIR'", "mode IS NULL OR mode LIKE 'S%'", "kind = :kind", "year(day) > 2023 AND kind > 1", "isnan(tax)",
              "tax > 0.02 AND kind IS NOT NULL", "tax > 0.02 AND kind IS NOT NULL AND mode = 'AIR'", "tax > 0.02", "row < 20",
              "day > DATE '2024-06-30'", "false", "random() < 2"]  # fmt: skip
FORWARD = ["mode = 'AIR'", "mode IS NULL", "kind = 2 AND year(day) = 2024", "year(day) >= 2025", "month(day) IN (1, 2)", "kind = 2", "true",
           "day > DATE'2024-06-30'", "mode = 'AIR' AND tax > 0.02", "isnan(tax)", "tax = 0.02D OR tax IS NULL", "tax > 0.02D"]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "name"), sampled(product(GRANULARITIES, ["groups", "above", "twice", "session", "lines", "joined"]), one_in=23)
)
def test_answers_are_those_that_are_traced(runs: dict[str, Run], name: str, wanted: CaptureTable) -> None:  # noqa: F811
    run, table, chance = runs[name], TABLES.get(name, "part_sales"), random.Random(f"{name} {wanted}")
    run.forget_captured()
    if name == "twice" and wanted.cube:
        wanted = CaptureTable(granularity=wanted.granularity)
    targets = ["true", f"{'kind' if name == 'above' else 'flag'} IS NULL", f"{'most' if name == 'above' else 'n'} > 6"]
    traced = {target: run.backward(target, table) for target in targets}
    forward = {condition: run.forward(condition, table) for condition in (FORWARD if EVERY else chance.sample(FORWARD, 2))}
    made = run.capture(tables={table: wanted})
    assert made.tables == {table: wanted}
    looked_up = 0
    for target, rows in traced.items():
        assert told(run.backward(target, table)) == told(rows)
        for turn in range(20 if EVERY else 2):
            condition, by, measures = chance.choice(CONDITIONS), chance.choice(BY), chance.choice(MEASURES)
            if not turn:  # once sure to be looked up
                condition, by, measures = wanted.where or "", [(wanted.granularity or ())[0]], []
            if not by and not measures:
                continue
            given = {"kind": chance.choice([1, 3, None])} if ":kind" in condition else {}
            asked, plain = (one.where(condition, **given) if condition else one for one in (run.backward(target, table), rows))
            got = asked.aggregate(by, measures)
            assert near(got, plain.aggregate(by, measures)), (target, condition, by, measures)
            looked_up += ", values of " in got.schema.metadata[b"engine"].decode()
    assert looked_up >= len(traced)
    for condition, rows in forward.items():
        found = run.forward(condition, table)
        assert list(map(repr, found.rows.to_pylist())) == list(map(repr, rows.rows.to_pylist())), condition
        assert (told(found), found.asked_rows) == (told(rows), rows.asked_rows), condition


def test_conditions_that_values_answer(runs: dict[str, Run]) -> None:  # noqa: F811
    run = runs["groups"]
    run.capture(tables={"part_sales": CaptureTable(granularity=["mode", "YEAR( day )", "kind"], where="tax > 0.02")})

    def engine(condition: Any) -> str:
        return run.forward(condition, "part_sales").engine.split(":")[0]

    with pytest.raises(EmptyTarget):
        run.forward("mode = 'nothing like it' AND kind = 7", "part_sales")
    # Rows that have such values were left out, so that what is kept of them is not all.
    assert [engine(one) for one in ("mode = 'AIR'", "year(day) = 2024", {"kind": 2})] == ["lazy"] * 3
    run.capture(tables={"part_sales": CaptureTable(granularity=["mode", "YEAR( day )", "kind"])})
    assert [engine(one) for one in ("mode = 'AIR'", "year(day) = 2024 AND KIND > 1", {"kind": 2})] == ["index"] * 3
    assert [engine(one) for one in ("tax > 0.02", "mode = 'AIR' AND tax > 0", "day = DATE'2024-01-11' OR kind = 1")] == ["lazy"] * 3
    # A value that rows that were left out do not have is known wholly.
    run.capture(tables={"part_sales": CaptureTable(granularity=["mode", "kind"], where="kind > 1")})
    assert [engine(one) for one in ("kind = 2", "kind = 1")] == ["index", "lazy"]


def test_one_direction_is_searched_for_the_other(runs: dict[str, Run]) -> None:  # noqa: F811
    run = runs["above"]
    for direction, back, forth in [("backward", "", ", searched"), ("forward", ", searched", "")]:
        run.capture(direction, tables={"part_sales": CaptureTable(granularity=["mode"])})  # type: ignore[arg-type]
        one = run.backward("true", "part_sales").aggregate("mode", []).schema.metadata[b"engine"].decode()
        other = run.forward("mode = 'AIR'", "part_sales").engine
        assert (back in one, forth in other) == (True, True)
        assert ("searched" in one, "searched" in other) == (bool(back), bool(forth))


def test_the_result_and_the_calls_are_those_without(
    spark: SparkSession,
    store: Store,
    tables: None,  # noqa: F811
    tmp_path: Path,
) -> None:
    calls = str(tmp_path / "calls")

    @reasoned_udf("int", name="by_value_doubled")
    def doubled(kind: int | None) -> int | None:
        with open(calls, "a", encoding="utf-8") as file:
            file.write("x")
        return None if kind is None else 2 * kind

    sql = "SELECT flag, sum(by_value_doubled(kind)) AS n FROM part_sales GROUP BY flag"
    found = []
    for wanted in ("lazy", Capture(tables={"part_sales": CaptureTable(granularity=["mode"])}), Capture(witnesses=True)):
        doubled.register(spark)
        Path(calls).write_text("")
        run = Lineage(spark, store=store).run(sql, name="by value calls", capture=wanted)
        found.append((sorted(map(repr, run.result_table().to_pylist())), len(Path(calls).read_text())))
    assert found[0] == found[1] == found[2]
    assert found[0][1] > 0


def test_what_cannot_be_captured(runs: dict[str, Run]) -> None:  # noqa: F811
    run = runs["groups"]
    for wrong, message in {
        CaptureTable(granularity=["nothing"]): 'granularity of part_sales: .*Referenced column "nothing"',
        CaptureTable(granularity=["random()"]): r"granularity of part_sales: .*another time \(random\)",
        CaptureTable(granularity=["count(*)"]): "granularity of part_sales: .*not one value for each row",
        CaptureTable(granularity=["[kind]"]): "is of type list<.*>, of which there are no classes; cast it to a text",
    }.items():
        with pytest.raises(InvalidCapture, match=message):
            run.capture(tables={"part_sales": wrong})
    for given, message in [
        ({"granularity": "mode"}, "granularity='mode' is not understood; it can be a list"),
        ({"granularity": ["mode"], "partition_by": ["kind"]}, "partition_by orders rows"),
        ({"granularity": [], "where": "true"}, "captures nothing of the table"),
        ({"granularity": [], "cube": [Cube()]}, "captures nothing of the table"),
    ]:
        with pytest.raises(InvalidCapture, match=message):
            CaptureTable(**given)  # type: ignore[arg-type]


def test_values_are_fewer_than_rows(runs: dict[str, Run]) -> None:  # noqa: F811
    run = runs["groups"]
    whole = run.capture(tables=["part_sales"])
    values = run.capture(tables={"part_sales": CaptureTable(granularity=["mode"])})
    assert values.edges < whole.edges
    assert values.bytes < whole.bytes
    assert values.values["part_sales"].count == 4
