"""Lineage that is collected while a run is made: the index is the one that is found afterwards, to the byte, and the run gives the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Capture, CaptureTable, Cube, Lineage, Run, reasoned_udf
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.store.schema import captured_parts
from airflow_lineage_provider.words import CaptureMode, Strategy
from tests.in_turn import in_turn, sampled
from tests.pipeline.small_files import views

pytestmark = pytest.mark.spark

FROM = "FROM shop d, article i, sale s WHERE d.shop = s.shop AND i.article = s.article"
PER_KIND = f"SELECT d.name, i.kind, sum(s.num) AS total {FROM} GROUP BY d.name, i.kind"
PER_SHOP = f"SELECT d.shop, d.name, count(*) AS n, sum(s.num) AS total {FROM} GROUP BY d.shop, d.name"
COLLECTED = {
    "a join": f"SELECT d.name, sum(s.num) AS total {FROM} GROUP BY d.name",
    "an order above": f"{PER_KIND} ORDER BY total DESC, d.name, i.kind",
    "HAVING": f"SELECT d.name, i.kind, max(s.num) AS most {FROM} GROUP BY d.name, i.kind HAVING sum(s.num) > 60",
    "stacked": f"SELECT name, max(total) AS best FROM ({PER_KIND}) GROUP BY name",
    "groups of groups": f"SELECT n, count(*) AS shops, sum(total) AS total FROM ({PER_SHOP}) GROUP BY n",
    "a left join": "SELECT d.name, i.kind, count(s.num) AS n FROM shop d LEFT JOIN sale s ON d.shop = s.shop AND s.num > 15 "
    "LEFT JOIN article i ON i.article = s.article GROUP BY d.name, i.kind",
    "a full join": "SELECT coalesce(d.city, 'none') AS city, count(*) AS n FROM shop d FULL JOIN sale s ON d.shop = s.shop + 2 GROUP BY 1",
    "a union": "SELECT key, count(*) AS n FROM (SELECT shop AS key FROM sale UNION ALL SELECT article FROM article) GROUP BY key",
    "distinct": f"SELECT DISTINCT d.city, i.kind {FROM}",
    "count(DISTINCT …)": f"SELECT i.kind, count(DISTINCT d.name) AS names, sum(s.num) AS total {FROM} GROUP BY i.kind",
    "a filter of a function": f"SELECT d.name, count(*) FILTER (WHERE s.num > 20) AS many {FROM} GROUP BY d.name",
    "grouping sets": f"SELECT d.name, i.kind, sum(s.num) AS total {FROM} GROUP BY ROLLUP (d.name, i.kind)",
    "one group": f"SELECT sum(s.num) AS total, count(*) AS n {FROM}",
    "one group of nothing": f"SELECT sum(s.num) AS total, count(*) AS n {FROM} AND s.num < 0",
    "no group": f"SELECT d.name, count(*) AS n {FROM} AND s.num < 0 GROUP BY d.name",
    "a key that is NULL": "SELECT s.code, count(*) AS n FROM sale s JOIN shop d ON d.shop = s.shop GROUP BY s.code",
    "groups joined with a table": f"SELECT g.name, s.day, g.total FROM ({PER_SHOP}) g LEFT JOIN sale s ON g.shop = s.shop AND s.num > 20",
    "groups joined with groups": f"SELECT a.name, b.total FROM ({PER_SHOP}) a JOIN ({PER_SHOP}) b ON a.shop = b.shop + 1",
    "a scalar subquery": f"SELECT d.name, sum(s.num) AS total {FROM} GROUP BY d.name HAVING sum(s.num) > (SELECT avg(num) + 1 FROM sale)",
    "explode": "SELECT day, count(*) AS n FROM (SELECT explode(sequence(s.day, s.day + 1)) AS day FROM sale s JOIN shop d USING (shop))"
    " GROUP BY day",
    "a semi-join below": f"SELECT d.name, count(*) AS n {FROM} AND i.article IN (SELECT article FROM sale WHERE num > 30) GROUP BY d.name",
    "no partner": f"SELECT s.num, g.n FROM (SELECT total, count(*) AS n FROM ({PER_SHOP} LIMIT 9) GROUP BY total) g "
    "RIGHT JOIN sale s ON g.total = -s.num - 1",
    "a difference above": f"SELECT name, total FROM ({PER_SHOP}) WHERE shop NOT IN (SELECT article FROM sale WHERE num > 36)",
    "partners of groups": f"SELECT name, total FROM ({PER_SHOP}) g WHERE EXISTS (SELECT 1 FROM sale WHERE shop = g.shop AND num > 37)",
    "a correlated subquery": f"SELECT g.name, (SELECT max(num) FROM sale WHERE shop = g.shop) AS most FROM ({PER_SHOP}) g",
    "a union of groups": f"SELECT name, total FROM ({PER_SHOP}) UNION ALL SELECT kind, count(*) FROM article GROUP BY kind",
}  # fmt: skip
DEFERRED = {
    "a limit of groups": (f"SELECT name, total FROM ({PER_SHOP}) ORDER BY total DESC, shop LIMIT 2", "hangs on the order of its rows"),
    "a rounded sum of groups": (f"SELECT sum(total / 7.3D) AS s FROM ({PER_SHOP}) WHERE total > 1", "hangs on the order of its rows"),
    "the first of groups": (f"SELECT first(total) AS f FROM ({PER_SHOP})", "order of a group's rows"),
    "groups that are numbered": (f"SELECT total, monotonically_increasing_id() AS n FROM ({PER_SHOP})", "hangs on the order of its rows"),
    "a rounded sum": (f"SELECT d.name, avg(s.num / 7.3D) AS mean {FROM} GROUP BY d.name", "round by it"),
    "a list": (f"SELECT d.name, sort_array(collect_list(s.num)) AS nums {FROM} GROUP BY d.name", "order of a group's rows"),
    "a window over groups": (f"SELECT name, total, rank() OVER (ORDER BY total) AS place FROM ({PER_SHOP})", "by way of segment"),
    "partners that are groups": (
        f"SELECT name FROM shop WHERE shop IN (SELECT shop FROM ({PER_SHOP}) WHERE total > 60)", "by way of segment"
    ),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("captured_with_run")
    tables = {
        "shop": spark.range(1, 7).selectExpr(
            "id AS shop", "concat('shop ', id % 3) AS name", "if(id = 5, NULL, concat('city ', id % 2)) AS city"
        ),
        "article": spark.range(1, 9).selectExpr("id AS article", "concat('kind ', id % 3) AS kind"),
        "sale": spark.range(40).selectExpr(
            "1 + id % 5 AS shop", "1 + id % 7 AS article", "CAST(id AS int) AS num", "CAST(id % 4 AS int) AS day",
            "if(id % 6 = 0, NULL, id % 2) AS code",
        ),
    }  # fmt: skip
    with views(spark, made, {name: frame.repartition(2) for name, frame in tables.items()}):
        yield made


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store) -> Lineage:
    return Lineage(spark, store=store)


def written(run: Run, store: Store) -> dict[tuple[Any, ...], Any]:
    """The indexes, as they are written, by what they lead from and to."""
    index = store.run(run.id).captured
    assert index is not None
    assert index.problem == ""
    with store._engine.begin() as connection:
        rows = connection.execute(captured_parts.select().where(captured_parts.c.run_id == run.id)).all()
    parts = {(row.map, row.part): row.content for row in rows}
    maps = {
        (one.segment, one.side, one.input, one.direction): (one.encoding, one.edges, [parts[one.number, at] for at in range(one.parts)])
        for one in index.maps
    }
    return maps | {("met",): dict(index.met), ("pruned",): dict(index.pruned)}


def modes(run: Run) -> dict[int, str]:
    assert run.index is not None
    return {one.segment: one.mode for one in run.index.ways}


def rows(run: Run) -> list[str]:
    return sorted(map(str, run.result_table().to_pylist()))


def check(run: Run, store: Store, sql: str, spark: SparkSession) -> None:
    """The result is Spark's; the index that was made with the run is the one that is made after it."""
    assert rows(run) == sorted(str(row.asDict()) for row in spark.sql(sql).collect())
    made = written(run, store)
    run.capture()
    assert set(modes(run).values()) <= {"stored", "defer"}
    assert made == written(run, store)


