"""What one run wrote and another read is traced through, over any number of runs, to the real sources."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Feature, Lineage
from airflow_lineage_provider.errors import InvalidOption, InvalidTarget, NotCaptured, SparkRequired
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.store import Store
from tests.answers import guarantees_of, links_of, runs_of
from tests.pipeline.across.small_runs import behind, exact, sources, sql, totals

pytestmark = pytest.mark.spark


def test_two_runs(lineage: Lineage, tables: Path) -> None:
    a = totals(lineage, tables)
    b = lineage.run(sql("SELECT client, total FROM {totals} WHERE total > 20", totals=str(tables / "totals")), name="b")
    found = b.explain("client = 'ann'")
    assert sources(found) == {"orders": [1, 2]}
    assert list(found.intermediate) == ["totals"]
    between = found.intermediate["totals"]
    assert (between.run.id, between.run.pipeline, runs_of(found)["totals"]) == (a.id, "a", a.id)
    assert between.rows.to_pylist() == [{"client": "ann", "total": 30}]
    assert behind(found, 0) == {"orders": [1, 2]}
    assert behind(found, 0, links="totals") == {"orders": [1, 2]}
    assert exact(found), guarantees_of(found)
    rows = b.backward("client = 'ann'", across=True)
    assert {name: (one.rows, one.guarantee.level) for name, one in rows.items()} == {"orders": (found.sources["orders"].rows, "exact")}
    assert len(b.backward("client = 'ann'", "Orders", across=True)) == 2
    refused: list[dict[str, Any]] = [{"lazy": False}, {"by_leaf": True}, {"of": "segment_1"}]
    for one_run in refused:
        with pytest.raises(InvalidOption, match="is asked of one run"):
            a.backward("true", across=True, **one_run)
    with pytest.raises(InvalidTarget, match="no source table 'nothing' is behind the run; there are orders"):
        a.backward("true", "nothing", across=True)
    assert a.backward("true", "orders", across=True).rids.tolist() == a.backward("true", "orders").rids.tolist()
    whole = b.explain("true")
    assert {whole.target.column("client")[row].as_py(): behind(whole, row)["orders"] for row in (0, 1)} == {"ann": [1, 2], "bob": [3, 4]}


def test_without_across_a_derivation_ends_at_what_the_run_read(lineage: Lineage, tables: Path) -> None:
    totals(lineage, tables)
    b = lineage.run(sql("SELECT client FROM {totals} WHERE total > 20", totals=str(tables / "totals")), name="b")
    found = b.explain("client = 'ann'", across=False)
    assert found.sources["totals"].to_pylist() == [{"client": "ann", "total": 30}]
    assert found.intermediate == {}
    assert list(found.sources) == ["totals"]


def test_three_runs_and_the_answer_is_kept(lineage: Lineage, tables: Path) -> None:
    a = totals(lineage, tables)
    text = "SELECT country, total, clients.client FROM {totals} JOIN {clients} ON totals.client = clients.client"
    b = lineage.run(sql(text, totals=str(tables / "totals"), clients=str(tables / "clients")), name="b", output=str(tables / "joined"))
    c = lineage.run(sql("SELECT country, max(total) AS most FROM {joined} GROUP BY country", joined=str(tables / "joined")), name="c")
    found = c.explain("country = 'UK'")
    assert sources(found) == {"orders": [1, 2, 5]}
    assert sources(found, "client")["clients"] == ["ann", "cy"]
    assert {name: one.run.id for name, one in found.intermediate.items()} == {"joined": b.id, "totals": a.id}
    assert exact(found)
    rows = c.backward("true", across=True)
    assert {name: len(one) for name, one in rows.items()} == {"orders": 5, "clients": 3}
    place = {country: at for at, country in enumerate(c.result_table().column("country").to_pylist())}
    assert Counter(rows["orders"].links.column("asked").to_pylist()) == Counter({place["UK"]: 3, place["US"]: 2})
    assert rows["orders"].asked_rows == 2
    with pytest.raises(NotCaptured, match=f"ask {a.id}"):
        list(rows["orders"].rids)
    again = lineage.derivation(found.id)
    assert [(one.rows, one.links, one.guarantee) for one in again.tables.values()] == [
        (one.rows, one.links, one.guarantee) for one in found.tables.values()
    ]
    assert [one.run_id for one in again.reasons.values()] == [one.run_id for one in found.reasons.values()]
    assert {name: (one.run.id, one.rows) for name, one in again.intermediate.items()} == {
        name: (one.run.id, one.rows) for name, one in found.intermediate.items()
    }


def test_the_catalog_is_read_once_for_each_run(lineage: Lineage, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the rows between are read from what the run before had stored, as its files are gone."""
    a = totals(lineage, tables)
    b = lineage.run(sql("SELECT client FROM {totals} WHERE total > 20", totals=str(tables / "totals")), name="b")
    totals(lineage, tables)
    asked = Counter[str]()

    def counting(name: str) -> Callable[..., Any]:
        read = getattr(Store, name)

        def one(store: Store, what: Any, *further: Any) -> Any:
            asked[f"{name} {what if name != 'written' else sorted(what)}"] += 1
            return read(store, what, *further)

        return one

    for name in ("run", "materializations", "written"):
        monkeypatch.setattr(Store, name, counting(name))
    assert sources(b.explain("client = 'ann'")) == {"orders": [1, 2]}
    assert {one for one in asked if not one.startswith("written")} == {
        f"run {a.id}",
        f"materializations {a.id}",
        f"materializations {b.id}",
    }
    assert set(asked.values()) == {1}, asked


