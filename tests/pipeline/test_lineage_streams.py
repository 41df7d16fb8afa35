"""Source rows as a stream of Arrow batches: the same rows as `Run.backward` has at once, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.deriving import lineage_stream, part_sizes
from airflow_lineage_provider.errors import AnswerTooLarge, EmptyTarget, InvalidOption, InvalidTarget, SourceUnavailable
from airflow_lineage_provider.store import Store
from tests.pipeline.small_files import view

pytestmark = pytest.mark.spark

ROWS = [(number, number % 5, f"text {number}") for number in range(40)]


@pytest.fixture
def sold(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    view(spark, tmp_path, "sold", ROWS, "id int, shop int, asked string")
    yield tmp_path / "sold"
    spark.catalog.dropTempView("sold")


@pytest.fixture
def run(spark: SparkSession, store: Store, sold: Path) -> Run:
    made = Lineage(spark, store=store).run("SELECT shop, count(*) AS n FROM sold GROUP BY shop", name="streamed")
    made.close()
    # As months later, without Spark.
    return Lineage(store=store).get_run(made.id)


def test_all_at_once_and_part_by_part(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run.backward("n > 0", "sold")
    ids = found.rows.column("id").to_pylist()
    whole = sorted((link["asked"], ids[link["row"]]) for link in found.links.to_pylist())
    assert len(whole) == 40
    for first_part, links, size in ((64, 1_000_000, 2**20), (1, 8, 2**20), (3, 1, 2**20), (4, 100, 40), (2, 100, 1)):
        monkeypatch.setattr(part_sizes, "FIRST", first_part)
        monkeypatch.setattr(part_sizes, "LINKS", links)
        monkeypatch.setattr(part_sizes, "BYTES", size)
        monkeypatch.setattr(lineage_stream, "BYTES", size)
        stream = run.backward_batches("n > 0", table="SOLD", batch_rows=3)
        assert (stream.table, stream.schema.names) == ("sold", ["asked_2", "id", "shop", "asked"])
        read = stream.reader().read_all()
        assert max(len(batch) for batch in read.to_batches()) == (3 if size > 40 else 2 if size == 40 else 1)
        assert read.column("asked_2").to_pylist() == sorted(read.column("asked_2").to_pylist())
        assert sorted(zip(read.column("asked_2").to_pylist(), read.column("id").to_pylist(), strict=True)) == whole
        assert all(row["asked"] == f"text {row['id']}" for row in read.to_pylist())
        assert stream.guarantee.level == "exact"
    assert pa.table(run.backward_batches(at=[1], table="sold")).num_rows == 8


def test_a_part_that_is_too_large_is_divided(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_SOURCE_LIMIT", "9")
    with pytest.raises(AnswerTooLarge):
        run.backward("true", "sold").to_arrow()
    assert pa.table(run.backward_batches("true", table="sold")).num_rows == 40
    monkeypatch.setenv("AIRFLOW_LINEAGE_SOURCE_LIMIT", "7")
    with pytest.raises(AnswerTooLarge, match="8 source rows stand behind the target"):
        next(iter(run.backward_batches("true", table="sold")))


def test_rows_that_are_gone_end_the_stream(run: Run, sold: Path, spark: SparkSession, store: Store) -> None:
    stream = Lineage(spark, store=store).get_run(run.id).backward_batches("true", table="sold", batch_rows=5)
    spark.createDataFrame(ROWS[:3], "id int, shop int, asked string").coalesce(1).write.mode("overwrite").parquet(str(sold))
    with pytest.raises(SourceUnavailable, match="sold"):
        list(stream)


def test_what_is_refused(run: Run) -> None:
    with pytest.raises(InvalidTarget, match="no source table 'loans'"):
        run.backward_batches("true", table="loans")
    with pytest.raises(InvalidOption, match="batch_rows=0"):
        run.backward_batches("true", table="sold", batch_rows=0)
    with pytest.raises(EmptyTarget):
        list(run.backward_batches("n > 100", table="sold"))
    left = run.backward_batches("true", table="sold", batch_rows=1)
    assert len(next(iter(left))) == 1
    left.close()
    assert list(left) == []
