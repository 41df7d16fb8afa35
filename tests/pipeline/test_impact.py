"""What a revision of source rows does to a result, against the pipeline over the revised table."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from airflow_lineage_provider import Lineage, Run, reasoned_udf
from airflow_lineage_provider.answers.impact import Impact
from airflow_lineage_provider.errors import AnswerTooLarge, InvalidTarget, SparkRequired, TracingError, UdfUnavailable
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.in_turn import STRATEGIES, in_turn, sampled

pytestmark = pytest.mark.spark

SALES = [(1, "a", 1, 10), (2, "a", 2, 20), (3, "b", 1, 7), (4, "b", 3, 1), (5, "c", 2, 5), (5, "c", 2, 5)]
SHOPS = [("a", "N"), ("b", "S"), ("d", "N")]
CALLS: list[int] = []


@reasoned_udf("string", name="impact_exam")
def impact_exam(n: int) -> str:
    return "many" if n > 9 else "few"


PIPELINES = {
    "rows": "SELECT id, shop, n * 2 AS twice FROM sales WHERE n > 4",
    "a model": "SELECT id, impact_exam(n) AS judge FROM sales",
    "groups": "SELECT shop, sum(n) AS total, count(*) AS c FROM sales GROUP BY shop",
    "having": "SELECT shop, sum(n) AS total FROM sales GROUP BY shop HAVING sum(n) > 9",
    "groups of decisions": "SELECT shop, impact_exam(n) AS judge, count(*) AS c FROM sales GROUP BY 1, 2",
    "a join": "SELECT region, sum(n) AS total FROM sales JOIN shops USING (shop) GROUP BY region",
    "an outer join": "SELECT shops.shop, sales.id FROM shops LEFT JOIN sales ON shops.shop = sales.shop",
    "a difference": "SELECT shop FROM shops WHERE shop NOT IN (SELECT shop FROM sales)",
    "with itself": "SELECT a.id, b.id AS other FROM sales a JOIN sales b ON a.shop = b.shop AND a.id < b.id",
    "a subquery": "SELECT id FROM sales WHERE n > (SELECT avg(n) FROM sales)",
    "frames": "SELECT id, sum(n) OVER (PARTITION BY shop ORDER BY id) AS so_far FROM sales WHERE id < 5",
    "a union": "SELECT shop FROM sales UNION SELECT shop FROM shops",
}
REVISIONS: dict[str, tuple[str, Any, Callable[[tuple[Any, ...]], list[tuple[Any, ...]]]]] = {
    "another value": ("id = 1", {"n": 30}, lambda row: [(*row[:3], 30)]),
    "another group": ("shop = 'b' AND n = 7", {"shop": "c"}, lambda row: [(row[0], "c", *row[2:])]),
    "removed": ("id = 4", [], lambda row: []),
    "a duplicate": ("id = 5", {"n": 50}, lambda row: [(*row[:3], 50)]),
    "as it is": ("id = 2", {"n": 20}, lambda row: [row]),
}
MEANT: dict[str, Callable[[tuple[Any, ...]], bool]] = {
    "another value": lambda row: row[0] == 1, "another group": lambda row: row[1] == "b" and row[3] == 7,
    "removed": lambda row: row[0] == 4, "a duplicate": lambda row: row[0] == 5, "as it is": lambda row: row[0] == 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def places(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("impact")
    spark.createDataFrame(SALES, "id int, shop string, day int, n int").repartition(2).write.parquet(str(folder / "sales"))
    spark.createDataFrame(SHOPS, "shop string, region string").coalesce(1).write.parquet(str(folder / "shops"))
    impact_exam.register(spark)
    views(spark, folder)
    yield folder
    for name in ("sales", "shops"):
        spark.catalog.dropTempView(name)


def views(spark: SparkSession, folder: Path) -> None:
    for name in ("sales", "shops"):
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store) -> Iterator[Lineage]:
    with Lineage(spark, store=store) as lineage:
        yield lineage


def bag(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values() if isinstance(row, dict) else row) for row in rows)


def over(spark: SparkSession, sql: str, rows: list[tuple[Any, ...]], folder: Path) -> Counter[tuple[Any, ...]]:
    spark.createDataFrame(rows, "id int, shop string, day int, n int").createOrReplaceTempView("sales")
    try:
        return bag(spark.sql(sql).collect())
    finally:
        views(spark, folder)


@pytest.mark.parametrize(("name", "strategy"), in_turn(sampled(PIPELINES), STRATEGIES))
def test_the_result_less_what_is_gone_and_with_what_appears_is_that_of_the_revised_table(
    spark: SparkSession, lineage: Lineage, places: Path, name: str, strategy: Strategy
) -> None:
    sql = PIPELINES[name]
    run = lineage.run(sql, name=name, strategy=strategy, progress=False)
    before = bag(spark.sql(sql).collect())
    taken = sampled(PIPELINES)
    for what in REVISIONS if os.environ.get("PAIRS") == "all" else list(REVISIONS)[taken.index(name) % len(REVISIONS) :: len(taken)]:
        predicate, revised, of_row = REVISIONS[what]
        found = run.impact(predicate, "sales", revised=revised, progress=False)
        after = [new for row in SALES for new in (of_row(row) if MEANT[what](row) else [row])]
        expected = over(spark, sql, after, places)
        gone, appears = (bag(one.rows.to_pylist()) for one in (found.gone, found.may_appear))
        assert not gone & appears, what
        assert gone == before - expected, what
        assert appears == expected - before, what
        assert bag(found.touched.rows.to_pylist()) == bag(run.forward(predicate, "sales", progress=False).rows.to_pylist())
        assert bag(found.unchanged.rows.to_pylist()) == bag(found.touched.rows.to_pylist()) - gone
        assert found.guarantee.level == "exact"
    run.close()


def having(lineage: Lineage) -> Run:
    return lineage.run(PIPELINES["having"], name="having", progress=False)


def test_whole_rows_stand_in_their_place(lineage: Lineage, places: Path) -> None:
    run = having(lineage)
    new = [{"id": 9, "shop": "d", "day": 1, "n": 40}, {"id": 10, "shop": "a", "day": 1, "n": 1}]
    found = run.impact("id = 3", "sales", revised=new, progress=False)
    assert bag(found.gone.rows.to_pylist()) == bag([("a", 30)])
    assert bag(found.may_appear.rows.to_pylist()) == bag([("d", 40), ("a", 31)])
    assert (len(found.touched), repr(found)) == (0, "<0 rows touched, 1 gone, 2 may appear where id = 3 is 2 other rows: exact>")


def test_what_is_compared_what_stays_and_what_cannot_be_called(spark: SparkSession, lineage: Lineage, places: Path) -> None:
    """Milliseconds since 1970 as doubles: what no sum has rounded is compared to the last bit, and floating-point sums are not."""
    ms = "n + 1700000000000D"
    sql = f"SELECT id, {ms} AS ms, array({ms}) AS list, sum(n / 7D) OVER (PARTITION BY shop) AS so FROM sales WHERE id = 2"
    found = lineage.run(sql, name="milliseconds", progress=False).impact("id = 2", "sales", revised={"n": 21}, progress=False)
    assert [row["ms"] for row in found.gone.rows.to_pylist()] == [1700000000020.0]
    assert [row["ms"] for row in found.may_appear.rows.to_pylist()] == [1700000000021.0]
    assert len(found.unchanged) == 0

    # Another table over the same files stays as it is.
    spark.read.schema("id int, n int").parquet(str(places / "sales")).createOrReplaceTempView("sales_again")
    run = lineage.run("SELECT sales.id, a.n FROM sales JOIN sales_again a ON a.id = sales.id + 1", name="two schemas", progress=False)
    found = run.impact("id = 2", "sales", revised={"n": 21}, progress=False)
    assert (len(found.gone), found.guarantee.level) == (0, "exact")
    assert "sales_again reads files of sales, too" in found.guarantee.cause
    assert found.guarantee.cause in str(found.to_dict())

    # A plain UDF is refused by what it is.
    spark.udf.register("impact_plain", lambda n: n + 1, "int")
    run = lineage.run("SELECT id, impact_plain(n) AS n FROM sales", name="plain", progress=False)
    with pytest.raises(UdfUnavailable, match=r"'impact_plain' is no reasoned one: .* Declare it with reasoned_udf"):
        run.impact("id = 2", "sales", revised={"n": 21}, progress=False)


def test_it_is_shown_and_told_as_json(lineage: Lineage, places: Path) -> None:
    found = having(lineage).impact("id = 3", "sales", revised={"n": 70}, progress=False)
    out = io.StringIO()
    found.show(Console(file=out, width=100))
    text = out.getvalue()
    assert "1 row asked about: id = 3; as if revised: {'n': 70}" in text
    assert "0 rows of the result touched" in text
    assert "1 row would be there instead, or besides" in text
    told = found.to_dict()
    assert (told["document"], told["revised"], told["may_appear"]["rows"]) == ("airflow_lineage.impact", "{'n': 70}", [["b", 71]])
    hidden = found.to_dict(mask=["total"])
    assert hidden["may_appear"]["rows"] != told["may_appear"]["rows"]
    assert "70" not in str(hidden["revised"])


BAD: dict[str, tuple[Any, str]] = {
    "no such column": ({"m": 1}, "what the rows would be: .*m"),
    "another type": ({"n": "many"}, "'many' .* is no value of column 'n', which is int"),
    "too large": ({"n": 2**40}, "1099511627776 .* is no value of column 'n'"),
    "a row that is not whole": ([{"n": 1}], "a row has no id; give each row whole"),
    "nothing": ({}, "what the rows would be"),
    "no rows": (7, "what the rows would be"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_rows_cannot_be(lineage: Lineage, places: Path, name: str) -> None:
    revised, message = BAD[name]
    with pytest.raises(InvalidTarget, match=message):
        having(lineage).impact("id = 3", "sales", revised=revised, progress=False)


def test_what_cannot_be_told(spark: SparkSession, lineage: Lineage, places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited = lineage.run("SELECT id FROM sales ORDER BY n LIMIT 2", name="limited", progress=False)
    with pytest.raises(TracingError, match="forward\\(\\) has the rows"):
        limited.impact("id = 3", "sales", revised=[], progress=False)
    run = having(lineage)
    with pytest.raises(SparkRequired, match="what a revision does"):
        Lineage(store=lineage.store).get_run(run.id).impact("id = 3", "sales", revised=[], progress=False)
    with pytest.raises(InvalidTarget, match="no source table 'sale'"):  # found out before Spark is asked for
        Lineage(store=lineage.store).get_run(run.id).impact("id = 3", "sale", revised=[], progress=False)
    monkeypatch.setenv("AIRFLOW_LINEAGE_SOURCE_LIMIT", "1")
    rows = lineage.run(PIPELINES["rows"], name="rows", progress=False)
    with pytest.raises(AnswerTooLarge, match="AIRFLOW_LINEAGE_SOURCE_LIMIT"):
        rows.impact("n > 4", "sales", revised={"n": 6}, progress=False)


def test_a_source_that_changed_since_makes_it_unavailable(spark: SparkSession, lineage: Lineage, tmp_path: Path) -> None:
    at = str(tmp_path / "changing")
    spark.createDataFrame(SALES, "id int, shop string, day int, n int").write.parquet(at)

    def pipeline(spark: SparkSession) -> DataFrame:
        return spark.read.parquet(at).groupBy("shop").sum("n")

    run = lineage.run(pipeline, progress=False)
    spark.createDataFrame(SALES[:2], "id int, shop string, day int, n int").write.mode("append").parquet(at)
    found: Impact = run.impact("id = 3", "changing", revised=[], progress=False)
    assert found.gone.guarantee.level == "unavailable"
    assert "changed after the run" in found.gone.guarantee.cause