def test_a_diamond_is_one_derivation(lineage: Lineage, tables: Path) -> None:
    a = totals(lineage, tables)
    where = str(tables / "totals")
    for name, condition in (("low", "total < 20"), ("high", "total >= 7")):
        lineage.run(sql(f"SELECT client, total FROM {{totals}} WHERE {condition}", totals=where), name=name, output=str(tables / name))
    d = lineage.run(
        sql(
            "SELECT low.client AS low, high.client AS high FROM {low} JOIN {high} ON low.total <= high.total",
            low=str(tables / "low"),
            high=str(tables / "high"),
        ),
        name="d",
    )
    found = d.explain("low = 'cy' AND high IN ('ann', 'cy')")
    assert sources(found) == {"orders": [1, 2, 5]}
    assert sorted(found.intermediate) == ["high", "low", "totals"]
    assert runs_of(found)["totals"] == a.id
    assert sorted(found.intermediate["totals"].rows.column("client").to_pylist()) == ["ann", "cy"]
    high = {found.target.column("high")[row].as_py(): behind(found, row)["orders"] for row in (0, 1)}
    assert high == {"ann": [1, 2, 5], "cy": [5]}
    assert exact(found)


def test_one_real_source_on_two_paths(lineage: Lineage, tables: Path) -> None:
    totals(lineage, tables)
    text = "SELECT rid, total FROM {totals} JOIN {purchases} ON totals.client = purchases.client"
    b = lineage.run(sql(text, totals=str(tables / "totals"), purchases=str(tables / "orders")), name="b")
    found = b.explain("rid = 1")
    assert len(found.sources) == 1  # what run B calls otherwise is the same table in the same version
    assert behind(found, 0) == {next(iter(found.sources)): [1, 2]}


def test_each_duplicate_has_its_own_lineage(lineage: Lineage, tables: Path) -> None:
    a = lineage.run(sql("SELECT amount FROM {orders}", orders=str(tables / "orders")), name="a", output=str(tables / "amounts"))
    b = lineage.run(sql("SELECT amount AS x FROM {amounts}", amounts=str(tables / "amounts")), name="b")
    found = b.explain("x = 7")
    assert found.target.num_rows == 2
    assert runs_of(found)["amounts"] == a.id
    assert sorted(behind(found, row)["orders"] for row in (0, 1)) == [[5], [6]]
    assert exact(found)