@pytest.mark.parametrize("name", sampled(COLLECTED, 8))
def test_what_is_collected_is_what_is_found_later(name: str, lineage: Lineage, store: Store, spark: SparkSession) -> None:
    run = lineage.run(COLLECTED[name], name=f"collected: {name}", capture=Capture(mode="inject"))
    assert "inject" in modes(run).values(), run.index
    check(run, store, COLLECTED[name], spark)
    run.close()


@pytest.mark.parametrize("name", sampled(DEFERRED, 2))
def test_what_cannot_be_collected_is_found_later_and_says_why(name: str, lineage: Lineage, store: Store, spark: SparkSession) -> None:
    sql, why = DEFERRED[name]
    run = lineage.run(sql, name=f"deferred: {name}", capture=Capture(mode="inject"))
    assert run.index is not None
    assert any(why in one.because for one in run.index.ways if one.mode == "defer"), run.index.ways
    assert "inject" not in modes(run).values()
    check(run, store, sql, spark)
    run.close()


@pytest.mark.parametrize(("adaptive", "strategy"), in_turn([True, False], ["function_materialization", "full_materialization"]))
def test_however_spark_runs_it(adaptive: bool, strategy: Strategy, lineage: Lineage, store: Store, spark: SparkSession) -> None:
    settings = {
        "spark.sql.adaptive.enabled": str(adaptive).lower(), "spark.sql.shuffle.partitions": "7" if adaptive else "1",
        "spark.sql.autoBroadcastJoinThreshold": "10MB" if adaptive else "-1",
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "2",
    }  # fmt: skip
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        for one in ("HAVING", "groups of groups", "count(DISTINCT …)"):
            run = lineage.run(COLLECTED[one], name=f"however: {one}", capture=Capture(mode="inject"), strategy=strategy)
            assert "inject" in modes(run).values()
            check(run, store, COLLECTED[one], spark)
            run.close()
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def test_functions_are_called_as_often(lineage: Lineage, store: Store, spark: SparkSession) -> None:
    calls = spark.sparkContext.accumulator(0)

    @reasoned_udf("string")
    def judged_sale(num: int) -> str:
        calls.add(1)
        return "large" if num > 20 else "small"

    judged_sale.register(spark)
    sql = f"SELECT d.name, judged_sale(s.num) AS size, count(*) AS n {FROM} GROUP BY d.name, judged_sale(s.num)"
    counts = {}
    for mode in (None, "defer", "inject", "auto"):
        before = calls.value
        run = lineage.run(sql, name="called as often", capture="lazy" if mode is None else Capture(mode=mode))
        counts[mode] = calls.value - before
        if mode == "inject":
            assert "inject" in modes(run).values()
            check(run, store, sql, spark)
        run.close()
    assert counts[None] > 0
    assert len(set(counts.values())) == 1, counts


