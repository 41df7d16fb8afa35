"""Averages of whole numbers in Parquet files: where the files tell that no order of rows changes them, nothing is stored for them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store

pytestmark = pytest.mark.spark

PIPELINE = "SELECT a, count(*) AS shops FROM (SELECT shop, avg(n) AS a FROM exact_sales GROUP BY shop) GROUP BY a"
LARGE = 2**52 + 1


def sales(folder: Path, numbers: list[int | None]) -> None:
    folder.mkdir(exist_ok=True)
    shops = [at % 3 for at in range(len(numbers))]
    for part in range(2):
        pq.write_table(
            pa.table({"shop": pa.array(shops[part::2], pa.int32()), "n": pa.array(numbers[part::2], pa.int64())}),
            folder / f"{part}.parquet",
        )


@pytest.mark.parametrize(
    ("numbers", "stored"),
    [
        ([10, 10, 7, 20, 20, 8, None, None, None], set()),
        ([LARGE, LARGE, 7, LARGE, LARGE, 8, None, None, None], {"segment_1"}),
    ],
)
def test_by_what_the_footers_tell(spark: SparkSession, store: Store, tmp_path: Path, numbers: list[int | None], stored: set[str]) -> None:
    sales(tmp_path / "sales", numbers)
    spark.read.parquet(str(tmp_path / "sales")).createOrReplaceTempView("exact_sales")
    try:
        run = Lineage(spark, store=store).run(PIPELINE, name="exact_averages", strategy="rerun")
        assert set(store.materializations(run.id)) == stored
        a = (numbers[0] + numbers[3]) / 2  # type: ignore[operator]
        found = run.explain(f"a = {a!r}D").sources["exact_sales"]
        rows = sorted((row["shop"], row["n"]) for row in found.select(["shop", "n"]).to_pylist() if row["n"] is not None)
        assert rows == sorted((at % 3, n) for at, n in enumerate(numbers) if n is not None and at % 3 < 2)
    finally:
        spark.catalog.dropTempView("exact_sales")