def test_duplicates_that_cannot_be_told_apart_are_marked(lineage: Lineage, tables: Path, spark: SparkSession) -> None:
    out = str(tables / "amounts")
    lineage.run(sql("SELECT amount FROM {orders}", orders=str(tables / "orders")), name="a", output=f"json:{out}")
    b = lineage.run(lambda spark: spark.read.schema("amount int").json(out).selectExpr("amount AS x"), name="b")
    found = b.explain("x = 7")
    assert sources(found) == {"orders": [5, 6]}
    assert behind(found, 0) == {"orders": [5, 6]}
    assert guarantees_of(found)["orders"].level == "superset"
    assert guarantees_of(found)["amounts"].level == "superset"
    alone = b.explain("x = 30")
    assert sources(alone) == {"orders": [3]}
    assert exact(alone)


@pytest.mark.parametrize("format", ["csv", "json"])
def test_values_as_the_reader_types_them(lineage: Lineage, tables: Path, format: str) -> None:
    out = str(tables / "out")
    text = "SELECT rid, client, CAST(amount AS decimal(10, 2)) AS amount, amount / 3 AS third, DATE '2026-01-01' + rid AS day FROM {orders}"
    lineage.run(sql(text, orders=str(tables / "orders")), name="a", output=f"{format}:{out}")
    schema = "rid bigint, client string, amount double, third double, day string"
    b = lineage.run(lambda spark: spark.read.schema(schema).format(format).load(out).where("rid > 2"), name="b")
    found = b.explain("rid IN (3, 6)")
    assert sources(found) == {"orders": [3, 6]}
    assert exact(found), guarantees_of(found)


def test_values_that_the_format_merged_are_all_traced(lineage: Lineage, tables: Path, spark: SparkSession) -> None:
    at = "TIMESTAMP '2026-01-01 10:00:00.123' + make_dt_interval(0, 0, 0, {})"
    written = {  # the values of orders 1, 2 and of all others
        "parquet": ("'01'", "'1'", "'2'"),
        "csv name": ("'ann'", "' ann '", "'bob'"),
        "csv code": ("'007'", "'7'", "'8'"),
        "csv": (at.format(0), at.format(0.000456), at.format(0.001)),
        "json": (at.format(0), at.format(0.000456), at.format(0.001)),
    }
    orders = spark.read.parquet(str(tables / "orders")).where("rid < 4")
    for case, (one, other, third) in written.items():
        out, form = str(tables / f"out {case}"), case.split()[0]
        frame = orders.selectExpr(f"CASE rid WHEN 1 THEN {one} WHEN 2 THEN {other} ELSE {third} END AS m", "7 AS x").coalesce(1)
        with lineage.recording(spark) as recording:
            writer = frame.write.format(form)
            (writer.partitionBy("m") if form == "parquet" else writer).save(out)
        typed = spark.read.schema("m timestamp, x int") if case in ("csv", "json") else spark.read.option("inferSchema", "true")
        read = typed.format(form).load(out)
        (read.toDF("m", "x") if form == "csv" else read).createOrReplaceTempView("as_read")
        b = lineage.run("SELECT m, count(*) AS count FROM as_read GROUP BY m", name="b")
        found = b.explain("count = 2", save=False)
        assert (sources(found), found.guarantee.level) == ({"orders": [1, 2]}, "superset"), case
        assert (sources(b.explain("count = 1", save=False)), case) == ({"orders": [3]}, case)
        (a,) = recording.runs
        (later,) = a.forward("rid = 2", "orders", across=True).later.values()
        assert (later.rows.column("count").to_pylist(), later.guarantee.level) == ([2], "superset"), case