OF_SOME: list[Any] = [
    ["sale"],
    {"sale": CaptureTable(where="num > 12", partition_by=["day"], cube=[Cube(by=["day"])]), "shop": CaptureTable(granularity=["city"])},
]


@pytest.mark.parametrize("tables", OF_SOME)
def test_it_is_of_some_tables_and_one_direction(tables: Any, lineage: Lineage, store: Store) -> None:
    wanted = Capture(mode="inject", direction="backward", tables=tables)
    run = lineage.run(COLLECTED["HAVING"], name="collected of some", capture=wanted)
    assert "inject" in modes(run).values()
    made, told = written(run, store), run.index
    run.capture("backward", tables=tables)
    assert made == written(run, store)
    assert told is not None
    assert run.index is not None
    assert (told.not_captured, told.tables, told.values) == (run.index.not_captured, run.index.tables, run.index.values)
    run.close()


def test_witnesses_are_found_afterwards_beside_it(lineage: Lineage, store: Store) -> None:
    run = lineage.run(COLLECTED["a join"], name="collected, with witnesses", capture=Capture(mode="inject", witnesses=True))
    assert run.index is not None
    assert run.index.witnesses is not None
    assert "inject" in modes(run).values()
    before = run.witnesses("true").to_arrow().to_pylist()
    run.capture(witnesses=True)
    assert run.witnesses("true").to_arrow().to_pylist() == before
    run.close()


