"""Values, types and names that are awkward, from the source to the explanation."""

from __future__ import annotations

import datetime
import decimal
import math
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import EmptyTarget

pytestmark = pytest.mark.spark


class TestValues:
    def test_every_type_as_a_source_column(self, lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
        rows = [
            (
                1,
                decimal.Decimal("12345678901234567890.123456789"),
                datetime.datetime(2024, 3, 31, 1, 30, 0, 123456, tzinfo=datetime.UTC),
                datetime.datetime(2024, 3, 31, 2, 30),
                datetime.date(1, 1, 1),
                b"\x00\xff",
                [1, None],
                {"k": "v"},
                (1, "x"),
                math.nan,
                float("inf"),
                True,
                "a\\b'c\"d\n\u0000é😀",
            ),
            (2, *[None] * 12),
        ]
        schema = (
            "id int, d decimal(38,9), t timestamp, tn timestamp_ntz, dt date, b binary, a array<int>, m map<string,string>, "
            "s struct<x: int, y: string>, f double, g float, o boolean, w string"
        )
        path = str(tmp_path / "types")
        spark.createDataFrame(rows, schema).write.parquet(path)
        run = lineage.run(lambda session: session.read.parquet(path))
        for number in (1, 2):
            found = run.explain(f"id = {number}")
            plain = spark.read.parquet(path).where(f"id = {number}").toArrow()
            assert repr(found.sources["types"].to_pylist()) == repr(plain.to_pylist())
            assert repr(found.target.to_pylist()) == repr(plain.to_pylist())

    def test_a_nan_is_found(self, lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
        path = str(tmp_path / "nan")
        spark.createDataFrame([(1, math.nan), (2, math.nan), (3, 1.0)], "id int, x double").write.parquet(path)
        spark.read.parquet(path).createOrReplaceTempView("nan")
        found = lineage.run("SELECT x, count(*) AS c FROM nan GROUP BY x").explain("x = double('NaN')")
        assert sorted(found.sources["nan"].column("id").to_pylist()) == [1, 2]

    def test_odd_names(self, lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
        odd = ['a"b', "c'd", "e f", "g.h", "select", "größe", "MixedCase", "semi;colon", "x" * 80, "back`tick"]
        path = str(tmp_path / "odd")
        spark.createDataFrame([tuple(range(len(odd)))], ", ".join(f"`{name.replace('`', '``')}` int" for name in odd)).write.parquet(path)
        run = lineage.run(lambda session: session.read.parquet(path))
        assert run.result.columns == odd
        found = run.explain("`größe` = 5 AND `g.h` = 3 AND `select` = 4")
        assert found.sources["odd"].column_names == odd
        assert found.target.column_names == odd

    def test_hundreds_of_columns(self, lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
        path = str(tmp_path / "wide")
        spark.range(3).select("id", *(F.concat(F.lit(f"{n}-"), "id").alias(f"c{n}") for n in range(399))).write.parquet(path)
        found = lineage.run(lambda session: session.read.parquet(path)).explain("c398 = '398-2'")
        assert found.sources["wide"].num_columns == 400
        assert found.sources["wide"].column("id").to_pylist() == [2]

    def test_empty_tables_and_all_null_columns(self, lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
        path = str(tmp_path / "empty")
        spark.createDataFrame([], "id int, x string").write.parquet(path)
        empty = lineage.run(lambda session: session.read.parquet(path))
        with pytest.raises(EmptyTarget, match="0 rows"):
            empty.explain("id = 1")
        nulls = str(tmp_path / "nulls")
        spark.createDataFrame([(None, None), (None, None)], "id int, x string").write.parquet(nulls)
        found = lineage.run(lambda session: session.read.parquet(nulls)).explain("x IS NULL")
        assert found.sources["nulls"].num_rows == 2