def test_rows_of_which_the_run_behind_has_fewer_are_not_traced(
    lineage: Lineage, tables: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This write leaves the fractions out, which is known by its options; of a record of before, which has none, by the rows."""
    out, moments = str(tables / "out"), "TIMESTAMP '2026-01-01 10:00:00' + make_dt_interval(0, 0, rid DIV 3, IF(rid = 1, 0.5, 0))"
    with lineage.recording(spark) as recording:
        frame = spark.read.parquet(str(tables / "orders")).where("rid < 5").selectExpr(f"{moments} AS at", "rid DIV 3 AS x")
        frame.write.option("timestampFormat", "yyyy-MM-dd HH:mm:ss").csv(out)
    (a,) = recording.runs
    b = lineage.run(lambda spark: spark.read.schema("at timestamp, x int").csv(out).groupBy("x").count(), name="b")
    assert sources(b.explain("x = 0", save=False)) == {"orders": [1, 2]}
    monkeypatch.setattr(RecordedPlan, "written_with", property(lambda _: {}, lambda *_: None), raising=False)
    found = b.explain("x = 0", save=False)
    assert (list(found.sources), found.intermediate, found.guarantee.level) == (["out"], {}, "unavailable")
    assert a.id in guarantees_of(found)["out"].cause
    assert sources(b.explain("x = 1", save=False)) == {"orders": [3, 4]}


@pytest.mark.parametrize("strategy", ["rerun", "full_materialization"])
def test_another_strategy_upstream(lineage: Lineage, tables: Path, strategy: str) -> None:
    a = totals(lineage, tables, strategy=strategy)
    b = lineage.run(sql("SELECT client, total FROM {totals}", totals=str(tables / "totals")), name="b")
    found = b.explain("client = 'bob' OR client IS NULL")
    assert sources(found) == {"orders": [3, 4, 6]}
    assert runs_of(found)["totals"] == a.id
    assert exact(found)


def test_a_rerun_upstream_that_cannot_be_repeated_is_said(lineage: Lineage, tables: Path) -> None:
    a = totals(lineage, tables, strategy="rerun")
    b = lineage.run(sql("SELECT client, total FROM {totals}", totals=str(tables / "totals")), name="b")
    shutil.rmtree(tables / "orders")
    found = b.explain("client = 'bob'")
    assert list(found.sources) == ["totals"]
    assert found.guarantee.level == "unavailable"
    assert a.id in found.guarantee.cause
    assert "orders" in found.guarantee.cause


def test_reasons_of_all_runs(lineage: Lineage, tables: Path) -> None:
    a = lineage.run(
        sql("SELECT rid, amount, extent(amount) AS s FROM {orders}", orders=str(tables / "orders")), name="a", output=str(tables / "sized")
    )
    b = lineage.run(sql("SELECT s, extent(CAST(sum(amount) AS int)) AS t FROM {sized} GROUP BY s", sized=str(tables / "sized")), name="b")
    found = b.explain("s = 'small'")
    assert list(found.reasons) == ["extent", "extent_2"]
    assert (runs_of(found)["extent"], runs_of(found)["extent_2"]) == (b.id, a.id)
    assert found.reasons["extent"].column("value").to_pylist() == ["big"]
    assert sorted(found.reasons["extent_2"].column(1).to_pylist()) == [5, 7, 10]
    assert behind(found, 0, links="extent") == {"orders": [1, 4, 5, 6]}
    calls = {row: found.reasons["extent_2"].column(1)[row].as_py() for row in range(3)}
    assert {amount: behind(found, row, links="extent_2")["orders"] for row, amount in calls.items()} == {10: [1], 5: [4], 7: [5, 6]}
    assert exact(found)
    # What the UDF's author calls things is in the answer, and in the one that is kept.
    for answer in (found, lineage.derivation(found.id)):
        assert [answer.reasons[name].names.argument(0) for name in answer.reasons] == [Feature("pounds")] * 2


def test_a_difference_over_a_runs_output(lineage: Lineage, tables: Path) -> None:
    totals(lineage, tables)
    text = "SELECT client FROM {clients} LEFT ANTI JOIN {totals} ON totals.client = clients.client AND total > 20"
    pipeline = sql(text, clients=str(tables / "clients"), totals=str(tables / "totals"))
    b = lineage.run(pipeline, name="b", output=str(tables / "left_over"))
    c = lineage.run(sql("SELECT upper(client) AS who FROM {left_over}", left_over=str(tables / "left_over")), name="c")
    found = c.explain("who = 'CY'")
    assert [(one.sources, one.intermediate, one.rows, one.run) for one in found.controls] == [((), ("totals",), (0,), b.id)]
    assert found.intermediate["totals"].rows.num_rows == 0
    assert sources(found, "client") == {"clients": ["cy"]}


def test_the_rows_of_a_difference_upstream_are_in_no_decision(lineage: Lineage, tables: Path) -> None:
    text = "SELECT rid, amount FROM {orders} LEFT ANTI JOIN {clients} ON clients.client = orders.client AND country = 'US'"
    a = lineage.run(sql(text, orders=str(tables / "orders"), clients=str(tables / "clients")), name="a", output=str(tables / "kept"))
    b = lineage.run(sql("SELECT rid, extent(amount) AS s FROM {kept}", kept=str(tables / "kept")), name="b")
    found = b.explain("rid = 5", difference="rows", save=False)
    assert found.sources["clients"].num_rows == 3
    assert {link["source"] for link in links_of(found)["target"].to_pylist()} == {"orders", "clients"}
    assert {link["source"] for link in links_of(found)["extent"].to_pylist()} == {"orders"}
    assert [(one.sources, one.rows, one.run, one.listed) for one in found.controls] == [(("clients",), (0,), a.id, True)]


def test_verification_is_of_the_run_that_was_asked(lineage: Lineage, tables: Path) -> None:
    totals(lineage, tables)
    b = lineage.run(sql("SELECT client, total + 1 AS more FROM {totals}", totals=str(tables / "totals")), name="b")
    assert b.explain("client = 'ann'", verify=True).verified is True


def test_shown_and_as_a_document(lineage: Lineage, tables: Path) -> None:
    from io import StringIO

    from rich.console import Console

    a = totals(lineage, tables)
    found = lineage.run(sql("SELECT client FROM {totals}", totals=str(tables / "totals")), name="b").explain("client = 'ann'")
    document = found.to_dict()
    assert document["intermediate"]["totals"]["run"]["id"] == a.id
    assert document["intermediate"]["totals"]["rows"] == [["ann", 30]]
    assert document["runs"] == {"totals": a.id}
    out = StringIO()
    found.show(Console(file=out, width=200))
    assert f"Through totals, 1 row written by run {a.id} of a" in out.getvalue()


def test_without_spark(lineage: Lineage, tables: Path, store: Store) -> None:
    """Stored rows and Parquet files need no session; what does need one says for which run."""
    out = str(tables / "picked")
    a = lineage.run(sql("SELECT rid, amount FROM {orders}", orders=str(tables / "orders")), name="a", output=out)
    b = lineage.run(sql("SELECT rid AS r FROM {picked}", picked=out), name="b")
    found = Lineage(store=store).get_run(b.id).explain("r = 3")
    assert sources(found) == {"orders": [3]}
    assert runs_of(found) == {"picked": a.id}
    again = totals(lineage, tables, strategy="rerun")
    c = lineage.run(sql("SELECT client FROM {totals}", totals=str(tables / "totals")), name="c")
    with pytest.raises(SparkRequired, match=again.id):
        Lineage(store=store).get_run(c.id).explain("client = 'ann'")
    assert list(Lineage(store=store).get_run(c.id).explain("client = 'ann'", across=False).sources) == ["totals"]


def test_equal_rows_of_two_runs(lineage: Lineage, tables: Path) -> None:
    """The same row out of two runs, in a format that does not tell where a row stands: both are shown, and it is said."""
    out, orders = str(tables / "twice"), str(tables / "orders")
    text = "SELECT amount FROM {orders} WHERE rid = "
    runs = [lineage.run(sql(text + str(rid), orders=orders), name="a", output=f"json:{out}+append") for rid in (5, 6)]
    b = lineage.run(lambda spark: spark.read.schema("amount int").json(out), name="b")
    found = b.explain("amount = 7")
    assert sources(found) == {"orders": [5, 6]}
    assert {one.run.id for one in found.intermediate.values()} == {run.id for run in runs}
    assert guarantees_of(found)["orders"].level == "superset"