def test_many_rows_are_not_collected(lineage: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_INJECT_LIMIT", "10")
    run = lineage.run(COLLECTED["a join"], name="collected too many", capture=Capture(mode="inject"))
    assert run.index is not None
    assert any("about 40 rows would be collected" in one.because for one in run.index.ways)
    assert "inject" not in modes(run).values()
    run.close()


def test_auto_learns_what_it_costs(lineage: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    def decided(mode: CaptureMode = "auto", sql: str = COLLECTED["a join"]) -> tuple[str, str]:
        run = lineage.run(sql, name="auto", capture=Capture(mode=mode))
        assert run.index is not None
        (way,) = (one for one in run.index.ways if one.mode != "stored")
        run.close()
        return way.mode, way.because

    mode, why = decided()
    assert mode == "defer"
    assert why == "what finding its rows takes was not measured yet"
    # All that it finds are 40 rows; what finding them took decides.
    monkeypatch.setattr("airflow_lineage_provider.capture.modes.COLLECTING", 0.0)
    mode, why = decided()
    assert (mode, why.split(", about, and finding them took")[0]) == ("inject", "collecting 40 rows takes 0.00 s")
    monkeypatch.setattr("airflow_lineage_provider.capture.modes.COLLECTING_A_ROW", 3600.0)
    assert decided()[0] == "defer"
    # Of groups that are dropped the rows that would be collected are known when they were.
    monkeypatch.setattr("airflow_lineage_provider.capture.modes.COLLECTING_A_ROW", 1e-6)
    assert "was not measured yet" in decided(sql=COLLECTED["HAVING"])[1]
    assert "nobody knows how many" in decided(sql=COLLECTED["HAVING"])[1]
    decided("inject", COLLECTED["HAVING"])
    mode, why = decided(sql=COLLECTED["HAVING"])
    assert (mode, "collecting 40 rows takes 0.00 s" in why) == ("inject", True)


def test_what_was_collected_and_is_lost_is_found_anew(
    lineage: Lineage, store: Store, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from airflow_lineage_provider.spark.executing import collected

    monkeypatch.setattr(collected, "lost_executors", lambda spark: frozenset({"7"}))
    run = lineage.run(COLLECTED["a join"], name="collected and lost", capture=Capture(mode="inject"))
    assert run.index is not None
    assert [one.because for one in run.index.ways if one.mode == "defer"] == ["an executor was lost, and with it what it had collected"]
    assert "is found anew: an executor was lost" in caplog.text
    check(run, store, COLLECTED["a join"], spark)
    run.close()


def test_a_pipeline_of_frames(lineage: Lineage, store: Store, spark: SparkSession) -> None:
    def pipeline(spark: SparkSession) -> DataFrame:
        return spark.table("sale").join(spark.table("shop"), "shop").groupBy("name").agg({"num": "max"})

    run = lineage.run(pipeline, name="collected of frames", capture=Capture(mode="inject"), keys={"shop": ["shop"]})
    assert "inject" in modes(run).values()
    found = {name: one.links.num_rows for name, one in run.backward("true").items()}
    run.forget_captured()
    assert found == {name: one.links.num_rows for name, one in run.backward("true").items()}
    run.close()
