"""Rows of lineage by their numbers, which no row is read for: `LineageRows.rids`, `count`, `per_target`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.deriving.sources import SourceReader
from airflow_lineage_provider.errors import AnswerTooLarge, NotCaptured, ResultNotStored, SourceUnavailable
from airflow_lineage_provider.store import Store

pytestmark = pytest.mark.spark

TOTALS = "SELECT country, count(*) AS n FROM rid_orders WHERE amount > 10 GROUP BY country"
PAIRS = "SELECT a.id AS one, b.id AS other FROM rid_orders a JOIN rid_orders b ON a.country = b.country AND a.id < b.id"
FILES = 3


@pytest.fixture(scope="module")
def orders(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Sixty rows in three files, of which one has none that pass."""
    folder = tmp_path_factory.mktemp("rids") / "orders"
    countries = "element_at(array('NL', 'DE', 'FR', NULL), CAST(id % 4 + 1 AS int)) AS country"
    spark.range(0, 60, numPartitions=FILES).selectExpr("id", countries, "id AS amount").write.parquet(str(folder))
    spark.read.parquet(str(folder)).createOrReplaceTempView("rid_orders")
    yield folder
    spark.catalog.dropTempView("rid_orders")


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No source row may be read."""
    with monkeypatch.context() as patch:
        patch.setattr(SourceReader, "read", lambda *_: pytest.fail("rows are read"))
        yield


def recorded(spark: SparkSession, store: Store, text: str, **options: Any) -> Run:
    made = Lineage(spark, store=store).run(text, name="rids", **options)
    made.close()
    return made


def numbers_by_hand(folder: Path, condition: str) -> dict[int, int]:
    """The number of each row that meets a condition, by its id: the rows of files before its own, in the order of paths, and its place."""
    files, found, first = sorted(folder.glob("*.parquet")), dict[int, int](), 0
    for file in files:
        read = f"read_parquet('{file}', file_row_number = true)"
        rows = duckdb.execute(f"SELECT id, file_row_number FROM {read} WHERE {condition}").fetchall()
        found |= {one: first + place for one, place in rows}
        first += pq.ParquetFile(file).metadata.num_rows
    return found


def test_numbers_of_source_rows_are_where_they_stand(spark: SparkSession, store: Store, orders: Path, unread: None) -> None:
    run = recorded(spark, store, TOTALS)
    traced = run.backward("country = 'DE'", "rid_orders")
    wanted = numbers_by_hand(orders, "country = 'DE' AND amount > 10")
    assert traced.rids.tolist() == sorted(wanted.values())
    assert (traced.count, traced.asked_rows, traced.engine.split(":")[0]) == (len(wanted), 1, "lazy")
    run.capture()
    captured = Lineage(store=store).get_run(run.id).backward("country = 'DE'", "rid_orders", lazy=False)
    assert captured.rids.tolist() == traced.rids.tolist()
    assert (captured.count, captured.engine.split(":")[0]) == (traced.count, "index")


def test_each_row_that_was_asked_about_has_its_own(spark: SparkSession, store: Store, orders: Path, unread: None) -> None:
    run = recorded(spark, store, TOTALS)
    found = run.backward("true", "rid_orders")
    countries = run.result_table().column("country").to_pylist()
    by_hand = [
        sorted(numbers_by_hand(orders, f"country IS NOT DISTINCT FROM {'NULL' if one is None else repr(one)} AND amount > 10").values())
        for one in countries
    ]
    assert found.per_target.to_pylist() == by_hand
    assert sorted(chain.from_iterable(by_hand)) == found.rids.tolist()


def test_runs_that_read_the_same_files_number_their_rows_alike(spark: SparkSession, store: Store, orders: Path, unread: None) -> None:
    groups, pairs = recorded(spark, store, TOTALS), recorded(spark, store, PAIRS)
    behind_a_pair = pairs.backward("one = 13", "rid_orders")
    ids = numbers_by_hand(orders, "id = 13 OR (id > 13 AND id % 4 = 1)")
    assert behind_a_pair.rids.tolist() == sorted(ids.values())
    pairs.capture()
    assert pairs.backward("one = 13", "rid_orders", lazy=False).rids.tolist() == behind_a_pair.rids.tolist()
    shared = {*groups.backward("country = 'DE'", "rid_orders").rids.tolist()}
    assert {*behind_a_pair.rids.tolist()} <= shared


def test_rows_are_read_when_they_are_needed(spark: SparkSession, store: Store, orders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, read = recorded(spark, store, TOTALS), list[int]()
    reads = SourceReader.read

    def counted(self: SourceReader, source: Any, keys: Any, columns: Any = None) -> Any:
        read.append(keys.num_rows)
        return reads(self, source, keys, columns)

    monkeypatch.setattr(SourceReader, "read", counted)
    found = run.backward("country = 'NL'", "rid_orders")
    assert "not read yet" in repr(found)
    few = found.to_arrow(limit=3)
    assert (few.num_rows, read) == (3, [3])
    assert found.rows.slice(0, 3).equals(few)
    assert found.rows.num_rows == len(found) == found.count == read[1]
    assert found.to_arrow(limit=2).num_rows == found.where("id < 30").to_arrow(2).num_rows == 2
    assert len(read) == 2


def test_what_was_asked_on_has_numbers_too(spark: SparkSession, store: Store, orders: Path) -> None:
    found = recorded(spark, store, TOTALS).backward("true", "rid_orders").where("id BETWEEN 20 AND 24 AND country IS NOT NULL")
    assert found.rids.tolist() == sorted(numbers_by_hand(orders, "id BETWEEN 20 AND 24 AND country IS NOT NULL").values())
    assert sorted(chain.from_iterable(found.per_target.to_pylist())) == found.rids.tolist()


def test_more_rows_than_may_be_read_are_counted(spark: SparkSession, store: Store, orders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_SOURCE_LIMIT", "5")
    found = recorded(spark, store, TOTALS).backward("true", "rid_orders")
    assert found.count == len(found.rids) == 49
    assert found.to_arrow(limit=5).num_rows == 5
    with pytest.raises(AnswerTooLarge, match="49 of rid_orders"):
        found.to_arrow()


def test_numbers_of_rows_of_the_result_are_their_positions(spark: SparkSession, store: Store, orders: Path) -> None:
    run = recorded(spark, store, TOTALS)
    found = run.forward("id IN (21, 22, 25, 3)", "rid_orders")
    assert run.result_table().take(found.rids).equals(found.rows)
    asked = [set(one) for one in found.per_target.to_pylist()]
    assert sorted(map(len, asked)) == [0, 1, 1, 1]
    assert set.union(*asked) == {*found.rids.tolist()}
    assert {*run.backward(at=found.rids.tolist(), table="rid_orders").where("id = 22").rids.tolist()} == {
        *numbers_by_hand(orders, "id = 22").values()
    }


def test_what_has_no_numbers(spark: SparkSession, store: Store, orders: Path, tmp_path: Path) -> None:
    rerun = recorded(spark, store, TOTALS, strategy="rerun")
    assert rerun.backward("country = 'DE'", "rid_orders").count == 12
    descending = rerun.forward("id = 21", "rid_orders")
    with pytest.raises(ResultNotStored):
        _ = descending.rids
    spark.read.parquet(str(orders)).write.json(str(tmp_path / "json"))
    spark.read.json(str(tmp_path / "json")).createOrReplaceTempView("rid_json")
    by_value = recorded(spark, store, "SELECT country, count(*) AS n FROM rid_json GROUP BY country")
    found = by_value.backward("country = 'DE'", "rid_json")
    with pytest.raises(NotCaptured, match=r"rows of rid_json are known by row digest, .* Run.capture\(\)"):
        _ = found.rids
    assert found.count == len(found) == 15
    by_value.capture()
    numbered = Lineage(spark, store=store).get_run(by_value.id).backward("country = 'DE'", "rid_json")
    assert len(numbered.rids) == 15


def test_rows_of_another_version_have_no_numbers(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "changing"
    spark.range(0, 10, numPartitions=1).write.parquet(str(folder))
    spark.read.parquet(str(folder)).createOrReplaceTempView("rid_changing")
    traced, captured = (recorded(spark, store, "SELECT id % 2 AS odd, count(*) AS n FROM rid_changing GROUP BY 1") for _ in range(2))
    captured.capture()
    before = captured.backward("odd = 1", "rid_changing").rids.tolist()
    spark.range(0, 4, numPartitions=1).write.mode("overwrite").parquet(str(folder))
    found = Lineage(store=store).get_run(captured.id).backward("odd = 1", "rid_changing")
    assert (found.rids.tolist(), found.count) == (before, 5)
    assert found.guarantee.level == "unavailable"
    asked = traced.backward("odd = 1", "rid_changing")
    with pytest.raises(SourceUnavailable):
        _ = asked.rids
